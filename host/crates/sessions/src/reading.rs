//! The port `SessionReader`: sessions in pages and ends of transcripts, for whoever may look and not write. Reads no more than it gives
//! back, but for the ids of a transcript's rows, which have to be followed to be counted.

use std::cmp::Reverse;

use async_trait::async_trait;
use domain::message::AgentMessage;
use domain::session::{
    MessageTail, PageStart, SessionEntry, SessionPage, SessionQuery, SessionReader, SessionStore, SessionSummary, StoreError,
    TranscriptEvent,
};
use domain::{AgentId, JsonText, SessionKey};
use rusqlite::Transaction;

use crate::entry;
use crate::event;
use crate::failure::Failure;
use crate::store::SqliteSessions;
use crate::time::{column, from_column};
use crate::transcript::{damaged, tip};

#[async_trait]
impl SessionReader for SqliteSessions {
    async fn page(&self, query: SessionQuery) -> Result<SessionPage, StoreError> {
        let agents = match &query.agents {
            Some(agents) => agents.clone(),
            None => self.agent_ids().await?,
        };
        let limit = query.limit as usize;
        let mut sessions = Vec::new();
        for agent in agents {
            let database = self.database::<StoreError>(&agent)?;
            let Some(database) = database.existing().await? else { continue };
            let query = query.clone();
            // One more than wanted, to know whether there is more.
            sessions.extend(database.read(move |tx| sessions_of(tx, &agent, &query, limit + 1)).await?);
        }
        sessions.sort_by(|one, other| order(one).cmp(&order(other)));
        let has_more = sessions.len() > limit;
        sessions.truncate(limit);
        let last = sessions.last().filter(|_| has_more);
        let next = last.map(|last| PageStart {
            updated_at: last.entry.updated_at,
            agent: last.key.agent().clone(),
            key: last.key.as_str().to_owned(),
        });
        Ok(SessionPage { sessions, next })
    }

    async fn session(&self, key: &SessionKey) -> Result<Option<SessionEntry>, StoreError> {
        SessionStore::entry(self, key).await
    }

    async fn message_tail(&self, key: &SessionKey, max_messages: u32, max_bytes: u32) -> Result<Option<MessageTail>, StoreError> {
        let database = self.database::<StoreError>(key.agent())?;
        let Some(database) = database.existing().await? else { return Ok(None) };
        let key = key.clone();
        database
            .read(move |tx| match entry::find(tx, key.as_str())? {
                Some(stored) => tail(tx, &stored.entry.session_id, max_messages as usize, max_bytes as usize).map(Some),
                None => Ok(None),
            })
            .await
    }
}

fn order(session: &SessionSummary) -> (Reverse<u64>, &AgentId, &str) {
    (Reverse(session.entry.updated_at), session.key.agent(), session.key.as_str())
}

/// Sessions of one agent that fit, newest change first.
fn sessions_of(
    tx: &Transaction<'_>,
    agent: &AgentId,
    query: &SessionQuery,
    limit: usize,
) -> Result<Vec<SessionSummary>, Failure<StoreError>> {
    // Of sessions that changed at the moment where the page before ended, those of agents before its last one were given already.
    let (before, key_after) = match &query.after {
        None => (i64::MAX, None),
        Some(start) if *agent < start.agent => (column(start.updated_at), None),
        Some(start) if *agent == start.agent => (column(start.updated_at), Some(start.key.as_str())),
        Some(start) => (column(start.updated_at), Some("")),
    };
    let sql = format!(
        "SELECT {}, (SELECT max(seq) + 1 FROM transcript_events t WHERE t.session_id = e.session_id)
         FROM session_entries e
         WHERE (updated_at < ?1 OR (updated_at = ?1 AND session_key > ?2)) AND updated_at >= ?3
            AND substr(session_key, 1, length(?4)) = ?4
         ORDER BY updated_at DESC, session_key LIMIT ?5",
        entry::COLUMNS
    );
    let mut statement = tx.prepare_cached(&sql)?;
    let since = column(query.updated_since.unwrap_or(0));
    let prefix = query.key_prefix.as_deref().unwrap_or("");
    let mut rows = statement.query((before, key_after, since, prefix, column(limit as u64)))?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let key = SessionKey::from_stored(row.get_ref(0)?.as_str().map_err(rusqlite::Error::from)?, agent.clone());
        let count = from_column(row.get::<_, Option<i64>>(10)?.unwrap_or_default());
        found.push(SessionSummary { key, entry: entry::from_row(row)?.entry, rows: count });
    }
    Ok(found)
}

/// The last messages of a transcript's active path. Those before the first one that is too large are counted and not looked at.
fn tail(
    tx: &Transaction<'_>,
    session_id: &str,
    max_messages: usize,
    max_bytes: usize,
) -> Result<MessageTail, Failure<StoreError>> {
    let mut statement = tx.prepare_cached(
        "SELECT seq, event_id, parent_id, event_type, event_json FROM transcript_events WHERE session_id = ?1 ORDER BY seq DESC",
    )?;
    let mut rows = statement.query([session_id])?;
    let mut wanted = Some(tip(tx, session_id)?.leaf);
    let mut messages: Vec<JsonText> = Vec::new();
    let (mut total, mut bytes_left, mut is_open) = (0, max_bytes, true);
    while let Some(id) = &wanted {
        let Some(row) = rows.next()? else {
            return Err(damaged(session_id, 0, format!("the row `{id}` that the transcript leads to is not stored")));
        };
        if row.get_ref(1)?.as_bytes().is_ok_and(|found| found != id.as_bytes()) {
            continue;
        }
        wanted = row.get(2)?;
        if row.get_ref(3)?.as_bytes().is_ok_and(|kind| kind != event::MESSAGE.as_bytes()) {
            continue;
        }
        total += 1;
        is_open &= messages.len() < max_messages;
        if !is_open {
            continue;
        }
        let seq = from_column(row.get(0)?);
        let text = row.get_ref(4)?.as_bytes().map_err(rusqlite::Error::from)?;
        let event = event::decode(text).map_err(|message| damaged(session_id, seq, message))?;
        let TranscriptEvent::Message { message } = event else { continue };
        let json = AgentMessage::to_json(&message);
        match bytes_left.checked_sub(json.as_str().len()) {
            Some(left) => {
                bytes_left = left;
                messages.push(json);
            }
            None => is_open = false,
        }
    }
    messages.reverse();
    Ok(MessageTail { truncated: messages.len() < total, messages, total: total as u64 })
}
