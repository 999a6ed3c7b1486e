//! Offers the tool `recall`, which reads sessions as its parameters say (`list`, `get` or `tail`) and answers with JSON.

use creel_plugin::HostError;
use creel_plugin::prelude::*;
use creel_plugin::sessions::{self, Filter};
use serde_json::{Value, json};

struct Recalls;

#[plugin]
impl Plugin for Recalls {
    fn list_tools(_: Option<ToolScope>) -> Result<Vec<Tool>> {
        Ok(vec![Tool::new("recall", "Reads sessions.")])
    }

    fn execute_tool(call: ToolCall, _: ToolContext) -> Result<ToolResult> {
        let asked: Value = call.params()?;
        let found = recall(&asked).unwrap_or_else(|error| json!({ "error": format!("{error:?}") }));
        Ok(ToolResult::text(found.to_string()))
    }
}

fn recall(asked: &Value) -> Result<Value, HostError> {
    let text = |key: &str| asked[key].as_str().map(str::to_owned);
    let number = |key: &str| asked[key].as_u64().and_then(|number| u32::try_from(number).ok()).unwrap_or(1000);
    if let Some(key) = text("tail") {
        let tail = sessions::read_tail(&key, number("messages"), number("bytes"))?;
        let texts: Vec<String> = tail.messages.iter().map(creel_plugin::Message::text).collect();
        return Ok(json!({ "texts": texts, "total": tail.total_messages, "truncated": tail.truncated }));
    }
    if let Some(key) = text("get") {
        let session = sessions::get(&key)?;
        return Ok(session.map_or(Value::Null, |session| json!({ "id": session.session_id, "entry": session.entry })));
    }
    let filter = Filter { agent_id: text("agent"), key_prefix: text("prefix"), updated_since: None };
    let keys = sessions::list(&filter)?.into_iter().map(|session| Value::from(session.session_key));
    Ok(Value::from(keys.collect::<Vec<_>>()))
}
