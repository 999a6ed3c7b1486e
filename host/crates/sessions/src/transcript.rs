//! Rows of `sessions` and `transcript_events`: how an event gets in, and how the path to the leaf is read (sessions 4, 5.3). Rows are
//! only ever added. Whether somebody may write is decided elsewhere, in the same transaction.

use domain::session::{StoreError, TranscriptEvent, TranscriptRow};
use rusqlite::{ErrorCode, OptionalExtension, Row, Transaction};

use crate::event::{self, EncodedEvent};
use crate::failure::Failure;
use crate::time::{column, from_column};

type Result<T> = std::result::Result<T, Failure<StoreError>>;

const COLUMNS: &str = "seq, event_id, parent_id, created_at, event_json";

/// A transcript to make.
#[derive(Debug)]
pub(crate) struct NewTranscript<'a> {
    /// Its id.
    pub(crate) session_id: &'a str,
    /// The conversation.
    pub(crate) key: &'a str,
    /// The agent.
    pub(crate) agent: &'a str,
    /// The transcript before it.
    pub(crate) parent: Option<&'a str>,
    /// Working directory.
    pub(crate) cwd: &'a str,
    /// Milliseconds.
    pub(crate) now: u64,
}

/// An event to append.
#[derive(Debug)]
pub(crate) struct NewEvent<'a> {
    /// The transcript.
    pub(crate) session_id: &'a str,
    /// Its id.
    pub(crate) id: &'a str,
    /// What it is.
    pub(crate) event: EncodedEvent,
    /// Milliseconds.
    pub(crate) now: u64,
    /// Protects against a second append.
    pub(crate) idempotency_key: Option<&'a str>,
}

/// Makes a transcript and its header, which has the transcript's own id.
pub(crate) fn create(tx: &Transaction<'_>, new: &NewTranscript<'_>) -> Result<()> {
    let header = TranscriptEvent::Session {
        cwd: new.cwd.to_owned(),
        version: event::FORMAT_VERSION,
        parent_session: new.parent.map(str::to_owned),
    };
    let header = event::encode(&header).map_err(|message| invalid(new.session_id, message))?;
    tx.prepare_cached(
        "INSERT INTO sessions (session_id, session_key, agent_id, created_at, parent_session_id, leaf_entry_id)
         VALUES (?1, ?2, ?3, ?4, ?5, ?1)",
    )?
    .execute((new.session_id, new.key, new.agent, column(new.now), new.parent))
    .map_err(|error| taken(error, new.session_id, "its id is in use already; give each new transcript a new id"))?;
    insert(
        tx,
        0,
        None,
        &NewEvent { session_id: new.session_id, id: new.session_id, event: header, now: new.now, idempotency_key: None },
    )
}

/// Marks a transcript as ended.
pub(crate) fn end(tx: &Transaction<'_>, session_id: &str, now: u64) -> Result<()> {
    tx.prepare_cached("UPDATE sessions SET closed_at = ?2 WHERE session_id = ?1")?.execute((session_id, column(now)))?;
    Ok(())
}

/// Appends an event below the leaf and makes it the leaf.
pub(crate) fn append(tx: &Transaction<'_>, new: NewEvent<'_>) -> Result<TranscriptRow> {
    let tip = tip(tx, new.session_id)?;
    let seq = tip.seq + 1;
    insert(tx, seq, Some(&tip.leaf), &new)?;
    tx.prepare_cached("UPDATE sessions SET leaf_entry_id = ?2 WHERE session_id = ?1")?.execute((new.session_id, new.id))?;
    Ok(TranscriptRow { seq, id: new.id.to_owned(), parent_id: Some(tip.leaf), created_at: new.now, event: new.event.event })
}

fn insert(tx: &Transaction<'_>, seq: u64, parent: Option<&str>, new: &NewEvent<'_>) -> Result<()> {
    tx.prepare_cached(
        "INSERT INTO transcript_events
            (session_id, seq, event_id, parent_id, event_type, event_json, created_at, idempotency_key)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    )?
    .execute((
        new.session_id,
        column(seq),
        new.id,
        parent,
        &new.event.kind,
        &new.event.text,
        column(new.now),
        new.idempotency_key,
    ))
    .map_err(|error| taken(error, new.session_id, "its event id is in use already; give each event a new id"))?;
    Ok(())
}

/// The row that was appended with an idempotency key before.
pub(crate) fn find_idempotent(tx: &Transaction<'_>, session_id: &str, key: &str) -> Result<Option<TranscriptRow>> {
    let sql = format!("SELECT {COLUMNS} FROM transcript_events WHERE session_id = ?1 AND idempotency_key = ?2");
    tx.prepare_cached(&sql)?.query_row((session_id, key), |row| Ok(read_row(session_id, row))).optional()?.transpose()
}

/// End of a transcript.
#[derive(Debug)]
pub(crate) struct Tip {
    /// Id of the leaf.
    pub(crate) leaf: String,
    /// Largest `seq`, branches included.
    pub(crate) seq: u64,
}

/// The end of a transcript.
pub(crate) fn tip(tx: &Transaction<'_>, session_id: &str) -> Result<Tip> {
    let found: Option<(String, Option<i64>)> = tx
        .prepare_cached(
            "SELECT leaf_entry_id, (SELECT max(seq) FROM transcript_events WHERE session_id = ?1)
             FROM sessions WHERE session_id = ?1",
        )?
        .query_row([session_id], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    match found {
        Some((leaf, Some(seq))) => Ok(Tip { leaf, seq: from_column(seq) }),
        Some((_, None)) => Err(damaged(session_id, 0, "the transcript has no header".to_owned())),
        None => Err(StoreError::NotFound(session_id.to_owned()).into()),
    }
}

/// The last `limit` rows of the active path, oldest first. A parent has a smaller `seq` than its child, so one scan from the end
/// meets the path in order and stops as soon as it has enough; damaged links cannot make it run in circles.
pub(crate) fn path(tx: &Transaction<'_>, session_id: &str, limit: usize) -> Result<Vec<TranscriptRow>> {
    let tip = tip(tx, session_id)?;
    let sql = format!("SELECT {COLUMNS} FROM transcript_events WHERE session_id = ?1 ORDER BY seq DESC");
    let mut statement = tx.prepare_cached(&sql)?;
    let mut rows = statement.query([session_id])?;
    let mut path: Vec<TranscriptRow> = Vec::new();
    let mut wanted = Some(tip.leaf);
    while let (Some(id), true) = (&wanted, path.len() < limit) {
        let Some(row) = rows.next()? else {
            let seq = path.last().map_or(tip.seq, |row| row.seq);
            return Err(damaged(session_id, seq, format!("the row `{id}` that it leads to is not stored before it")));
        };
        if row.get_ref(1)?.as_bytes().is_ok_and(|found| found == id.as_bytes()) {
            let row = read_row(session_id, row)?;
            wanted.clone_from(&row.parent_id);
            path.push(row);
        }
    }
    path.reverse();
    Ok(path)
}

/// Reads a row that begins with [`COLUMNS`].
fn read_row(session_id: &str, row: &Row<'_>) -> Result<TranscriptRow> {
    let seq = from_column(row.get(0)?);
    // Bytes instead of text: text that is not UTF-8 must be reported with its place.
    let text = row.get_ref(4)?.as_bytes().map_err(rusqlite::Error::from)?;
    let event = event::decode(text).map_err(|message| damaged(session_id, seq, message))?;
    Ok(TranscriptRow { seq, id: row.get(1)?, parent_id: row.get(2)?, created_at: from_column(row.get(3)?), event })
}

/// Up to `limit` rows from `first` on, in order of `seq`, all branches, events as they are stored.
pub(crate) fn raw_page(tx: &Transaction<'_>, session_id: &str, first: u64, limit: u32) -> Result<Vec<event::RawRow>> {
    let sql = format!("SELECT {COLUMNS} FROM transcript_events WHERE session_id = ?1 AND seq >= ?2 ORDER BY seq LIMIT ?3");
    let mut statement = tx.prepare_cached(&sql)?;
    let mut rows = statement.query((session_id, column(first), limit))?;
    let mut page = Vec::new();
    while let Some(row) = rows.next()? {
        page.push(event::RawRow {
            seq: from_column(row.get(0)?),
            id: row.get(1)?,
            parent_id: row.get(2)?,
            created_at: from_column(row.get(3)?),
            event: row.get_ref(4)?.as_bytes().map_err(rusqlite::Error::from)?.to_vec(),
        });
    }
    Ok(page)
}

/// A row that makes no sense.
pub(crate) fn damaged(session_id: &str, seq: u64, message: String) -> Failure<StoreError> {
    Failure::Row { session_id: session_id.to_owned(), seq, message }
}

/// A row that is refused.
pub(crate) fn invalid(session_id: &str, message: String) -> Failure<StoreError> {
    StoreError::Invalid { session_id: session_id.to_owned(), message }.into()
}

/// Tells the caller which of its ids exists already; passes other errors on.
fn taken(error: rusqlite::Error, session_id: &str, message: &str) -> Failure<StoreError> {
    match error.sqlite_error_code() {
        Some(ErrorCode::ConstraintViolation) => invalid(session_id, message.to_owned()),
        _ => error.into(),
    }
}
