//! Collects what each handler did and prints it beside the conversation.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

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
            output.style().dim().apply_to(format!("({})", time(record.elapsed))),
        ));
    }
    let total = records.iter().map(|record| record.elapsed).sum();
    let calls = if records.len() == 1 { "hook call" } else { "hook calls" };
    let line = format!("    {} {calls} in {}, {quiet} without an opinion", records.len(), time(total));
    output.line(output.style().dim().apply_to(line).to_string());
}

/// A time in the unit that fits.
fn time(elapsed: Duration) -> String {
    match elapsed.as_micros() {
        micros @ 0..1_000 => format!("{micros} µs"),
        micros @ 1_000..10_000 => format!("{}.{} ms", micros / 1_000, micros % 1_000 / 100),
        micros => format!("{} ms", micros / 1_000),
    }
}

fn describe(record: &HandlerRecord) -> Option<(String, bool)> {
    match &record.outcome {
        HandlerOutcome::Quiet => None,
        HandlerOutcome::Answered(text) => Some((text.clone(), false)),
        HandlerOutcome::Decided(text) => Some((text.clone(), true)),
        HandlerOutcome::Faulted(kind, text) => Some((format!("failed: {}: {text}", kind.as_str()), true)),
        HandlerOutcome::SkippedNested | HandlerOutcome::SkippedTooDeep | HandlerOutcome::SkippedCircuit => {
            Some(("left out".to_owned(), false))
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_the_unit_that_fits() {
        let times = [0, 999, 1_000, 1_290, 9_999, 10_000, 1_234_567].map(|micros| time(Duration::from_micros(micros)));
        assert_eq!(times, ["0 µs", "999 µs", "1.0 ms", "1.2 ms", "9.9 ms", "10 ms", "1234 ms"]);
    }
}
