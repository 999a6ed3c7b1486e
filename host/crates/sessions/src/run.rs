//! The fence: which run may write to a session (sessions 3.6). Everything here is part of a transaction that also does what it allows.

use domain::session::{RunStatus, RunSummary, StoreError};
use rusqlite::{OptionalExtension, Transaction};
use serde_json::Value;

use crate::entry::{self, StoredEntry, Writer};
use crate::failure::Failure;
use crate::owner;
use crate::time::{column, iso8601};

type Result<T> = std::result::Result<T, Failure<StoreError>>;

/// A run that wants to write, or to stop writing.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Claim<'a> {
    /// The conversation.
    pub(crate) key: &'a str,
    /// The run.
    pub(crate) run: &'a str,
    /// Token of the store that the run works with. Run ids are unique in one process only.
    pub(crate) owner: &'a str,
}

/// Gives the session to a run. A run that has it already keeps it.
pub(crate) fn begin(tx: &Transaction<'_>, claim: Claim<'_>, session_id: &str, now: u64) -> Result<()> {
    let stored = entry::find(tx, claim.key)?.ok_or_else(|| StoreError::NotFound(claim.key.to_owned()))?;
    if stored.entry.session_id != session_id {
        // The conversation moved on to another transcript; this run came too late (sessions 2.2.8).
        return Err(fenced(claim));
    }
    let since = match &stored.writer {
        Some(writer) if owns(claim, writer) => writer.since,
        other => {
            ensure_free(other.as_ref(), claim.key)?;
            now
        }
    };
    tx.prepare_cached(
        "UPDATE session_entries
         SET writer_run_id = ?2, writer_owner = ?3, writer_since = ?4, status = ?5, updated_at = max(updated_at, ?6)
         WHERE session_key = ?1",
    )?
    .execute((claim.key, claim.run, claim.owner, column(since), entry::status_text(RunStatus::Running), column(now)))?;
    Ok(())
}

/// Refuses while a run that is alive owns the session. A run of a process that is gone is passed over.
pub(crate) fn ensure_free(writer: Option<&Writer>, key: &str) -> Result<()> {
    let Some(writer) = writer else { return Ok(()) };
    if owner::is_alive(&writer.owner) {
        let holder = format!("{} ({}, since {})", writer.run, owner::describe(&writer.owner), iso8601(writer.since));
        return Err(StoreError::Busy { key: key.to_owned(), holder }.into());
    }
    let process = owner::describe(&writer.owner);
    tracing::warn!(session = key, run = writer.run, process, "the run that owned the session is gone; its session is taken over");
    Ok(())
}

/// Refuses a writer that does not own the session, or not its current transcript. Reads nothing else of the entry: it is done for each
/// row.
pub(crate) fn check_fence(tx: &Transaction<'_>, claim: Claim<'_>, session_id: &str) -> Result<()> {
    let is_owner: Option<bool> = tx
        .prepare_cached(
            "SELECT writer_run_id IS ?2 AND writer_owner IS ?3 AND session_id IS ?4 FROM session_entries WHERE session_key = ?1",
        )?
        .query_row((claim.key, claim.run, claim.owner, session_id), |row| row.get(0))
        .optional()?;
    match is_owner {
        Some(true) => Ok(()),
        Some(false) => Err(fenced(claim)),
        None => Err(StoreError::NotFound(claim.key.to_owned()).into()),
    }
}

/// Frees the session and writes down how the run went; does nothing for a run that does not own it.
pub(crate) fn finish(tx: &Transaction<'_>, claim: Claim<'_>, summary: &RunSummary) -> Result<()> {
    let Some(StoredEntry { mut entry, writer: Some(writer) }) = entry::find(tx, claim.key)? else { return Ok(()) };
    if !owns(claim, &writer) {
        return Ok(());
    }
    entry.input_tokens = entry.input_tokens.saturating_add(summary.input_tokens);
    entry.output_tokens = entry.output_tokens.saturating_add(summary.output_tokens);
    for (name, value) in [("modelProvider", &summary.provider), ("model", &summary.model)] {
        if let Some(value) = value {
            entry.extra.insert(name.to_owned(), Value::from(value.as_str()));
        }
    }
    tx.prepare_cached(
        "UPDATE session_entries
         SET writer_run_id = NULL, writer_owner = NULL, writer_since = NULL, entry_json = ?2, status = ?3,
             updated_at = max(updated_at, ?4)
         WHERE session_key = ?1",
    )?
    .execute((claim.key, entry::body_json(&entry), entry::status_text(summary.status), column(summary.now)))?;
    Ok(())
}

fn owns(claim: Claim<'_>, writer: &Writer) -> bool {
    writer.run == claim.run && writer.owner == claim.owner
}

fn fenced(claim: Claim<'_>) -> Failure<StoreError> {
    StoreError::Fenced { key: claim.key.to_owned(), run: claim.run.to_owned() }.into()
}
