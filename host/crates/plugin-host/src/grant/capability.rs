//! The capabilities that the host knows. Each is a row of one table; nothing else lists them.

/// Something that a guest gets only if the operator granted it.
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
    /// Files in a directory of the plugin's own.
    Fs,
    /// Variables of the host's environment, by name.
    Env,
}

/// Where a capability shows in a component.
enum Shown {
    /// As an import of this interface of `creel:plugin`, without which it cannot be linked.
    Interface(&'static str),
    /// As an import of this standard package. It is linked for language runtimes in any case, and refuses.
    Package(&'static str),
    /// Not at all: every language runtime imports what it uses.
    Nowhere,
}

struct Row {
    capability: Capability,
    key: &'static str,
    shown: Shown,
    offered: bool,
}

const fn row(capability: Capability, key: &'static str, shown: Shown, offered: bool) -> Row {
    Row { capability, key, shown, offered }
}

const CAPABILITIES: &[Row] = &[
    row(Capability::Kv, "kv", Shown::Interface("kv"), true),
    row(Capability::SessionExtension, "sessionExtension", Shown::Interface("session-extension"), true),
    row(Capability::Secrets, "secrets", Shown::Interface("secrets"), true),
    row(Capability::ToolsInvoke, "toolsInvoke", Shown::Interface("tools-invoke"), true),
    row(Capability::MessagesSend, "messagesSend", Shown::Interface("messages-send"), true),
    row(Capability::SessionsRead, "sessionsRead", Shown::Interface("sessions-read"), true),
    row(Capability::NextTurn, "nextTurn", Shown::Interface("next-turn"), false),
    row(Capability::CronRead, "cronRead", Shown::Interface("cron-read"), false),
    row(Capability::Http, "http", Shown::Package("wasi:http"), true),
    row(Capability::Fs, "fs", Shown::Nowhere, true),
    row(Capability::Env, "env", Shown::Nowhere, true),
];

impl Capability {
    fn row(self) -> &'static Row {
        &CAPABILITIES[self as usize]
    }

    /// All of them.
    pub fn all() -> impl Iterator<Item = Self> {
        CAPABILITIES.iter().map(|row| row.capability)
    }

    /// Its key below `plugins.entries.<id>.capabilities`, and in `capabilities` of a manifest.
    pub fn key(self) -> &'static str {
        self.row().key
    }

    /// Whether this version of the host can grant it at all.
    pub fn offered(self) -> bool {
        self.row().offered
    }

    /// Whether a component that imports it links without the grant. Its use is refused then.
    pub fn links_ungranted(self) -> bool {
        !matches!(self.row().shown, Shown::Interface(_))
    }

    /// The capability with that configuration key.
    pub fn from_key(key: &str) -> Option<Self> {
        CAPABILITIES.iter().find(|row| row.key == key).map(|row| row.capability)
    }

    /// The capability behind an interface of `creel:plugin`, by its bare name, for example `session-extension`; or behind a standard
    /// package, for example `wasi:http`.
    pub fn of_interface(interface: &str) -> Option<Self> {
        let is_it = |row: &&Row| matches!(row.shown, Shown::Interface(name) | Shown::Package(name) if name == interface);
        CAPABILITIES.iter().find(is_it).map(|row| row.capability)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_stands_at_its_capability() {
        for row in CAPABILITIES {
            assert_eq!(row.capability.key(), row.key);
            assert_eq!(Capability::from_key(row.key), Some(row.capability));
            if let Shown::Interface(name) | Shown::Package(name) = row.shown {
                assert_eq!(Capability::of_interface(name), Some(row.capability));
            }
        }
        assert_eq!(Capability::from_key("root"), None);
    }

    #[test]
    fn only_what_language_runtimes_import_by_themselves_links_ungranted() {
        let linked: Vec<_> = Capability::all().filter(|capability| capability.links_ungranted()).collect();
        assert_eq!(linked, [Capability::Http, Capability::Fs, Capability::Env]);
    }
}
