//! Offers the tool `fetch`, which sends the requests that its parameters hold (`requests`: objects with `url` and what else they need), one
//! after the other, and answers with a JSON list of what came of each. With `secret` it puts the placeholder of that secret into a header.
//! With `trap` it traps after them.

use std::collections::BTreeMap;
use std::time::Duration;

use creel_plugin::prelude::*;
use creel_plugin::{http, secrets};
use serde_json::{Value, json};

struct Fetches;

#[plugin]
impl Plugin for Fetches {
    fn list_tools(_: Option<ToolScope>) -> Result<Vec<Tool>> {
        Ok(vec![Tool::new("fetch", "Sends requests.")])
    }

    fn execute_tool(call: ToolCall, _: ToolContext) -> Result<ToolResult> {
        let asked: Value = call.params()?;
        let found: Vec<Value> = asked["requests"].as_array().into_iter().flatten().map(outcome).collect();
        if asked["trap"] == true {
            log::info!("sent, and now it traps");
            std::process::abort();
        }
        Ok(ToolResult::text(json!({ "found": found, "secrets": secrets::names() }).to_string()))
    }
}

fn outcome(asked: &Value) -> Value {
    let mut request = http::request(asked["method"].as_str().unwrap_or("GET"), asked["url"].as_str().unwrap_or_default());
    if let Some(name) = asked["secret"].as_str() {
        match secrets::placeholder(name) {
            Ok(placeholder) => request = request.bearer(&placeholder),
            Err(error) => return json!({ "error": format!("{error:?}") }),
        }
    }
    for (name, value) in asked["headers"].as_object().into_iter().flatten() {
        request = request.header(name, value.as_str().unwrap_or_default());
    }
    if let Some(length) = asked["bodyBytes"].as_u64() {
        request = request.body(vec![b'x'; usize::try_from(length).unwrap_or_default()]);
    }
    if let Some(time) = asked["timeoutMs"].as_u64() {
        request = request.timeout(Duration::from_millis(time));
    }
    let seen = request.header_value("authorization").map(str::to_owned);
    match request.send() {
        Ok(response) => json!({
            "status": response.status,
            "headers": response.headers.iter().cloned().collect::<BTreeMap<_, _>>(),
            "body": String::from_utf8_lossy(&response.body),
            "authorization": seen,
        }),
        Err(error) => json!({ "error": format!("{error:?}") }),
    }
}
