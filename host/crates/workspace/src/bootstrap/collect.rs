//! Which bootstrap files a run gets, and reading them. A file that cannot be used is in the list with the reason; nothing here fails.

use crate::bootstrap::names;
use crate::directory::Workspace;
use crate::read::{Found, read_text};

/// For whom the list is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Audience {
    /// An ordinary run.
    #[default]
    Main,
    /// A sub-agent: how to work, and what is special about the tools (8.3.6).
    SubAgent,
    /// A heartbeat run with `heartbeat.lightContext` (8.3.7).
    LightHeartbeat,
}

/// What a run gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Selection {
    /// For whom.
    pub audience: Audience,
    /// Whether `HEARTBEAT.md` belongs to it: there are heartbeats, and they have their part in the prompt (8.3.7).
    pub heartbeat: bool,
    /// Whether `MEMORY.md` belongs to it: not in conversations of groups (8.3.11).
    pub memory: bool,
}

impl Default for Selection {
    fn default() -> Self {
        Self { audience: Audience::Main, heartbeat: true, memory: true }
    }
}

impl Selection {
    fn takes(self, name: &str) -> bool {
        match self.audience {
            Audience::SubAgent => [names::AGENTS, names::TOOLS].contains(&name),
            Audience::LightHeartbeat => name == names::HEARTBEAT,
            Audience::Main => match name {
                names::HEARTBEAT => self.heartbeat,
                names::MEMORY => self.memory,
                _ => true,
            },
        }
    }
}

/// One entry of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BootstrapFile {
    /// Name to show.
    pub name: String,
    /// What is there.
    pub content: BootstrapContent,
}

/// What is there under the name of a bootstrap file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BootstrapContent {
    /// Text.
    Text {
        /// The text, or as much of it as was read.
        text: String,
        /// Whether bytes that are not UTF-8 were replaced.
        lossy: bool,
        /// Bytes that were not read, because the file is far larger than any limit.
        unread_bytes: u64,
    },
    /// Nothing.
    Missing,
    /// Something that cannot be used; the reason.
    Unusable(String),
}

impl BootstrapFile {
    /// An entry of a given text.
    pub fn text(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self { name: name.into(), content: BootstrapContent::Text { text: text.into(), lossy: false, unread_bytes: 0 } }
    }
}

/// Reads the files of a run, in their order. The list may be changed before it is rendered (8.3.2).
pub fn collect(workspace: &Workspace, selection: Selection) -> Vec<BootstrapFile> {
    names::ALL.into_iter().filter(|name| selection.takes(name)).filter_map(|name| file(workspace, name)).collect()
}

fn file(workspace: &Workspace, name: &str) -> Option<BootstrapFile> {
    let content = match read_text(workspace.dir(), name) {
        // Nobody misses these: the one is made when there is something to remember, the other deleted when it has served.
        Found::Nothing if [names::BOOTSTRAP, names::MEMORY].contains(&name) => return None,
        Found::Nothing => BootstrapContent::Missing,
        Found::Text(found) => BootstrapContent::Text { text: found.text, lossy: found.lossy, unread_bytes: found.unread_bytes },
        Found::Unusable(reason) => {
            tracing::warn!(file = name, workspace = %workspace.path().display(), %reason, "a bootstrap file cannot be used");
            BootstrapContent::Unusable(reason)
        }
    };
    Some(BootstrapFile { name: name.to_owned(), content })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::Home;

    fn listed(home: &Home, selection: Selection) -> String {
        let files = collect(&home.workspace, selection);
        files.iter().map(|file| file.name.trim_end_matches(".md")).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn files_come_in_their_order_and_two_only_when_present() {
        let home = Home::new();
        assert_eq!(listed(&home, Selection::default()), "AGENTS SOUL TOOLS IDENTITY USER HEARTBEAT");
        assert!(collect(&home.workspace, Selection::default()).iter().all(|file| file.content == BootstrapContent::Missing));
        for name in names::ALL {
            home.write(name, "x");
        }
        assert_eq!(listed(&home, Selection::default()), "AGENTS SOUL TOOLS IDENTITY USER HEARTBEAT BOOTSTRAP MEMORY");
    }

    #[test]
    fn each_audience_gets_its_files() {
        let home = Home::new();
        for name in names::ALL {
            home.write(name, "x");
        }
        let main = Selection::default();
        let rows = [
            (Selection { audience: Audience::SubAgent, ..main }, "AGENTS TOOLS"),
            (Selection { audience: Audience::LightHeartbeat, ..main }, "HEARTBEAT"),
            (Selection { heartbeat: false, ..main }, "AGENTS SOUL TOOLS IDENTITY USER BOOTSTRAP MEMORY"),
            (Selection { memory: false, ..main }, "AGENTS SOUL TOOLS IDENTITY USER HEARTBEAT BOOTSTRAP"),
        ];
        for (selection, expected) in rows {
            assert_eq!(listed(&home, selection), expected, "{selection:?}");
        }
    }
}
