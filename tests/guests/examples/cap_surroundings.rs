//! Offers the tool `look`, which answers with what the plugin sees of the machine: variables, clocks, random numbers.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use creel_plugin::prelude::*;
use serde_json::json;

struct Looks;

#[plugin]
impl Plugin for Looks {
    fn list_tools(_: Option<ToolScope>) -> Result<Vec<Tool>> {
        Ok(vec![Tool::new("look", "Tells what it sees.")])
    }

    fn execute_tool(_: ToolCall, _: ToolContext) -> Result<ToolResult> {
        let variables: BTreeMap<String, String> = std::env::vars().collect();
        let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis();
        let begin = Instant::now();
        // Some work, so that a clock that runs has run.
        let sum: u64 = (0..200_000_u64).map(|number| RandomState::new().hash_one(number) & 1).sum();
        let seen = json!({
            "variables": variables,
            "nowMs": u64::try_from(now)?,
            "elapsedNs": u64::try_from(begin.elapsed().as_nanos())?,
            "sum": sum,
            "random": random(),
        });
        Ok(ToolResult::text(seen.to_string()))
    }
}

#[cfg(target_family = "wasm")]
fn random() -> [String; 3] {
    use wasip2::random::{insecure, insecure_seed, random};
    let (low, high) = insecure_seed::insecure_seed();
    [random::get_random_u64().to_string(), insecure::get_insecure_random_u64().to_string(), format!("{low}-{high}")]
}

/// Natively nothing of this is run.
#[cfg(not(target_family = "wasm"))]
fn random() -> [String; 3] {
    Default::default()
}
