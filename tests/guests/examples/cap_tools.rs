//! Offers the tool `relay`, which calls the tool that its parameters name (`tool`, `params`) and answers with a JSON object of what came of
//! it. Its own handler blocks every call of another tool that it hears of.

use creel_plugin::prelude::*;
use creel_plugin::tools;
use serde_json::{Value, json};

struct CallsTools;

#[plugin]
impl Plugin for CallsTools {
    fn list_tools(_: Option<ToolScope>) -> Result<Vec<Tool>> {
        Ok(vec![Tool::new("relay", "Calls another tool."), Tool::new("relay_too", "Calls another tool, too.")])
    }

    fn execute_tool(call: ToolCall, _: ToolContext) -> Result<ToolResult> {
        let asked: Value = call.params()?;
        let name = asked["tool"].as_str().unwrap_or_default();
        let outcome = match tools::invoke(name, &asked["params"]) {
            Ok(invoked) => json!({
                "outcome": format!("{:?}", invoked.outcome),
                "text": invoked.text(),
                "details": invoked.result.details,
            }),
            Err(error) => json!({ "error": format!("{error:?}") }),
        };
        Ok(ToolResult::text(json!({ "names": tools::names(), "outcome": outcome }).to_string()))
    }

    fn before_tool_call(_: &Call, event: BeforeToolCallEvent, _: ToolContext) -> Result<ToolDecision> {
        if event.tool_name.starts_with("relay") {
            Ok(ToolDecision::pass())
        } else {
            Ok(ToolDecision::block("by its own handler"))
        }
    }

    fn session_start(_: &Call, _: SessionStartEvent, _: SessionContext) -> Result<()> {
        log::info!("before any run: {:?}", tools::invoke("probe", &json!({})));
        Ok(())
    }
}
