//! The tools that the configuration lists.

use creel_plugin::config;
use serde_json::{Value, json};

use crate::bindings::creel::plugin::types::{ContentBlock, ToolContext, ToolResult};
use crate::bindings::exports::creel::plugin::tools::{Call, Guest, Scope, Tool};
use crate::conduct;
use crate::handlers::Script;
use crate::settings::{Settings, ToolPlan};

impl Guest for Script {
    fn list_tools(_scope: Option<Scope>) -> Result<Vec<Tool>, String> {
        let settings = config::<Settings>().map_err(|error| error.to_string())?;
        Ok(settings.tools.iter().map(tool).collect())
    }

    fn execute(call: Call, _context: ToolContext) -> Result<ToolResult, String> {
        let settings = config::<Settings>().map_err(|error| error.to_string())?;
        let plan = settings.tools.iter().find(|tool| tool.name == call.name);
        let plan = plan.ok_or_else(|| format!("no tool is called `{}`", call.name))?;
        conduct::perform(&plan.does)?;
        Ok(result(plan.does.answer.as_ref().unwrap_or(&Value::Null)))
    }
}

fn tool(plan: &ToolPlan) -> Tool {
    let any_object = json!({ "type": "object" });
    Tool {
        name: plan.name.clone(),
        label: None,
        description: format!("The tool {} of a test.", plan.name),
        parameters: plan.parameters.as_ref().unwrap_or(&any_object).to_string(),
        output_schema: plan.output_schema.as_ref().map(Value::to_string),
        optional: plan.optional,
    }
}

fn result(answer: &Value) -> ToolResult {
    ToolResult {
        content: answer["text"].as_str().map(|text| ContentBlock::Text(text.to_owned())).into_iter().collect(),
        details: answer.get("details").map(Value::to_string),
        terminate: answer["terminate"] == json!(true),
    }
}
