//! Rows of `session_entries`: what is known of a conversation (sessions 2.3), and what a new transcript keeps of it (6.2.9). Facts
//! that have a column are in the column only; everything else is one JSON value.

use domain::session::{RunStatus, SessionEntry};
use rusqlite::{OptionalExtension, Row, Transaction};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::failure::Failure;
use crate::owner;
use crate::time::{column, from_column};

/// A stored entry and who may write to its transcript.
#[derive(Debug)]
pub(crate) struct StoredEntry {
    /// What callers see.
    pub(crate) entry: SessionEntry,
    /// The run that owns the session, dead or alive.
    pub(crate) writer: Option<Writer>,
}

/// The run that owns a session.
#[derive(Debug)]
pub(crate) struct Writer {
    /// Run id.
    pub(crate) run: String,
    /// Owner token.
    pub(crate) owner: String,
    /// Milliseconds.
    pub(crate) since: u64,
}

/// The part of an entry that has no columns.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Body {
    input_tokens: u64,
    output_tokens: u64,
    #[serde(flatten)]
    extra: Map<String, Value>,
}

/// Columns in the order in which [`from_row`] reads them.
pub(crate) const COLUMNS: &str = "session_key, session_id, entry_json, status, session_started_at, last_interaction_at, updated_at, \
     writer_run_id, writer_owner, writer_since";

/// What a new transcript does not take over from the one before (sessions 6.2.9): caches, counters of the old transcript, recovery
/// marks.
const ENDS_WITH_TRANSCRIPT: [&str; 10] = [
    "abortedLastRun",
    "authProfileOverride",
    "authProfileOverrideSource",
    "compactionCount",
    "contextTokens",
    "memoryFlushAt",
    "memoryFlushCompactionCount",
    "skillsSnapshot",
    "systemPromptReport",
    "totalTokens",
];

/// A choice of model that the host made, not the user, ends with the transcript too.
const MODEL_OVERRIDE: [&str; 3] = ["modelOverride", "providerOverride", "modelOverrideSource"];

/// The entry of a conversation.
pub(crate) fn find<E>(tx: &Transaction<'_>, key: &str) -> Result<Option<StoredEntry>, Failure<E>> {
    let sql = format!("SELECT {COLUMNS} FROM session_entries WHERE session_key = ?1");
    tx.prepare_cached(&sql)?.query_row([key], |row| Ok(from_row(row))).optional()?.transpose()
}

/// Reads a row that begins with [`COLUMNS`].
pub(crate) fn from_row<E>(row: &Row<'_>) -> Result<StoredEntry, Failure<E>> {
    let key: String = row.get(0)?;
    let body: Body = serde_json::from_slice(row.get_ref(2)?.as_bytes().map_err(rusqlite::Error::from)?)
        .map_err(|error| Failure::Content(format!("the entry of session `{key}` is damaged: {error}")))?;
    let writer = match (row.get(7)?, row.get(8)?) {
        (Some(run), Some(owner)) => {
            Some(Writer { run, owner, since: from_column(row.get::<_, Option<i64>>(9)?.unwrap_or_default()) })
        }
        _ => None,
    };
    let status = row.get::<_, Option<String>>(3)?.and_then(|text| parse_status(&text));
    let entry = SessionEntry {
        session_id: row.get(1)?,
        session_started_at: from_column(row.get(4)?),
        last_interaction_at: from_column(row.get(5)?),
        updated_at: from_column(row.get(6)?),
        status: status.map(|status| present_status(status, writer.as_ref())),
        input_tokens: body.input_tokens,
        output_tokens: body.output_tokens,
        extra: body.extra,
    };
    Ok(StoredEntry { entry, writer })
}

/// The value of the `entry_json` column.
pub(crate) fn body_json(entry: &SessionEntry) -> String {
    let body = Body { input_tokens: entry.input_tokens, output_tokens: entry.output_tokens, extra: entry.extra.clone() };
    // Texts, numbers and JSON values always render.
    serde_json::to_string(&body).unwrap_or_else(|_| "{}".to_owned())
}

/// The value of the `status` column.
pub(crate) fn status_text(status: RunStatus) -> &'static str {
    match status {
        RunStatus::Running => "running",
        RunStatus::Done => "done",
        RunStatus::Failed => "failed",
        RunStatus::Killed => "killed",
        RunStatus::Timeout => "timeout",
    }
}

fn parse_status(text: &str) -> Option<RunStatus> {
    serde_json::from_value(Value::from(text)).ok()
}

/// A run that is stored as working, but whose process is gone, was killed; nobody was left to write that down.
fn present_status(stored: RunStatus, writer: Option<&Writer>) -> RunStatus {
    match (stored, writer) {
        (RunStatus::Running, Some(writer)) if owner::is_alive(&writer.owner) => RunStatus::Running,
        (RunStatus::Running, _) => RunStatus::Killed,
        (other, _) => other,
    }
}

/// What stays of an entry when its conversation gets a new transcript: settings of the user, labels and the reply route.
pub(crate) fn carried_over(mut extra: Map<String, Value>) -> Map<String, Value> {
    for key in ENDS_WITH_TRANSCRIPT {
        extra.shift_remove(key);
    }
    if extra.get("modelOverrideSource").and_then(Value::as_str) == Some("auto") {
        for key in MODEL_OVERRIDE {
            extra.shift_remove(key);
        }
    }
    extra
}

/// Notes a change of the conversation. Times never go back.
pub(crate) fn mark_updated(tx: &Transaction<'_>, key: &str, now: u64) -> rusqlite::Result<()> {
    tx.prepare_cached("UPDATE session_entries SET updated_at = max(updated_at, ?2) WHERE session_key = ?1")?
        .execute((key, column(now)))
        .map(drop)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use serde_json::json;

    use super::*;

    fn object(value: Value) -> Map<String, Value> {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn a_new_transcript_keeps_the_users_settings_and_drops_what_the_host_chose() {
        let kept = json!({"thinkingLevel": "high", "label": "x", "lastChannel": "terminal", "unheardOf": 1});
        let mut before = object(kept.clone());
        before.extend(object(json!({
            "modelOverride": "m", "providerOverride": "p", "modelOverrideSource": "auto", "authProfileOverride": "a",
            "skillsSnapshot": {}, "compactionCount": 3, "totalTokens": 9, "abortedLastRun": true
        })));
        assert_eq!(Value::Object(carried_over(before)), kept);
    }

    #[test]
    fn a_model_that_the_user_chose_stays() {
        let chosen = object(json!({"modelOverride": "m", "modelOverrideSource": "user"}));
        assert_eq!(carried_over(chosen.clone()), chosen);
    }

    #[test]
    fn every_status_has_a_text_of_its_own() {
        for status in [RunStatus::Running, RunStatus::Done, RunStatus::Failed, RunStatus::Killed, RunStatus::Timeout] {
            assert_eq!(parse_status(status_text(status)), Some(status));
        }
        assert_eq!(parse_status("asleep"), None);
    }
}
