//! What a plugin was granted, in words. Of a secret its name and where it may go, of a variable its name: never what they hold.

use hooks::fault::one_line as clean;
use plugin_host::grant::{Capability, Clocks, FsMode, Grants, Names, Randomness};

use super::describe::MAX_WORDS;
use crate::terminal::bytes;

/// Kind and what is said of it, for everything that was granted.
pub(super) fn lines(grants: &Grants) -> Vec<(&'static str, String)> {
    let mut lines = Vec::new();
    let mut say = |kind: &'static str, what: String| lines.push((kind, clean(&what, MAX_WORDS)));
    if let Some(kv) = grants.kv {
        say("kv", format!("at most {} in {} keys", bytes(kv.max_bytes), kv.max_keys));
    }
    if let Some(extension) = grants.session_extension {
        say("sessionExtension", format!("at most {} a value", bytes(extension.max_bytes)));
    }
    if let Some(fs) = grants.fs {
        let mode = match fs.mode {
            FsMode::Read => "read only",
            FsMode::ReadWrite => "read and write",
        };
        say("fs", format!("{mode}, at most {} in {} files", bytes(fs.max_bytes), fs.max_files));
    }
    if let Some(http) = &grants.http {
        let private = match http.networks.len() {
            0 => String::new(),
            more => format!(", and {more} private networks"),
        };
        say("http", format!("{}{private}", list(http.rules.iter().map(rule))));
    }
    for secret in grants.secrets.iter().flat_map(|secrets| secrets.iter()) {
        say("secrets", format!("{}, for {}", secret.name, list(secret.rules.iter().map(rule))));
    }
    let by_name = [
        (Capability::ToolsInvoke, &grants.tools_invoke),
        (Capability::MessagesSend, &grants.messages_send),
        (Capability::SessionsRead, &grants.sessions_read),
    ];
    for (capability, names) in by_name {
        match names {
            None => {}
            Some(Names::All) => say(capability.key(), "all".to_owned()),
            Some(Names::Only(names)) => say(capability.key(), list(names.iter().cloned())),
        }
    }
    if let Some(variables) = &grants.env {
        say("env", list(variables.iter().map(|(name, _)| name.clone())));
    }
    if grants.clocks == Clocks::Frozen {
        say("clock", "frozen".to_owned());
    }
    if let Randomness::Seeded(seed) = grants.randomness {
        say("random", format!("the same numbers each time, from seed {seed}"));
    }
    lines
}

fn list(names: impl Iterator<Item = String>) -> String {
    let names: Vec<String> = names.collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

fn rule(rule: &egress::Rule) -> String {
    rule.to_string()
}
