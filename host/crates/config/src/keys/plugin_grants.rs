//! `plugins.entries.<id>.capabilities`: what an operator grants to one plugin. Texts that others understand better (addresses, names of
//! tools) are checked by whoever acts on them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::quantity::{Bytes, Milliseconds, Quantity};
use super::secret::SecretInput;

/// `plugins.entries.<id>.capabilities`. Absent: not granted.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Capabilities {
    /// A key-value store of its own that outlives sessions and restarts.
    pub kv: Option<Grant<KvGrant>>,
    /// Small values in the session that a call belongs to.
    pub session_extension: Option<Grant<SessionExtensionGrant>>,
    /// Files in a directory of its own below the state directory, which the plugin sees as `/data`.
    pub fs: Option<Grant<FsGrant>>,
    /// Outgoing HTTP requests, to what is listed.
    pub http: Option<HttpGrant>,
    /// Secrets by name. The plugin gets a placeholder; the host puts the text into requests to the listed addresses.
    pub secrets: Option<BTreeMap<String, SecretGrant>>,
    /// Names of the tools that the plugin may call. Policies, hooks and approvals apply to each call.
    #[schemars(inner(length(min = 1)))]
    pub tools_invoke: Option<Vec<String>>,
    /// Channels on which the plugin may send messages: `true`, or their ids. Hooks apply to each message.
    pub messages_send: Option<NamesGrant>,
    /// Agents whose sessions and transcripts the plugin may read: `true`, or their ids.
    pub sessions_read: Option<NamesGrant>,
    /// Names of environment variables of the host that the plugin sees. One that is not set is not there for the plugin either.
    #[schemars(inner(length(min = 1)))]
    pub env: Option<Vec<String>>,
    /// Which clocks the plugin sees.
    pub clock: ClockGrant,
    /// Which random numbers the plugin sees.
    pub random: RandomGrant,
}

/// `true`, `false`, or an object that grants with limits.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub enum Grant<T> {
    /// Granted with the host's limits, or not granted.
    Switch(bool),
    /// Granted with these limits.
    Limited(T),
}

impl<T: Default + Clone> Grant<T> {
    /// The limits of a capability that is granted. `None`: it is not.
    pub fn granted(grant: Option<&Self>) -> Option<T> {
        match grant {
            None | Some(Self::Switch(false)) => None,
            Some(Self::Switch(true)) => Some(T::default()),
            Some(Self::Limited(limits)) => Some(limits.clone()),
        }
    }
}

/// `true`, `false`, or a list of names.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub enum NamesGrant {
    /// All, or none.
    Switch(bool),
    /// These.
    Only(Vec<String>),
}

/// Limits of the key-value store.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct KvGrant {
    /// Keys and values together, in bytes or as text such as "20mb". Absent: the host's limit.
    #[schemars(extend("default" = 16 << 20))]
    pub max_bytes: Option<Quantity<Bytes, 1, { 1 << 30 }>>,
    /// Keys. Absent: the host's limit.
    #[schemars(range(min = 1, max = 1_000_000), extend("default" = 10_000))]
    pub max_keys: Option<u64>,
}

/// Limits of the session extension.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct SessionExtensionGrant {
    /// One value, in bytes or as text such as "4kb". Absent: the host's limit.
    #[schemars(extend("default" = 64 << 10))]
    pub max_bytes: Option<Quantity<Bytes, 1, { 1 << 20 }>>,
}

/// What may be done with files, and how much.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct FsGrant {
    /// Whether they may be changed.
    pub mode: FsMode,
    /// All files together, in bytes or as text such as "20mb". Absent: the host's limit.
    #[schemars(extend("default" = 64 << 20))]
    pub max_bytes: Option<Quantity<Bytes, 1, { 64 << 30 }>>,
    /// Files, directories and links. Absent: the host's limit.
    #[schemars(range(min = 1, max = 100_000), extend("default" = 1_000))]
    pub max_files: Option<u64>,
}

/// What may be done with files.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum FsMode {
    /// They are read.
    Read,
    /// They are read, made, changed and removed.
    #[default]
    ReadWrite,
}

/// What may be called, and how much.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct HttpGrant {
    /// Addresses: scheme, host, and a port if it is not that of the scheme, for example `https://api.example.com` or
    /// `https://*.example.com:8443`. Nothing else is called.
    pub allow: Vec<HttpRule>,
    /// Hosts, addresses or networks inside your own network that may be called in spite of that, for example "10.1.2.0/24".
    #[schemars(inner(length(min = 1)))]
    pub private_networks: Vec<String>,
    /// Body of one request, in bytes or as text such as "1mb".
    #[schemars(extend("default" = 8 << 20))]
    pub request_body_bytes: Option<Quantity<Bytes, 0, { 1 << 30 }>>,
    /// Body of one response, in bytes or as text such as "1mb".
    #[schemars(extend("default" = 8 << 20))]
    pub response_body_bytes: Option<Quantity<Bytes, 0, { 1 << 30 }>>,
    /// Headers of one request or response, in bytes or as text such as "64kb".
    #[schemars(extend("default" = 64 << 10))]
    pub header_bytes: Option<Quantity<Bytes, 1, { 1 << 20 }>>,
    /// Requests at the same time, of all instances together.
    #[schemars(range(min = 1, max = 1_000), extend("default" = 8))]
    pub concurrent_requests: Option<u32>,
    /// Longest request, in milliseconds or as text such as "30s". It ends with the call that made it in any case.
    #[schemars(extend("default" = 300_000))]
    pub timeout_ms: Option<Quantity<Milliseconds, 1, 3_600_000>>,
}

/// An address, alone or with methods.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub enum HttpRule {
    /// An address, for every method.
    Url(String),
    /// An address for some methods.
    Limited(LimitedRule),
}

/// An address for some methods or ports.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LimitedRule {
    /// The address, for example `https://api.example.com`.
    pub url: String,
    /// Methods, for example "GET". Absent: all.
    pub methods: Option<Vec<String>>,
    /// Ports. Absent: that of the address.
    pub ports: Option<Vec<u16>>,
}

/// A secret and where it may go.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SecretGrant {
    /// Its text, best as `{ env: "NAME" }`.
    pub value: SecretInput,
    /// Addresses whose requests it may go into; the plugin needs `http` for them too.
    pub allow: Vec<HttpRule>,
}

/// `clock`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ClockGrant {
    /// The clocks of this machine.
    #[default]
    Real,
    /// Clocks that stand at zero, so that nothing depends on the time.
    Frozen,
}

/// `random`: `"real"`, or a seed that gives every instance the same numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub enum RandomGrant {
    /// The random numbers of this machine.
    Named(RealRandom),
    /// Numbers that follow from a seed. Not for plugins that make keys.
    Seeded(Seed),
}

impl Default for RandomGrant {
    fn default() -> Self {
        Self::Named(RealRandom::Real)
    }
}

/// The only name of `random`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum RealRandom {
    /// The random numbers of this machine.
    Real,
}

/// A seed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Seed {
    /// Any whole number.
    pub seed: u64,
}
