//! The port [`SessionStore`] in memory, with the rules that the port demands: one writer, a fence against late ones, appends that are
//! idempotent by key. Never forgets and never fails; tests that need a failing store wrap it.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;

use crate::ids::{AgentId, RunId, SessionId};
use crate::session::{
    AppendRow, OpenSession, OpenedSession, RunStatus, RunSummary, SessionEntry, SessionStore, SessionSummary, StoreError,
    TranscriptEvent, TranscriptRow,
};
use crate::session_key::SessionKey;

/// Sessions and transcripts of all agents, as long as it lives.
#[derive(Debug, Default)]
pub struct MemorySessions(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    sessions: BTreeMap<SessionKey, Session>,
    transcripts: BTreeMap<SessionId, Transcript>,
}

#[derive(Debug)]
struct Session {
    entry: SessionEntry,
    writer: Option<RunId>,
}

#[derive(Debug, Default)]
struct Transcript {
    rows: Vec<TranscriptRow>,
    /// Idempotency key and place of the row that was stored with it.
    keys: BTreeMap<String, usize>,
}

impl MemorySessions {
    /// The run that owns a session now.
    pub fn writer(&self, key: &SessionKey) -> Option<RunId> {
        self.state().sessions.get(key).and_then(|session| session.writer.clone())
    }

    /// The current transcript of a session, header included; empty: there is no such session.
    pub fn transcript(&self, key: &SessionKey) -> Vec<TranscriptRow> {
        let state = self.state();
        let Some(session) = state.sessions.get(key) else { return Vec::new() };
        let id = SessionId::new(session.entry.session_id.as_str());
        state.transcripts.get(&id).map(|transcript| transcript.rows.clone()).unwrap_or_default()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn session(&mut self, key: &SessionKey) -> Result<&mut Session, StoreError> {
        self.sessions.get_mut(key).ok_or_else(|| StoreError::NotFound(key.to_string()))
    }

    fn start(&mut self, open: &OpenSession, before: Option<SessionEntry>) -> OpenedSession {
        let previous = before.as_ref().map(|entry| SessionId::new(entry.session_id.as_str()));
        let header = TranscriptEvent::Session {
            cwd: open.cwd.clone(),
            version: 1,
            parent_session: previous.as_ref().map(ToString::to_string),
        };
        let mut transcript = Transcript::default();
        transcript.push(open.new_id.to_string(), open.now, header);
        self.transcripts.insert(open.new_id.clone(), transcript);
        let last_interaction_at = match &before {
            Some(entry) if !open.interaction => entry.last_interaction_at,
            _ => open.now,
        };
        let entry = SessionEntry {
            session_id: open.new_id.to_string(),
            session_started_at: open.now,
            last_interaction_at,
            updated_at: open.now,
            extra: before.map(|entry| entry.extra).unwrap_or_default(),
            ..SessionEntry::default()
        };
        self.sessions.insert(open.key.clone(), Session { entry: entry.clone(), writer: None });
        OpenedSession { session_id: open.new_id.clone(), is_new: true, previous, entry }
    }
}

impl Session {
    /// Refuses while a run works.
    fn ensure_free(&self, key: &SessionKey) -> Result<(), StoreError> {
        match &self.writer {
            Some(holder) => Err(StoreError::Busy { key: key.to_string(), holder: holder.to_string() }),
            None => Ok(()),
        }
    }
}

impl Transcript {
    fn push(&mut self, id: String, created_at: u64, event: TranscriptEvent) -> TranscriptRow {
        let parent_id = self.rows.last().map(|row| row.id.clone());
        let row = TranscriptRow { seq: self.rows.len() as u64, id, parent_id, created_at, event };
        self.rows.push(row.clone());
        row
    }
}

#[async_trait]
impl SessionStore for MemorySessions {
    async fn open(&self, open: OpenSession) -> Result<OpenedSession, StoreError> {
        let mut state = self.state();
        let Some(session) = state.sessions.get_mut(&open.key) else { return Ok(state.start(&open, None)) };
        if open.fresh {
            session.ensure_free(&open.key)?;
            let before = session.entry.clone();
            return Ok(state.start(&open, Some(before)));
        }
        session.entry.updated_at = session.entry.updated_at.max(open.now);
        if open.interaction {
            session.entry.last_interaction_at = session.entry.last_interaction_at.max(open.now);
        }
        let entry = session.entry.clone();
        Ok(OpenedSession { session_id: SessionId::new(entry.session_id.as_str()), is_new: false, previous: None, entry })
    }

    async fn begin_run(&self, key: &SessionKey, session_id: &SessionId, run: &RunId, now: u64) -> Result<(), StoreError> {
        let mut state = self.state();
        let session = state.session(key)?;
        if session.entry.session_id != session_id.as_str() {
            return Err(StoreError::Fenced { key: key.to_string(), run: run.to_string() });
        }
        if session.writer.as_ref() != Some(run) {
            session.ensure_free(key)?;
        }
        session.writer = Some(run.clone());
        session.entry.status = Some(RunStatus::Running);
        session.entry.updated_at = session.entry.updated_at.max(now);
        Ok(())
    }

    async fn end_run(&self, key: &SessionKey, run: &RunId, summary: RunSummary) -> Result<(), StoreError> {
        let mut state = self.state();
        let Some(session) = state.sessions.get_mut(key).filter(|session| session.writer.as_ref() == Some(run)) else {
            return Ok(());
        };
        session.writer = None;
        let entry = &mut session.entry;
        entry.status = Some(summary.status);
        entry.input_tokens += summary.input_tokens;
        entry.output_tokens += summary.output_tokens;
        entry.updated_at = entry.updated_at.max(summary.now);
        for (name, value) in [("modelProvider", summary.provider), ("model", summary.model)] {
            if let Some(value) = value {
                entry.extra.insert(name.to_owned(), value.into());
            }
        }
        Ok(())
    }

    async fn append(&self, row: AppendRow) -> Result<TranscriptRow, StoreError> {
        let mut state = self.state();
        let session = state.session(&row.key)?;
        if session.writer.as_ref() != Some(&row.run_id) || session.entry.session_id != row.session_id.as_str() {
            return Err(StoreError::Fenced { key: row.key.to_string(), run: row.run_id.to_string() });
        }
        session.entry.updated_at = session.entry.updated_at.max(row.now);
        let transcript = state.transcripts.entry(row.session_id.clone()).or_default();
        let refused =
            |message: &str| Err(StoreError::Invalid { session_id: row.session_id.to_string(), message: message.to_owned() });
        if matches!(row.event, TranscriptEvent::Session { .. }) {
            return refused("it has its header already");
        }
        if let Some(place) = row.idempotency_key.as_ref().and_then(|key| transcript.keys.get(key)) {
            return Ok(transcript.rows[*place].clone());
        }
        if transcript.rows.iter().any(|stored| stored.id == row.event_id) {
            return refused("its event id is in use already");
        }
        let stored = transcript.push(row.event_id, row.now, row.event);
        if let Some(key) = row.idempotency_key {
            transcript.keys.insert(key, transcript.rows.len() - 1);
        }
        Ok(stored)
    }

    async fn rows(&self, _agent: &AgentId, session_id: &SessionId) -> Result<Vec<TranscriptRow>, StoreError> {
        let state = self.state();
        let transcript = state.transcripts.get(session_id).ok_or_else(|| StoreError::NotFound(session_id.to_string()))?;
        Ok(transcript.rows.clone())
    }

    async fn entry(&self, key: &SessionKey) -> Result<Option<SessionEntry>, StoreError> {
        Ok(self.state().sessions.get(key).map(|session| session.entry.clone()))
    }

    async fn list(&self, agent: &AgentId) -> Result<Vec<SessionSummary>, StoreError> {
        let state = self.state();
        let of_agent = state.sessions.iter().filter(|(key, _)| key.agent() == agent);
        let mut summaries: Vec<SessionSummary> = of_agent
            .map(|(key, session)| {
                let id = SessionId::new(session.entry.session_id.as_str());
                let rows = state.transcripts.get(&id).map_or(0, |transcript| transcript.rows.len() as u64);
                SessionSummary { key: key.clone(), entry: session.entry.clone(), rows }
            })
            .collect();
        summaries.sort_by_key(|summary| std::cmp::Reverse(summary.entry.updated_at));
        Ok(summaries)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use crate::message::AgentMessage;

    fn key() -> SessionKey {
        SessionKey::main(&AgentId::main())
    }

    fn opening(id: &str, fresh: bool) -> OpenSession {
        OpenSession { key: key(), now: 1, new_id: SessionId::new(id), fresh, interaction: true, cwd: "/w".into() }
    }

    fn row(run: &str, id: &str, idempotency_key: Option<&str>) -> AppendRow {
        AppendRow {
            key: key(),
            session_id: SessionId::new("s1"),
            run_id: RunId::new(run),
            event_id: id.into(),
            event: TranscriptEvent::Message { message: AgentMessage::user("hi", 2) },
            now: 2,
            idempotency_key: idempotency_key.map(str::to_owned),
        }
    }

    fn ended() -> RunSummary {
        let status = RunStatus::Done;
        RunSummary { status, input_tokens: 3, output_tokens: 1, provider: None, model: None, now: 3 }
    }

    #[tokio::test]
    async fn only_the_run_that_owns_the_session_writes() {
        let store = MemorySessions::default();
        store.open(opening("s1", false)).await.unwrap();
        let begin = async |run: &str| store.begin_run(&key(), &SessionId::new("s1"), &RunId::new(run), 1).await;
        assert!(matches!(store.append(row("r1", "e1", None)).await, Err(StoreError::Fenced { .. })));
        begin("r1").await.unwrap();
        begin("r1").await.unwrap();
        assert!(matches!(begin("r2").await, Err(StoreError::Busy { .. })));
        assert!(matches!(store.open(opening("s2", true)).await, Err(StoreError::Busy { .. })));
        assert_eq!(store.append(row("r1", "e1", None)).await.unwrap().parent_id.as_deref(), Some("s1"));
        assert!(matches!(store.append(row("r1", "e1", None)).await, Err(StoreError::Invalid { .. })));

        store.end_run(&key(), &RunId::new("r2"), ended()).await.unwrap();
        assert_eq!(store.writer(&key()), Some(RunId::new("r1")), "only its owner can end a run");
        store.end_run(&key(), &RunId::new("r1"), ended()).await.unwrap();
        assert!(matches!(store.append(row("r1", "e2", None)).await, Err(StoreError::Fenced { .. })));
        let entry = store.entry(&key()).await.unwrap().unwrap();
        assert_eq!((entry.status, entry.input_tokens), (Some(RunStatus::Done), 3));

        assert_eq!(store.open(opening("s2", true)).await.unwrap().previous, Some(SessionId::new("s1")));
        assert!(matches!(begin("r3").await, Err(StoreError::Fenced { .. })), "the session moved on");
    }

    #[tokio::test]
    async fn a_second_append_with_the_same_key_stores_nothing() {
        let store = MemorySessions::default();
        store.open(opening("s1", false)).await.unwrap();
        store.begin_run(&key(), &SessionId::new("s1"), &RunId::new("r1"), 1).await.unwrap();
        let first = store.append(row("r1", "e1", Some("k"))).await.unwrap();
        assert_eq!(store.append(row("r1", "e2", Some("k"))).await.unwrap(), first);
        assert_eq!(store.append(row("r1", "e3", Some("other"))).await.unwrap().seq, 2);
        assert_eq!(store.transcript(&key()).len(), 3);
    }
}
