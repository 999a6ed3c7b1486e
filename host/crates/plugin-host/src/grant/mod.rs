//! What a plugin may import and use: the capabilities that the host knows, what a manifest asks for, what the operator grants, and what
//! comes of both (plugin-hooks 9). A manifest only asks; nothing is granted that the operator did not write down. Nothing here links
//! anything.

mod asked;
mod capability;
mod granted;

use std::collections::BTreeSet;
use std::sync::Arc;

pub use asked::Asked;
pub use capability::Capability;
pub use granted::{Clocks, FsGrant, FsMode, Grants, HttpGrant, KvGrant, Names, Randomness, SecretGrant, SessionExtensionGrant};

/// Key-value storage of one plugin, if the operator names no size, in bytes.
pub const DEFAULT_KV_BYTES: u64 = 16 << 20;

/// Largest key-value storage of one plugin, in bytes: a database of that size still copies and compacts in seconds.
pub const MAX_KV_BYTES: u64 = 1 << 30;

/// Keys of one plugin's storage, if the operator names no number.
pub const DEFAULT_KV_KEYS: u64 = 10_000;

/// Most keys of one plugin's storage.
pub const MAX_KV_KEYS: u64 = 1_000_000;

/// One session-extension value, if the operator names no size, in bytes.
pub const DEFAULT_SESSION_EXTENSION_BYTES: u64 = 64 << 10;

/// Largest session-extension value, in bytes: it is loaded together with the session's row.
pub const MAX_SESSION_EXTENSION_BYTES: u64 = 1 << 20;

/// Files of one plugin, if the operator names no size, in bytes.
pub const DEFAULT_FS_BYTES: u64 = 64 << 20;

/// Most bytes of one plugin's files.
pub const MAX_FS_BYTES: u64 = 64 << 30;

/// Files, directories and links of one plugin, if the operator names no number.
pub const DEFAULT_FS_FILES: u64 = 1_000;

/// Most files, directories and links of one plugin: as many are counted in some tenths of a second.
pub const MAX_FS_FILES: u64 = 100_000;

/// A grant with the size that it names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Quota {
    /// Bytes. Absent: the host's default.
    pub max_bytes: Option<u64>,
}

/// A grant of key-value storage with the sizes that it names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct KvQuota {
    /// Keys and values together, in bytes. Absent: the host's default.
    pub max_bytes: Option<u64>,
    /// Keys. Absent: the host's default.
    pub max_keys: Option<u64>,
}

/// A grant of files with the sizes that it names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FsQuota {
    /// What may be done with them.
    pub mode: FsMode,
    /// All files together, in bytes. Absent: the host's default.
    pub max_bytes: Option<u64>,
    /// Files, directories and links. Absent: the host's default.
    pub max_files: Option<u64>,
}

/// What the operator grants: `plugins.entries.<id>.capabilities`. Absent: not granted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OperatorGrants {
    /// `kv`.
    pub kv: Option<KvQuota>,
    /// `sessionExtension`.
    pub session_extension: Option<Quota>,
    /// `fs`; needs no asking.
    pub fs: Option<FsQuota>,
    /// `http`.
    pub http: Option<Arc<HttpGrant>>,
    /// `secrets`.
    pub secrets: Option<Arc<[SecretGrant]>>,
    /// `toolsInvoke`.
    pub tools_invoke: Option<Names>,
    /// `messagesSend`: channels.
    pub messages_send: Option<Names>,
    /// `sessionsRead`: agents.
    pub sessions_read: Option<Names>,
    /// `env`: variables with their values.
    pub env: Option<Arc<[(String, String)]>>,
    /// `clock`; needs no asking.
    pub clocks: Clocks,
    /// `random`; needs no asking.
    pub randomness: Randomness,
}

impl OperatorGrants {
    fn covers(&self, capability: Capability) -> bool {
        match capability {
            Capability::Kv => self.kv.is_some(),
            Capability::SessionExtension => self.session_extension.is_some(),
            Capability::Fs => self.fs.is_some(),
            Capability::Http => self.http.is_some(),
            Capability::Secrets => self.secrets.is_some(),
            Capability::ToolsInvoke => self.tools_invoke.is_some(),
            Capability::MessagesSend => self.messages_send.is_some(),
            Capability::SessionsRead => self.sessions_read.is_some(),
            Capability::Env => self.env.is_some(),
            _ => false,
        }
    }
}

/// What comes of asking and granting.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Resolution {
    /// What the plugin gets.
    pub grants: Grants,
    /// Asked for or imported, and not granted. Matters only where the component imports it and cannot be linked without it: such a
    /// plugin does not load.
    pub denied: BTreeSet<Capability>,
    /// Granted, and neither asked for nor imported; of no effect.
    pub unused: BTreeSet<Capability>,
}

/// Brings together what the manifest asks for, what the component imports (which asks for it too) and what the operator grants.
///
/// The operator's size wins over the manifest's in both directions, up to the host's maximum; a size that only the manifest names is
/// taken up to the host's default, so that a plugin cannot grant itself more. What no import shows (files, variables, clocks) is given as the
/// operator says, asked for or not.
pub fn resolve(asked: &Asked, imported: &BTreeSet<Capability>, operator: &OperatorGrants) -> Resolution {
    let wanted: BTreeSet<Capability> = asked.capabilities.union(imported).copied().collect();
    let is_wanted = |capability| wanted.contains(&capability);
    let size = |granted: Option<u64>, asked: Option<u64>, default: u64, max: u64| {
        granted.map_or_else(|| asked.unwrap_or(default).min(default), |bytes| bytes.min(max))
    };
    let kv = operator.kv.filter(|_| is_wanted(Capability::Kv)).map(|quota| KvGrant {
        max_bytes: size(quota.max_bytes, asked.kv_bytes, DEFAULT_KV_BYTES, MAX_KV_BYTES),
        max_keys: quota.max_keys.unwrap_or(DEFAULT_KV_KEYS).min(MAX_KV_KEYS),
    });
    let session_extension = operator.session_extension.filter(|_| is_wanted(Capability::SessionExtension)).map(|quota| {
        let (default, max) = (DEFAULT_SESSION_EXTENSION_BYTES, MAX_SESSION_EXTENSION_BYTES);
        SessionExtensionGrant { max_bytes: size(quota.max_bytes, asked.session_extension_bytes, default, max) }
    });
    let grants = Grants {
        kv,
        session_extension,
        fs: operator.fs.map(|quota| FsGrant {
            mode: quota.mode,
            max_bytes: quota.max_bytes.unwrap_or(DEFAULT_FS_BYTES).min(MAX_FS_BYTES),
            max_files: quota.max_files.unwrap_or(DEFAULT_FS_FILES).min(MAX_FS_FILES),
        }),
        http: operator.http.clone().filter(|_| is_wanted(Capability::Http)),
        secrets: operator.secrets.clone().filter(|_| is_wanted(Capability::Secrets)),
        tools_invoke: operator.tools_invoke.clone().filter(|_| is_wanted(Capability::ToolsInvoke)),
        messages_send: operator.messages_send.clone().filter(|_| is_wanted(Capability::MessagesSend)),
        sessions_read: operator.sessions_read.clone().filter(|_| is_wanted(Capability::SessionsRead)),
        env: operator.env.clone(),
        clocks: operator.clocks,
        randomness: operator.randomness,
    };
    let is_unused = |it: &Capability| operator.covers(*it) && !is_wanted(*it) && !grants.covers(*it);
    let unused = Capability::all().filter(is_unused).collect();
    let denied = wanted.iter().copied().filter(|it| !grants.covers(*it)).collect();
    Resolution { grants, denied, unused }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(capabilities: &[Capability], kv_bytes: Option<u64>) -> Asked {
        Asked { capabilities: capabilities.iter().copied().collect(), kv_bytes, ..Asked::default() }
    }

    fn kv(max_bytes: Option<u64>) -> OperatorGrants {
        OperatorGrants { kv: Some(KvQuota { max_bytes, max_keys: None }), ..OperatorGrants::default() }
    }

    #[test]
    fn sizes_follow_the_operator_first_and_never_exceed_the_host() {
        let none = BTreeSet::new();
        for (manifest, operator, expected) in [
            (None, None, DEFAULT_KV_BYTES),
            (Some(1000), None, 1000),
            (Some(u64::MAX), None, DEFAULT_KV_BYTES),
            (Some(1000), Some(5000), 5000),
            (Some(5000), Some(1000), 1000),
            (None, Some(u64::MAX), MAX_KV_BYTES),
        ] {
            let resolution = resolve(&asked(&[Capability::Kv], manifest), &none, &kv(operator));
            assert_eq!(
                resolution.grants.kv,
                Some(KvGrant { max_bytes: expected, max_keys: DEFAULT_KV_KEYS }),
                "{manifest:?} {operator:?}"
            );
            assert!(resolution.denied.is_empty());
        }
    }

    #[test]
    fn asking_grants_nothing() {
        let everything = asked(&[Capability::Kv, Capability::SessionExtension, Capability::Secrets, Capability::Http], Some(1));
        let resolution = resolve(&everything, &BTreeSet::new(), &OperatorGrants::default());
        assert_eq!(resolution.grants, Grants::default());
        assert_eq!(resolution.denied, everything.capabilities);
    }

    #[test]
    fn an_import_asks_too_and_a_grant_that_nobody_wants_is_unused() {
        let imported = BTreeSet::from([Capability::Kv]);
        let operator = OperatorGrants { session_extension: Some(Quota::default()), ..kv(None) };
        let resolution = resolve(&Asked::default(), &imported, &operator);
        assert!(resolution.grants.kv.is_some());
        assert_eq!(resolution.grants.session_extension, None);
        assert_eq!(resolution.unused, BTreeSet::from([Capability::SessionExtension]));
    }

    #[test]
    fn files_variables_and_clocks_are_as_the_operator_says_without_asking() {
        let operator = OperatorGrants {
            env: Some([("TZ".to_owned(), "UTC".to_owned())].into()),
            fs: Some(FsQuota { mode: FsMode::Read, max_bytes: Some(u64::MAX), max_files: None }),
            clocks: Clocks::Frozen,
            randomness: Randomness::Seeded(7),
            ..OperatorGrants::default()
        };
        let resolution = resolve(&Asked::default(), &BTreeSet::new(), &operator);
        assert_eq!((resolution.grants.env, resolution.grants.clocks), (operator.env, Clocks::Frozen));
        let files = FsGrant { mode: FsMode::Read, max_bytes: MAX_FS_BYTES, max_files: DEFAULT_FS_FILES };
        assert_eq!(resolution.grants.fs, Some(files));
        assert!(resolution.unused.is_empty());
    }
}
