//! A tool that does nothing but tell the journal what it ran with.

use async_trait::async_trait;
use domain::tool::{Invocation, Tool, ToolFailure, ToolOwner, ToolResult, ToolSpec};
use serde_json::json;

use crate::journal::{Entry, Journal};

/// Name of the tool.
pub const PROBE: &str = "probe";

/// The tool. Takes any object. With `fails` in its parameters it fails with that text, else it returns the text in `says`.
pub(crate) struct Probe {
    spec: ToolSpec,
    journal: Journal,
}

impl Probe {
    pub(crate) fn new(journal: Journal) -> Self {
        let spec = ToolSpec {
            name: PROBE.to_owned(),
            label: "Probe".to_owned(),
            description: "Tells the test what it was called with.".to_owned(),
            parameters: json!({ "type": "object" }),
            output_schema: None,
            optional: false,
            owner: ToolOwner::Host,
            sequential: false,
        };
        Self { spec, journal }
    }
}

#[async_trait]
impl Tool for Probe {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn execute(&self, call: Invocation<'_>) -> Result<ToolResult, ToolFailure> {
        self.journal.add(Entry::Executed(call.params.clone()));
        let text = |key: &str| call.params.get(key).and_then(|value| value.as_str()).map(str::to_owned);
        match text("fails") {
            Some(why) => Err(ToolFailure::Failed(why)),
            None => Ok(ToolResult::text(text("says").unwrap_or_else(|| "probed".to_owned()))
                .with_details(json!({ "hidden": "details of the probe" }))),
        }
    }
}
