//! Turns of the scripted model, in the form that `offline/script` reads. A test reads like a chat log.

use domain::model::FailureClass;
use serde_json::{Value, json};

/// One answer of the model.
#[derive(Debug, Clone)]
pub struct Turn {
    steps: Vec<Value>,
    expect: Option<Value>,
}

/// The model says a text.
pub fn say(text: &str) -> Turn {
    Turn { steps: vec![json!({ "text": [text] })], expect: None }
}

/// The model calls a tool.
pub fn call(tool: &str, arguments: Value) -> Turn {
    Turn { steps: vec![step(tool, arguments)], expect: None }
}

/// The provider fails.
pub fn fail(class: FailureClass, message: &str) -> Turn {
    Turn { steps: vec![failure(class, message)], expect: None }
}

fn step(tool: &str, arguments: Value) -> Value {
    json!({ "call": { "name": tool, "arguments": arguments } })
}

fn failure(class: FailureClass, message: &str) -> Value {
    json!({ "error": { "class": class, "message": message } })
}

impl Turn {
    /// It calls one more tool in the same answer.
    #[must_use]
    pub fn and_call(mut self, tool: &str, arguments: Value) -> Self {
        self.steps.push(step(tool, arguments));
        self
    }

    /// Then the provider fails.
    #[must_use]
    pub fn and_fail(mut self, class: FailureClass, message: &str) -> Self {
        self.steps.push(failure(class, message));
        self
    }

    /// It waits before it says the rest.
    #[must_use]
    pub fn after_ms(mut self, ms: u64) -> Self {
        self.steps.insert(0, json!({ "pauseMs": ms }));
        self
    }

    /// The request must look like this, or the answer is a failure that says how it differs.
    #[must_use]
    pub fn expecting(mut self, expect: Value) -> Self {
        self.expect = Some(expect);
        self
    }

    pub(crate) fn to_json(&self) -> Value {
        match &self.expect {
            Some(expect) => json!({ "expect": expect, "play": self.steps }),
            None => json!({ "play": self.steps }),
        }
    }
}
