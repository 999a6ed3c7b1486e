//! Tools that a plugin registers: what its list says, and the call of one.

use domain::PluginId;
use domain::tool::{Invocation, ToolOwner, ToolScope, ToolSpec};
use hooks::Fault;

use super::{Arena, json};
use crate::bindings::creel::plugin::types::ToolContext;
use crate::bindings::exports::creel::plugin::tools as wit;

/// Longest tool name: what providers take.
const MAX_NAME: usize = 64;

/// Takes one entry of the list.
///
/// # Errors
/// A fault that names the field, when the entry is not a tool (plugin-hooks 8).
pub(crate) fn spec(tool: wit::Tool, owner: &PluginId) -> Result<ToolSpec, Fault> {
    check_name(&tool.name)?;
    let parameters = json::schema("parameters", &tool.parameters)?;
    match parameters.get("type").and_then(serde_json::Value::as_str) {
        Some("object") => {}
        _ => return Err(json::malformed("parameters", "the schema must have `\"type\": \"object\"`")),
    }
    Ok(ToolSpec {
        label: tool.label.filter(|label| !label.trim().is_empty()).unwrap_or_else(|| tool.name.clone()),
        name: tool.name,
        description: tool.description,
        parameters,
        output_schema: json::optional("output-schema", tool.output_schema, json::value)?,
        optional: tool.optional,
        owner: ToolOwner::Plugin(owner.clone()),
        sequential: false,
    })
}

fn check_name(name: &str) -> Result<(), Fault> {
    let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    if name.is_empty() || name.len() > MAX_NAME || !plain {
        let problem = format!("`{name}` is no tool name; use 1 to {MAX_NAME} letters, digits, `_` or `-`");
        return Err(json::malformed("name", problem));
    }
    Ok(())
}

/// The call of a tool.
pub(crate) fn call<'a>(name: &'a str, call: &'a Invocation<'_>, arena: &'a Arena) -> wit::Call<'a> {
    wit::Call { name, tool_call_id: call.call_id.as_str(), params: arena.render(call.params) }
}

/// For whom a tool runs.
pub(crate) fn context(scope: &ToolScope) -> ToolContext<'_> {
    ToolContext {
        agent_id: scope.agent_id.as_str(),
        session_key: scope.session_key.as_str(),
        session_id: scope.session_id.as_str(),
        run_id: scope.run_id.as_str(),
        channel_id: None,
        requester: None,
        policy_phase: None,
        extra: &[],
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn tool(name: &str, parameters: &str) -> Result<ToolSpec, Fault> {
        let tool = wit::Tool {
            name: name.to_owned(),
            label: None,
            description: "d".to_owned(),
            parameters: parameters.to_owned(),
            output_schema: None,
            optional: true,
        };
        spec(tool, &PluginId::new("p"))
    }

    #[test]
    fn an_entry_is_taken_whole_or_not_at_all() {
        let spec = tool("convert", r#"{"type":"object"}"#).unwrap();
        assert_eq!((spec.label.as_str(), spec.optional), ("convert", true));
        assert_eq!(spec.owner, ToolOwner::Plugin(PluginId::new("p")));
        for (name, parameters, problem) in [
            ("", r#"{"type":"object"}"#, "name: ``"),
            ("a b", r#"{"type":"object"}"#, "name: `a b`"),
            ("x", "[]", "parameters: expected a JSON Schema object, found an array"),
            ("x", "{}", "parameters: the schema must have"),
            ("x", "{", "parameters: not valid JSON"),
        ] {
            let fault = tool(name, parameters).unwrap_err();
            assert!(fault.text().starts_with(problem), "{fault}");
        }
    }
}
