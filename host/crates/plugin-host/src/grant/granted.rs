//! What one plugin may use. The default grants nothing.

use std::sync::Arc;

use egress::{PrivateNetwork, Rule, SecretText};

use super::Capability;

/// Things by their names.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Names {
    /// All of them.
    All,
    /// These.
    Only(Arc<[String]>),
}

impl Names {
    /// Whether a name is among them.
    pub fn covers(&self, name: &str) -> bool {
        match self {
            Self::All => true,
            Self::Only(names) => names.iter().any(|granted| granted == name),
        }
    }
}

/// A granted key-value store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct KvGrant {
    /// Keys and values together, in bytes.
    pub max_bytes: u64,
    /// Keys.
    pub max_keys: u64,
}

/// A granted session extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SessionExtensionGrant {
    /// One value, in bytes.
    pub max_bytes: u64,
}

/// What may be done with files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum FsMode {
    /// They are read.
    Read,
    /// They are read and changed.
    #[default]
    ReadWrite,
}

/// Granted files, in a directory of the plugin's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FsGrant {
    /// What may be done with them.
    pub mode: FsMode,
    /// All files together, in bytes.
    pub max_bytes: u64,
    /// Files, directories and links.
    pub max_files: u64,
}

/// Granted HTTP requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpGrant {
    /// What may be called.
    pub rules: Vec<Rule>,
    /// Addresses that would be refused otherwise.
    pub networks: Vec<PrivateNetwork>,
    /// Sizes, counts and times.
    pub limits: egress::Limits,
}

/// A granted secret: its text goes into requests at the host's edge; the guest holds a placeholder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretGrant {
    /// Its name.
    pub name: String,
    /// Its text. Absent: the operator set no value.
    pub text: Option<SecretText>,
    /// Requests that it may go into.
    pub rules: Vec<Rule>,
}

/// Which clocks a plugin sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Clocks {
    /// Those of this machine.
    #[default]
    Real,
    /// Clocks that stand at zero. Timers still run, so that a guest can wait.
    Frozen,
}

/// Which random numbers a plugin sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Randomness {
    /// Those of this machine.
    #[default]
    Real,
    /// The same ones in each instance.
    Seeded(u64),
}

/// What one plugin may use, beyond what needs no grant. Absent: refused. The default grants nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Grants {
    /// Key-value storage.
    pub kv: Option<KvGrant>,
    /// Session extension.
    pub session_extension: Option<SessionExtensionGrant>,
    /// Files.
    pub fs: Option<FsGrant>,
    /// HTTP requests.
    pub http: Option<Arc<HttpGrant>>,
    /// Secrets.
    pub secrets: Option<Arc<[SecretGrant]>>,
    /// Tools that it may call.
    pub tools_invoke: Option<Names>,
    /// Channels on which it may send messages.
    pub messages_send: Option<Names>,
    /// Agents whose sessions it may read.
    pub sessions_read: Option<Names>,
    /// Variables of the environment with their values.
    pub env: Option<Arc<[(String, String)]>>,
    /// Clocks.
    pub clocks: Clocks,
    /// Random numbers.
    pub randomness: Randomness,
}

impl Grants {
    /// Whether a capability is among them.
    pub fn covers(&self, capability: Capability) -> bool {
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
