//! The port `SessionStore` on SQLite. Each method is one transaction in the database of the session's agent. Decides nothing about
//! what a row should hold.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use domain::session::{
    AppendRow, OpenSession, OpenedSession, RunSummary, SessionEntry, SessionStore, SessionSummary, StoreError, TranscriptEvent,
    TranscriptRow,
};
use domain::{AgentId, RunId, SessionId, SessionKey};
use rusqlite::Transaction;

use crate::database::LazyDatabase;
use crate::entry::{self, StoredEntry};
use crate::event::{self, EncodedEvent};
use crate::failure::{Failure, PortError};
use crate::layout::StateDir;
use crate::owner::Owner;
use crate::run::{self, Claim};
use crate::schema;
use crate::time::{column, from_column};
use crate::transcript::{self, NewEvent, NewTranscript};

/// Sessions, transcripts and session extensions of all agents below one state directory. Databases are opened when they are first
/// needed. Runs that were begun here and not ended count as gone when it is dropped.
#[derive(Debug)]
pub struct SqliteSessions {
    dir: StateDir,
    owner: Arc<Owner>,
    agents: Mutex<HashMap<AgentId, Arc<LazyDatabase>>>,
}

impl SqliteSessions {
    /// Sessions below a state directory. Opens nothing yet, so it cannot fail.
    pub fn new(dir: StateDir) -> Self {
        Self { dir, owner: Arc::new(Owner::register()), agents: Mutex::new(HashMap::new()) }
    }

    /// The state directory.
    pub fn dir(&self) -> &StateDir {
        &self.dir
    }

    /// Works off what was asked for before, then closes all databases. Later calls are refused.
    pub async fn close(&self) {
        let open: Vec<_> = self.agents().values().cloned().collect();
        for database in open {
            database.close().await;
        }
    }

    /// The database of an agent, not necessarily open.
    pub(crate) fn database<E: PortError>(&self, agent: &AgentId) -> Result<Arc<LazyDatabase>, E> {
        let Some(path) = self.dir.agent_database(agent) else {
            return Err(E::database(&self.dir.agents_dir(), format!("`{agent}` is not an agent id")));
        };
        let new = || Arc::new(LazyDatabase::new(path, schema::AGENT, Some(agent.clone())));
        Ok(Arc::clone(self.agents().entry(agent.clone()).or_insert_with(new)))
    }

    fn agents(&self) -> std::sync::MutexGuard<'_, HashMap<AgentId, Arc<LazyDatabase>>> {
        // The map holds no invariant that a panic could break half way.
        self.agents.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl SessionStore for SqliteSessions {
    async fn open(&self, open: OpenSession) -> Result<OpenedSession, StoreError> {
        let database = self.database(open.key.agent())?;
        database.get().await?.write(move |tx| open_session(tx, &open)).await
    }

    async fn begin_run(&self, key: &SessionKey, session_id: &SessionId, run: &RunId, now: u64) -> Result<(), StoreError> {
        let database = self.database(key.agent())?;
        let (key, session_id, run, owner) = (key.clone(), session_id.clone(), run.clone(), Arc::clone(&self.owner));
        let begin = move |tx: &Transaction<'_>| run::begin(tx, claim(&key, &run, &owner), session_id.as_str(), now);
        database.get().await?.write(begin).await
    }

    async fn end_run(&self, key: &SessionKey, run: &RunId, summary: RunSummary) -> Result<(), StoreError> {
        let database = self.database(key.agent())?;
        let (key, run, owner) = (key.clone(), run.clone(), Arc::clone(&self.owner));
        database.get().await?.write(move |tx| run::finish(tx, claim(&key, &run, &owner), &summary)).await
    }

    async fn append(&self, row: AppendRow) -> Result<TranscriptRow, StoreError> {
        let database = self.database(row.key.agent())?;
        // Before the transaction, which keeps other writers waiting.
        let event = encode(&row)?;
        let owner = Arc::clone(&self.owner);
        database.get().await?.write(move |tx| append_row(tx, &row, event, &owner)).await
    }

    async fn rows(&self, agent: &AgentId, session_id: &SessionId) -> Result<Vec<TranscriptRow>, StoreError> {
        let database = self.database(agent)?;
        let Some(database) = database.existing().await? else { return Err(StoreError::NotFound(session_id.to_string())) };
        let session_id = session_id.clone();
        database.read(move |tx| transcript::path(tx, session_id.as_str(), usize::MAX)).await
    }

    async fn entry(&self, key: &SessionKey) -> Result<Option<SessionEntry>, StoreError> {
        let database = self.database(key.agent())?;
        let Some(database) = database.existing().await? else { return Ok(None) };
        let key = key.clone();
        database.read(move |tx| Ok(entry::find(tx, key.as_str())?.map(|stored| stored.entry))).await
    }

    async fn list(&self, agent: &AgentId) -> Result<Vec<SessionSummary>, StoreError> {
        let database = self.database(agent)?;
        let Some(database) = database.existing().await? else { return Ok(Vec::new()) };
        let agent = agent.clone();
        database.read(move |tx| list_sessions(tx, &agent)).await
    }
}

fn claim<'a>(key: &'a SessionKey, run: &'a RunId, owner: &'a Owner) -> Claim<'a> {
    Claim { key: key.as_str(), run: run.as_str(), owner: owner.token() }
}

fn open_session(tx: &Transaction<'_>, open: &OpenSession) -> Result<OpenedSession, Failure<StoreError>> {
    match entry::find(tx, open.key.as_str())? {
        None => start_session(tx, open, None),
        Some(stored) if open.fresh => {
            // A run never loses its transcript while it works (sessions 2.2.9).
            run::ensure_free(stored.writer.as_ref(), open.key.as_str())?;
            start_session(tx, open, Some(stored.entry))
        }
        Some(stored) => continue_session(tx, open, stored),
    }
}

/// Makes the next transcript of a conversation, its header included, and points the entry at it.
fn start_session(
    tx: &Transaction<'_>,
    open: &OpenSession,
    before: Option<SessionEntry>,
) -> Result<OpenedSession, Failure<StoreError>> {
    let key = open.key.as_str();
    let previous = before.as_ref().map(|entry| SessionId::new(entry.session_id.as_str()));
    let last_interaction_at = match &before {
        Some(entry) if !open.interaction => entry.last_interaction_at,
        _ => open.now,
    };
    let entry = SessionEntry {
        session_id: open.new_id.to_string(),
        session_started_at: open.now,
        last_interaction_at,
        updated_at: open.now.max(before.as_ref().map_or(0, |entry| entry.updated_at)),
        extra: before.map(|entry| entry::carried_over(entry.extra)).unwrap_or_default(),
        ..SessionEntry::default()
    };
    if let Some(previous) = &previous {
        transcript::end(tx, previous.as_str(), open.now)?;
    }
    transcript::create(
        tx,
        &NewTranscript {
            session_id: open.new_id.as_str(),
            key,
            agent: open.key.agent().as_str(),
            parent: previous.as_ref().map(SessionId::as_str),
            cwd: &open.cwd,
            now: open.now,
        },
    )?;
    point_entry_at(tx, key, &entry)?;
    Ok(OpenedSession { session_id: open.new_id.clone(), is_new: true, previous, entry })
}

/// Stores the entry of a transcript that begins now. No run owns it yet, and what plugins kept with the transcript before it ends.
fn point_entry_at(tx: &Transaction<'_>, key: &str, entry: &SessionEntry) -> Result<(), Failure<StoreError>> {
    tx.prepare_cached(
        "INSERT INTO session_entries
            (session_key, session_id, entry_json, session_started_at, last_interaction_at, updated_at, generation)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, 1)
         ON CONFLICT (session_key) DO UPDATE SET
            session_id = excluded.session_id, entry_json = excluded.entry_json, status = NULL,
            session_started_at = excluded.session_started_at, last_interaction_at = excluded.last_interaction_at,
            updated_at = excluded.updated_at, generation = generation + 1,
            writer_run_id = NULL, writer_owner = NULL, writer_since = NULL",
    )?
    .execute((
        key,
        &entry.session_id,
        entry::body_json(entry),
        column(entry.session_started_at),
        column(entry.last_interaction_at),
        column(entry.updated_at),
    ))?;
    tx.prepare_cached("DELETE FROM session_extensions WHERE session_key = ?1")?.execute([key])?;
    Ok(())
}

fn continue_session(
    tx: &Transaction<'_>,
    open: &OpenSession,
    StoredEntry { mut entry, .. }: StoredEntry,
) -> Result<OpenedSession, Failure<StoreError>> {
    entry.updated_at = entry.updated_at.max(open.now);
    if open.interaction {
        entry.last_interaction_at = entry.last_interaction_at.max(open.now);
    }
    tx.prepare_cached("UPDATE session_entries SET updated_at = ?2, last_interaction_at = ?3 WHERE session_key = ?1")?
        .execute((open.key.as_str(), column(entry.updated_at), column(entry.last_interaction_at)))?;
    Ok(OpenedSession { session_id: SessionId::new(entry.session_id.as_str()), is_new: false, previous: None, entry })
}

fn encode(row: &AppendRow) -> Result<EncodedEvent, StoreError> {
    let refuse = |message| StoreError::Invalid { session_id: row.session_id.to_string(), message };
    if matches!(row.event, TranscriptEvent::Session { .. }) {
        return Err(refuse("it has its header already; open a fresh session to begin another transcript".to_owned()));
    }
    event::encode(&row.event).map_err(refuse)
}

fn append_row(
    tx: &Transaction<'_>,
    row: &AppendRow,
    event: EncodedEvent,
    owner: &Owner,
) -> Result<TranscriptRow, Failure<StoreError>> {
    let session_id = row.session_id.as_str();
    run::check_fence(tx, claim(&row.key, &row.run_id, owner), session_id)?;
    let idempotency_key = row.idempotency_key.as_deref();
    if let Some(key) = idempotency_key
        && let Some(existing) = transcript::find_idempotent(tx, session_id, key)?
    {
        return Ok(existing);
    }
    let new = NewEvent { session_id, id: &row.event_id, event, now: row.now, idempotency_key };
    let stored = transcript::append(tx, new)?;
    entry::mark_updated(tx, row.key.as_str(), row.now)?;
    Ok(stored)
}

fn list_sessions(tx: &Transaction<'_>, agent: &AgentId) -> Result<Vec<SessionSummary>, Failure<StoreError>> {
    // `seq` has no gaps, so the largest one counts the rows without reading them.
    let sql = format!(
        "SELECT {}, (SELECT max(seq) + 1 FROM transcript_events t WHERE t.session_id = e.session_id)
         FROM session_entries e ORDER BY updated_at DESC, session_key",
        entry::COLUMNS
    );
    let mut statement = tx.prepare_cached(&sql)?;
    let mut rows = statement.query([])?;
    let mut summaries = Vec::new();
    while let Some(row) = rows.next()? {
        let key = SessionKey::from_stored(row.get_ref(0)?.as_str().map_err(rusqlite::Error::from)?, agent.clone());
        let count = from_column(row.get::<_, Option<i64>>(10)?.unwrap_or_default());
        summaries.push(SessionSummary { key, entry: entry::from_row(row)?.entry, rows: count });
    }
    Ok(summaries)
}
