//! What a person at the command line asks of the store: which agents there are, which session is meant, how it ended. Only reads.

use domain::session::{SessionEntry, StoreError, TranscriptRow};
use domain::{AgentId, SessionId, SessionKey};
use rusqlite::{OptionalExtension, Transaction};

use crate::entry;
use crate::failure::{Failure, PortError};
use crate::store::SqliteSessions;
use crate::time::from_column;
use crate::transcript;

/// A transcript that was named by its id or by the key of its conversation.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundSession {
    /// The conversation.
    pub key: SessionKey,
    /// The transcript.
    pub session_id: SessionId,
    /// The transcript that this one follows.
    pub parent_session_id: Option<SessionId>,
    /// When it began, milliseconds since 1970-01-01 UTC.
    pub created_at: u64,
    /// When the conversation moved on to another transcript, milliseconds; none for the current one.
    pub closed_at: Option<u64>,
    /// The entry of the conversation, which may point at a later transcript.
    pub entry: SessionEntry,
}

/// The end of a transcript.
#[derive(Debug, Clone, PartialEq)]
pub struct TranscriptTail {
    /// Rows of the active path, oldest first.
    pub rows: Vec<TranscriptRow>,
    /// Whether the path has rows before these.
    pub has_earlier: bool,
}

impl SqliteSessions {
    /// Agents that have sessions, in order of their ids.
    ///
    /// # Errors
    /// [`StoreError::Database`] when the state directory cannot be read.
    pub async fn agent_ids(&self) -> Result<Vec<AgentId>, StoreError> {
        let dir = self.dir().clone();
        let listed = tokio::task::spawn_blocking(move || dir.agents()).await.unwrap_or_else(|error| Err(error.into()));
        listed.map_err(|error| StoreError::database(&self.dir().agents_dir(), error.to_string()))
    }

    /// The transcript that `name` means: the current one of a session key (a key without its agent counts as one of this agent), or
    /// any one by its id. Names are compared exactly.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] when the agent has neither; [`StoreError::Database`] when the database fails.
    pub async fn find(&self, agent: &AgentId, name: &str) -> Result<FoundSession, StoreError> {
        let database = self.database(agent)?;
        let Some(database) = database.existing().await? else { return Err(StoreError::NotFound(name.to_owned())) };
        let (agent, name) = (agent.clone(), name.to_owned());
        database.read(move |tx| find(tx, &agent, &name)).await
    }

    /// The last `limit` rows of a transcript's active path. Reads no more than it needs (sessions 4.6).
    ///
    /// # Errors
    /// [`StoreError::NotFound`] when the agent has no such transcript; [`StoreError::Damaged`] when one of the rows cannot be read.
    pub async fn tail(&self, agent: &AgentId, session_id: &SessionId, limit: usize) -> Result<TranscriptTail, StoreError> {
        let database = self.database(agent)?;
        let Some(database) = database.existing().await? else { return Err(StoreError::NotFound(session_id.to_string())) };
        let session_id = session_id.clone();
        let rows = database.read(move |tx| transcript::path(tx, session_id.as_str(), limit)).await?;
        let has_earlier = rows.first().is_none_or(|first| first.parent_id.is_some());
        Ok(TranscriptTail { rows, has_earlier })
    }
}

fn find(tx: &Transaction<'_>, agent: &AgentId, name: &str) -> Result<FoundSession, Failure<StoreError>> {
    // Some keys are complete without their agent, so the name as it stands comes first.
    let mut stored = entry::find(tx, name)?;
    if let (None, Ok(key)) = (&stored, SessionKey::parse(name, Some(agent), agent)) {
        stored = entry::find(tx, key.as_str())?;
    }
    let current = stored.map(|stored| stored.entry.session_id);
    let id = current.as_deref().unwrap_or(name);
    find_id(tx, agent, id)?.ok_or_else(|| StoreError::NotFound(name.to_owned()).into())
}

fn find_id(tx: &Transaction<'_>, agent: &AgentId, id: &str) -> Result<Option<FoundSession>, Failure<StoreError>> {
    let mut statement =
        tx.prepare_cached("SELECT session_key, parent_session_id, created_at, closed_at FROM sessions WHERE session_id = ?1")?;
    let found: Option<(String, Option<String>, i64, Option<i64>)> =
        statement.query_row([id], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))).optional()?;
    let Some((key, parent, created_at, closed_at)) = found else { return Ok(None) };
    let Some(stored) = entry::find(tx, &key)? else { return Ok(None) };
    Ok(Some(FoundSession {
        key: SessionKey::from_stored(&key, agent.clone()),
        session_id: SessionId::new(id),
        parent_session_id: parent.map(SessionId::new),
        created_at: from_column(created_at),
        closed_at: closed_at.map(from_column),
        entry: stored.entry,
    }))
}
