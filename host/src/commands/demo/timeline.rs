//! Collects what each handler did and prints it beside the conversation.

use std::sync::{Mutex, PoisonError};

use hooks::record::{HandlerOutcome, HandlerRecord, RecordSink};
use serde_json::{Value, json};

use crate::terminal::Output;

/// Records of the scene that is being played.
#[derive(Default)]
pub(super) struct Timeline(Mutex<Vec<HandlerRecord>>);

impl RecordSink for Timeline {
    fn handled(&self, record: HandlerRecord) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(record);
    }
}

impl Timeline {
    /// Takes the records of a scene.
    pub(super) fn take(&self) -> Vec<HandlerRecord> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Prints records: those that said something, then how many only watched.
pub(super) fn print(records: &[HandlerRecord], output: &Output) {
    let mut quiet = 0_usize;
    for record in records {
        let Some((text, is_decision)) = describe(record) else {
            quiet += 1;
            continue;
        };
        let style = if is_decision { output.style().yellow().bold() } else { output.style().green() };
        output.line(format!(
            "    {:<24} {:<17} {} {}",
            record.hook.name(),
            record.plugin.as_str(),
            style.apply_to(text),
            output.style().dim().apply_to(format!("({} µs)", record.elapsed.as_micros())),
        ));
    }
    let total: u128 = records.iter().map(|record| record.elapsed.as_micros()).sum();
    let line = format!("    {} hook calls in {total} µs, {quiet} without an opinion", records.len());
    output.line(output.style().dim().apply_to(line).to_string());
}

fn describe(record: &HandlerRecord) -> Option<(String, bool)> {
    match &record.outcome {
        HandlerOutcome::Quiet => None,
        HandlerOutcome::Answered(text) => Some((text.clone(), false)),
        HandlerOutcome::Decided(text) => Some((text.clone(), true)),
        HandlerOutcome::Faulted(kind, text) => Some((format!("failed: {}: {text}", kind.as_str()), true)),
        HandlerOutcome::SkippedNested | HandlerOutcome::SkippedTooDeep => Some(("left out".to_owned(), false)),
    }
}

/// Records as JSON.
pub(super) fn as_json(records: &[HandlerRecord]) -> Vec<Value> {
    records
        .iter()
        .map(|record| {
            let (decision, terminal) = describe(record).map_or((None, false), |(text, terminal)| (Some(text), terminal));
            json!({
                "hook": record.hook.name(), "plugin": record.plugin, "decision": decision, "terminal": terminal,
                "micros": u64::try_from(record.elapsed.as_micros()).unwrap_or(u64::MAX),
            })
        })
        .collect()
}
