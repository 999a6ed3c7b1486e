//! Where the databases lie below the state directory (sessions 1.3). The file names are this host's own, so that it never opens the
//! database of another program that uses the same layout. Creates nothing.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use domain::AgentId;

/// File name of an agent's database.
const AGENT_DATABASE: &str = "creel-agent.sqlite";
/// File name of the shared database.
const STATE_DATABASE: &str = "creel.sqlite";

/// The state directory:
///
/// ```text
/// agents/<agentId>/agent/creel-agent.sqlite   session entries, transcripts and session extensions of one agent
/// state/creel.sqlite                          shared: key-value state and circuits of plugins
/// ```
///
/// SQLite keeps a `-wal` and a `-shm` file beside each database while it is open, and after a crash; they belong to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateDir {
    root: PathBuf,
}

impl StateDir {
    /// The state directory at `root`. It need not exist yet.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The directory itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The database of an agent; none if the id does not have the form of one. The id becomes a part of a path, so it is checked here
    /// again, wherever it came from.
    pub fn agent_database(&self, agent: &AgentId) -> Option<PathBuf> {
        let canonical = AgentId::parse(agent.as_str()).ok()?;
        (canonical == *agent).then(|| self.agents_dir().join(canonical.as_str()).join("agent").join(AGENT_DATABASE))
    }

    /// The database that all agents share.
    pub fn state_database(&self) -> PathBuf {
        self.root.join("state").join(STATE_DATABASE)
    }

    /// Agents that have a database, in order of their ids.
    pub(crate) fn agents(&self) -> io::Result<Vec<AgentId>> {
        let entries = match self.agents_dir().read_dir() {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let mut agents = Vec::new();
        for entry in entries {
            let name = entry?.file_name();
            let Some(agent) = name.to_str().map(AgentId::new) else { continue };
            // Whatever lies there: what is no database is refused when it is opened, and not passed over.
            match self.agent_database(&agent).map(|path| path.symlink_metadata()) {
                Some(Ok(_)) => agents.push(agent),
                Some(Err(error)) if !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Err(error),
                _ => {}
            }
        }
        agents.sort();
        Ok(agents)
    }

    pub(crate) fn agents_dir(&self) -> PathBuf {
        self.root.join("agents")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_id_never_leads_out_of_the_state_directory() {
        let dir = StateDir::new("/s");
        assert_eq!(dir.agent_database(&AgentId::main()), Some("/s/agents/main/agent/creel-agent.sqlite".into()));
        for bad in ["", ".", "..", "../x", "a/b", "/etc", "Main", "a\0b", " main"] {
            assert_eq!(dir.agent_database(&AgentId::new(bad)), None, "{bad:?}");
        }
    }
}
