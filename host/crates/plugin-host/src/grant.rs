//! What a plugin may import: the capabilities that the host knows, what a manifest asks for, what the operator grants, and what comes
//! of both (plugin-hooks 9). A manifest only asks; nothing is granted that the operator did not write down. Nothing here links
//! anything.

use std::collections::BTreeSet;

/// Key-value storage of one plugin, if the operator names no size, in bytes.
pub const DEFAULT_KV_BYTES: u64 = 16 << 20;

/// Largest key-value storage of one plugin, in bytes: a database of that size still copies and compacts in seconds.
pub const MAX_KV_BYTES: u64 = 1 << 30;

/// One session-extension value, if the operator names no size, in bytes.
pub const DEFAULT_SESSION_EXTENSION_BYTES: u64 = 64 << 10;

/// Largest session-extension value, in bytes: it is loaded together with the session's row.
pub const MAX_SESSION_EXTENSION_BYTES: u64 = 1 << 20;

/// Something that a guest may import only if the operator granted it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Capability {
    /// A key-value store of the plugin's own.
    Kv,
    /// Small values in the session that a call belongs to.
    SessionExtension,
    /// Secrets by name.
    Secrets,
    /// Calls of other tools.
    ToolsInvoke,
    /// Outgoing messages.
    MessagesSend,
    /// Transcripts of sessions.
    SessionsRead,
    /// Text for the next turn of a session.
    NextTurn,
    /// The list of scheduled jobs.
    CronRead,
    /// Outgoing HTTP requests.
    Http,
}

/// One row per capability: itself, its configuration key, its interface in `creel:plugin` (or its standard package), and whether this
/// version of the host offers it.
const CAPABILITIES: &[(Capability, &str, &str, bool)] = &[
    (Capability::Kv, "kv", "kv", true),
    (Capability::SessionExtension, "sessionExtension", "session-extension", true),
    (Capability::Secrets, "secrets", "secrets", false),
    (Capability::ToolsInvoke, "toolsInvoke", "tools-invoke", false),
    (Capability::MessagesSend, "messagesSend", "messages-send", false),
    (Capability::SessionsRead, "sessionsRead", "sessions-read", false),
    (Capability::NextTurn, "nextTurn", "next-turn", false),
    (Capability::CronRead, "cronRead", "cron-read", false),
    (Capability::Http, "http", "wasi:http", false),
];

impl Capability {
    fn row(self) -> &'static (Self, &'static str, &'static str, bool) {
        &CAPABILITIES[self as usize]
    }

    /// Its key below `plugins.entries.<id>.capabilities`, and in `capabilities` of a manifest.
    pub fn key(self) -> &'static str {
        self.row().1
    }

    /// Whether this version of the host can grant it at all.
    pub fn offered(self) -> bool {
        self.row().3
    }

    /// The capability with that configuration key.
    pub fn from_key(key: &str) -> Option<Self> {
        CAPABILITIES.iter().find(|row| row.1 == key).map(|row| row.0)
    }

    /// The capability behind an interface of `creel:plugin`, by its bare name, for example `session-extension`; or behind a standard
    /// package, for example `wasi:http`.
    pub fn of_interface(interface: &str) -> Option<Self> {
        CAPABILITIES.iter().find(|row| row.2 == interface).map(|row| row.0)
    }
}

/// An ask or a grant, with the size that it names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Quota {
    /// Bytes. Absent: the host's default.
    pub max_bytes: Option<u64>,
}

/// What a manifest asks for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Asked {
    /// Capabilities.
    pub capabilities: BTreeSet<Capability>,
    /// Size of the key-value storage. Absent: not named.
    pub kv_bytes: Option<u64>,
    /// Size of one session-extension value. Absent: not named.
    pub session_extension_bytes: Option<u64>,
}

/// What the operator grants: `plugins.entries.<id>.capabilities`. Absent: not granted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OperatorGrants {
    /// `kv`.
    pub kv: Option<Quota>,
    /// `sessionExtension`.
    pub session_extension: Option<Quota>,
}

impl OperatorGrants {
    fn covers(&self, capability: Capability) -> bool {
        match capability {
            Capability::Kv => self.kv.is_some(),
            Capability::SessionExtension => self.session_extension.is_some(),
            _ => false,
        }
    }
}

/// A granted key-value store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct KvGrant {
    /// Keys and values together, in bytes.
    pub max_bytes: u64,
}

/// A granted session extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SessionExtensionGrant {
    /// One value, in bytes.
    pub max_bytes: u64,
}

/// What one plugin may import, beyond what needs no grant. Absent: refused. The default grants nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Grants {
    /// Key-value storage.
    pub kv: Option<KvGrant>,
    /// Session extension.
    pub session_extension: Option<SessionExtensionGrant>,
}

impl Grants {
    /// Whether a capability is among them.
    pub fn covers(&self, capability: Capability) -> bool {
        match capability {
            Capability::Kv => self.kv.is_some(),
            Capability::SessionExtension => self.session_extension.is_some(),
            _ => false,
        }
    }
}

/// What comes of asking and granting.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Resolution {
    /// What the plugin gets.
    pub grants: Grants,
    /// Asked for or imported, and not granted. Matters only where the component imports it: such a plugin does not load.
    pub denied: BTreeSet<Capability>,
    /// Granted, and neither asked for nor imported; of no effect.
    pub unused: BTreeSet<Capability>,
}

/// Brings together what the manifest asks for, what the component imports (which asks for it too) and what the operator grants.
///
/// The operator's size wins over the manifest's in both directions, up to the host's maximum; a size that only the manifest names is
/// taken up to the host's default, so that a plugin cannot grant itself more.
pub fn resolve(asked: &Asked, imported: &BTreeSet<Capability>, operator: &OperatorGrants) -> Resolution {
    let wanted: BTreeSet<Capability> = asked.capabilities.union(imported).copied().collect();
    let size = |capability, grant: Option<Quota>, asked: Option<u64>, default: u64, max: u64| {
        let quota = grant.filter(|_| wanted.contains(&capability))?;
        Some(quota.max_bytes.map_or_else(|| asked.unwrap_or(default).min(default), |bytes| bytes.min(max)))
    };
    let kv = size(Capability::Kv, operator.kv, asked.kv_bytes, DEFAULT_KV_BYTES, MAX_KV_BYTES);
    let session_extension = size(
        Capability::SessionExtension,
        operator.session_extension,
        asked.session_extension_bytes,
        DEFAULT_SESSION_EXTENSION_BYTES,
        MAX_SESSION_EXTENSION_BYTES,
    );
    let grants = Grants {
        kv: kv.map(|max_bytes| KvGrant { max_bytes }),
        session_extension: session_extension.map(|max_bytes| SessionExtensionGrant { max_bytes }),
    };
    let granted = |capability: &Capability| operator.covers(*capability);
    let unused = CAPABILITIES.iter().map(|row| row.0).filter(|it| granted(it) && !wanted.contains(it)).collect();
    let denied = wanted.into_iter().filter(|it| !grants.covers(*it)).collect();
    Resolution { grants, denied, unused }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(capabilities: &[Capability], kv_bytes: Option<u64>) -> Asked {
        Asked { capabilities: capabilities.iter().copied().collect(), kv_bytes, session_extension_bytes: None }
    }

    fn kv(max_bytes: Option<u64>) -> OperatorGrants {
        OperatorGrants { kv: Some(Quota { max_bytes }), session_extension: None }
    }

    #[test]
    fn each_row_stands_at_its_capability() {
        for (capability, key, interface, _) in CAPABILITIES {
            assert_eq!(capability.key(), *key);
            assert_eq!(Capability::from_key(key), Some(*capability));
            assert_eq!(Capability::of_interface(interface), Some(*capability));
        }
        assert_eq!(Capability::from_key("root"), None);
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
            assert_eq!(resolution.grants.kv, Some(KvGrant { max_bytes: expected }), "{manifest:?} {operator:?}");
            assert!(resolution.denied.is_empty());
        }
    }

    #[test]
    fn asking_grants_nothing() {
        let everything = asked(&[Capability::Kv, Capability::SessionExtension, Capability::Secrets], Some(1));
        let resolution = resolve(&everything, &BTreeSet::new(), &OperatorGrants::default());
        assert_eq!(resolution.grants, Grants::default());
        assert_eq!(resolution.denied, everything.capabilities);
    }

    #[test]
    fn an_import_asks_too_and_a_grant_that_nobody_wants_is_unused() {
        let imported = BTreeSet::from([Capability::Kv]);
        let operator = OperatorGrants { kv: Some(Quota::default()), session_extension: Some(Quota::default()) };
        let resolution = resolve(&Asked::default(), &imported, &operator);
        assert!(resolution.grants.kv.is_some());
        assert_eq!(resolution.grants.session_extension, None);
        assert_eq!(resolution.unused, BTreeSet::from([Capability::SessionExtension]));
    }
}
