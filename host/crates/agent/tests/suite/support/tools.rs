//! Tools that do as they are told, and the policy around them in its simplest form.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agent::ToolSupport;
use agent::ports::ArgumentCheck;
use async_trait::async_trait;
use domain::cancel::CancelReason;
use domain::message::{ContentBlock, ToolResultMessage};
use domain::tool::{Invocation, Tool, ToolFailure, ToolOwner, ToolResult, ToolSpec};
use serde_json::{Map, Value, json};

use super::{InFlight, Stop};

/// A tool of a test.
#[derive(Clone)]
pub(crate) struct FakeTool {
    spec: ToolSpec,
    takes: Duration,
    stop_grace: Duration,
    updates: Vec<String>,
    stop: Option<(Stop, CancelReason)>,
    end: End,
    /// Calls under way.
    pub(crate) in_flight: InFlight,
    ran: Arc<Mutex<Vec<Ran>>>,
}

/// What a tool was run with.
#[derive(Debug, Clone)]
pub(crate) struct Ran {
    pub(crate) params: Value,
    pub(crate) env: BTreeMap<String, String>,
}

#[derive(Clone)]
enum End {
    Result(ToolResult),
    Failure(ToolFailure),
    /// It ends so long after it was asked to stop.
    LeavesAfter(Duration, ToolFailure),
    Hang,
    Panic,
}

impl FakeTool {
    fn new(name: &str, end: End) -> Self {
        let spec = ToolSpec {
            name: name.to_owned(),
            label: name.to_owned(),
            description: format!("Does {name}."),
            parameters: json!({"type": "object"}),
            output_schema: None,
            optional: false,
            owner: ToolOwner::Host,
            sequential: false,
        };
        Self {
            spec,
            takes: Duration::ZERO,
            stop_grace: Duration::ZERO,
            updates: Vec::new(),
            stop: None,
            end,
            in_flight: InFlight::default(),
            ran: Arc::default(),
        }
    }

    pub(crate) fn answering(name: &str, text: &str) -> Self {
        Self::new(name, End::Result(ToolResult::text(text)))
    }

    pub(crate) fn failing(name: &str, text: &str) -> Self {
        Self::new(name, End::Failure(ToolFailure::Failed(text.to_owned())))
    }

    pub(crate) fn hanging(name: &str) -> Self {
        Self::new(name, End::Hang)
    }

    /// Works until it is asked to stop, then needs `takes` to clean up, of which it declares `declared`.
    pub(crate) fn cleaning_up(name: &str, takes: Duration, declared: Duration) -> Self {
        let shown = ToolFailure::AbortedWith("It had come so far.".to_owned());
        Self { stop_grace: declared, ..Self::new(name, End::LeavesAfter(takes, shown)) }
    }

    pub(crate) fn panicking(name: &str) -> Self {
        Self::new(name, End::Panic)
    }

    /// Lets time pass before it ends.
    pub(crate) fn taking(self, takes: Duration) -> Self {
        Self { takes, ..self }
    }

    pub(crate) fn updating(self, updates: &[&str]) -> Self {
        Self { updates: updates.iter().map(|text| (*text).to_owned()).collect(), ..self }
    }

    /// Somebody stops the run while it works.
    pub(crate) fn stopped(self, stop: &Stop, reason: CancelReason) -> Self {
        Self { stop: Some((stop.clone(), reason)), ..self }
    }

    pub(crate) fn sequential(mut self) -> Self {
        self.spec.sequential = true;
        self
    }

    pub(crate) fn with_spec(mut self, change: impl FnOnce(&mut ToolSpec)) -> Self {
        change(&mut self.spec);
        self
    }

    pub(crate) fn with_result(mut self, change: impl FnOnce(&mut ToolResult)) -> Self {
        if let End::Result(result) = &mut self.end {
            change(result);
        }
        self
    }

    /// What it ran with so far.
    pub(crate) fn ran(&self) -> Vec<Ran> {
        self.ran.lock().unwrap().clone()
    }
}

#[async_trait]
impl Tool for FakeTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn stop_grace(&self) -> Duration {
        self.stop_grace
    }

    async fn execute(&self, call: Invocation<'_>) -> Result<ToolResult, ToolFailure> {
        let _ticket = self.in_flight.ticket();
        self.ran.lock().unwrap().push(Ran { params: Value::Object(call.params.clone()), env: call.env.clone() });
        for update in &self.updates {
            call.progress.update(&ToolResult::text(update));
        }
        tokio::time::sleep(self.takes).await;
        if let Some((stop, reason)) = &self.stop {
            stop.now(*reason);
        }
        match &self.end {
            End::Result(result) => Ok(result.clone()),
            End::Failure(failure) => Err(failure.clone()),
            End::LeavesAfter(pause, failure) => {
                call.cancel.cancelled().await;
                tokio::time::sleep(*pause).await;
                Err(failure.clone())
            }
            End::Hang => std::future::pending().await,
            End::Panic => panic!("the tool has a fault: SECRET"),
        }
    }
}

/// Parameters must be an object with what the schema's `required` names; `SECRET` is masked in what is emitted and in what is stored.
pub(crate) struct FakeSupport;

impl ToolSupport for FakeSupport {
    fn permitted(&self, tools: &[ToolSpec]) -> Vec<String> {
        tools.iter().filter(|tool| !tool.optional).map(|tool| tool.name.clone()).collect()
    }

    fn narrow(&self, tools: &[ToolSpec], lists: &[Vec<String>]) -> Vec<String> {
        let names = tools.iter().map(|tool| tool.name.clone());
        names.filter(|name| lists.iter().all(|list| list.contains(name))).collect()
    }

    fn check_arguments(&self, spec: &ToolSpec, arguments: &Value) -> ArgumentCheck {
        let Value::Object(params) = arguments else { return Err("the arguments are no object".to_owned()) };
        let required = spec.parameters["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
        for name in required {
            if params.get(name).is_none_or(Value::is_null) {
                return Err(format!("`{name}` is missing"));
            }
        }
        if params.contains_key("PANIC") {
            panic!("the check has a fault");
        }
        Ok(params.clone())
    }

    fn check_details(&self, spec: &ToolSpec, details: Option<&Value>) -> Result<(), String> {
        if spec.output_schema.is_none() || details.is_some_and(Value::is_object) {
            Ok(())
        } else {
            Err("the details do not fit".to_owned())
        }
    }

    fn check_output_schema(&self, spec: &ToolSpec) -> Result<(), String> {
        if spec.output_schema.as_ref().is_none_or(Value::is_object) {
            Ok(())
        } else {
            Err("the output schema is invalid".to_owned())
        }
    }

    fn filter_env(&self, mut env: BTreeMap<String, String>) -> (BTreeMap<String, String>, Vec<String>) {
        let dropped = env.remove("PATH").map(|_| "PATH".to_owned()).into_iter().collect();
        (env, dropped)
    }

    fn emitted(&self, value: &Value) -> Value {
        serde_json::from_str(&value.to_string().replace("SECRET", "***")).unwrap()
    }

    fn cap_result(&self, mut message: ToolResultMessage, _context_window: Option<u32>) -> ToolResultMessage {
        for block in &mut message.content {
            if let ContentBlock::Text(text) = block {
                text.text = text.text.replace("SECRET", "***");
            }
        }
        message
    }

    fn derived_paths(&self, _tool: &str, params: &Map<String, Value>) -> Vec<String> {
        params.get("path").and_then(Value::as_str).map(str::to_owned).into_iter().collect()
    }
}
