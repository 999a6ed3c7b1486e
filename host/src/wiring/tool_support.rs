//! Joins the tools crate to the loop's port for policy, checks and caps.

use std::collections::BTreeMap;

use agent::ToolSupport;
use agent::ports::ArgumentCheck;
use config::keys::{RedactSensitive, ToolProfile};
use config::settings::{ToolList, ToolRules};
use domain::message::ToolResultMessage;
use domain::tool::ToolSpec;
use serde_json::{Map, Value};
use tools::args::SchemaCache;
use tools::policy::{self, Profile, Step};
use tools::{exec_env, sanitize};

/// Window that caps are computed with when the model's is unknown, in tokens: small enough for every current model.
const UNKNOWN_WINDOW_TOKENS: u32 = 64_000;
/// Parameters that name a path in built-in and common plugin tools.
const PATH_KEYS: [&str; 7] = ["path", "file", "filePath", "file_path", "workdir", "dir", "directory"];
/// Longest hint list; hints are no inventory.
const MAX_DERIVED_PATHS: usize = 32;

/// Policy, checks and caps as configured.
pub(super) struct ConfiguredTools {
    steps: Vec<Step>,
    schemas: SchemaCache,
    mask: bool,
    result_max_chars: Option<usize>,
}

impl ConfiguredTools {
    pub(super) fn new(rules: &ToolRules, redact: RedactSensitive, result_max_chars: Option<u32>) -> Self {
        Self {
            steps: steps(rules),
            schemas: SchemaCache::default(),
            mask: redact != RedactSensitive::Off,
            result_max_chars: result_max_chars.and_then(|chars| usize::try_from(chars).ok()),
        }
    }

    /// Entries of the configured lists that mean no tool at all.
    pub(super) fn unknown_entries(&self, tools: &[ToolSpec]) -> Vec<String> {
        policy::entries_without_tools(tools, &self.steps)
    }
}

/// Profile, then global lists, then the agent's (agent-loop 14.1.1); each can only remove.
fn steps(rules: &ToolRules) -> Vec<Step> {
    let step = |list: &ToolList| Step { allow: list.allow.clone(), also_allow: list.also_allow.clone(), deny: list.deny.clone() };
    let profile = rules.profile.map(|profile| {
        let profile = match profile {
            ToolProfile::Minimal => Profile::Minimal,
            ToolProfile::Coding => Profile::Coding,
            ToolProfile::Messaging => Profile::Messaging,
            ToolProfile::Full => Profile::Full,
        };
        let also_allow = rules.global.also_allow.iter().chain(&rules.agent.also_allow).cloned().collect();
        Step::profile(profile, also_allow)
    });
    profile.into_iter().chain([step(&rules.global), step(&rules.agent)]).collect()
}

impl ToolSupport for ConfiguredTools {
    fn permitted(&self, tools: &[ToolSpec]) -> Vec<String> {
        policy::select(tools, &self.steps).into_iter().map(|tool| tool.name.clone()).collect()
    }

    fn narrow(&self, tools: &[ToolSpec], lists: &[Vec<String>]) -> Vec<String> {
        policy::intersect_allow(tools, lists)
    }

    fn check_arguments(&self, spec: &ToolSpec, arguments: &Value) -> ArgumentCheck {
        let schema = self.schemas.parameters(spec).map_err(|error| error.to_string())?;
        schema.check_args(arguments.clone()).map_err(|error| error.to_string())
    }

    fn check_details(&self, spec: &ToolSpec, details: Option<&Value>) -> Result<(), String> {
        let Some(schema) = self.schemas.output(spec).map_err(|error| error.to_string())? else { return Ok(()) };
        schema
            .check(details.unwrap_or(&Value::Null))
            .map_err(|error| format!("the tool's details do not fit its output schema: {error}"))
    }

    fn check_output_schema(&self, spec: &ToolSpec) -> Result<(), String> {
        self.schemas.output(spec).map(drop).map_err(|error| format!("the tool's output schema cannot be used: {error}"))
    }

    fn filter_env(&self, env: BTreeMap<String, String>) -> (BTreeMap<String, String>, Vec<String>) {
        let (kept, dropped) = exec_env::filter_env(env);
        (kept, dropped.into_iter().map(|key| format!("{}: {}", key.name, key.reason)).collect())
    }

    fn emitted(&self, value: &Value) -> Value {
        sanitize::emitted_value(value)
    }

    fn cap_result(&self, mut message: ToolResultMessage, context_window: Option<u32>) -> ToolResultMessage {
        let window = context_window.unwrap_or(UNKNOWN_WINDOW_TOKENS);
        let cap = sanitize::result_cap(window.into(), self.result_max_chars);
        if self.mask {
            sanitize::store_result(&mut message.content, &mut message.details, cap);
        } else {
            sanitize::cap_content(&mut message.content, cap);
            message.details = message.details.map(sanitize::bound_details);
        }
        message
    }

    fn derived_paths(&self, tool: &str, params: &Map<String, Value>) -> Vec<String> {
        let named = PATH_KEYS.iter().filter_map(|key| params.get(*key).and_then(Value::as_str)).map(str::to_owned);
        let in_command = (tool == "exec").then(|| params.get("command").and_then(Value::as_str)).flatten().unwrap_or_default();
        let words = in_command
            .split_whitespace()
            .filter(|word| word.contains('/'))
            .map(|word| word.trim_matches(|c: char| matches!(c, '"' | '\'' | ';' | ')' | '(' | '&' | '|')).to_owned());
        named.chain(words).take(MAX_DERIVED_PATHS).collect()
    }
}

#[cfg(test)]
mod tests {
    use domain::message::ContentBlock;
    use serde_json::json;

    use super::*;

    fn tools() -> ConfiguredTools {
        let rules = ToolRules {
            profile: None,
            global: ToolList { allow: None, also_allow: Vec::new(), deny: vec!["exec".to_owned()] },
            agent: ToolList { allow: None, also_allow: Vec::new(), deny: Vec::new() },
            exec_timeout: std::time::Duration::from_secs(1),
        };
        ConfiguredTools::new(&rules, RedactSensitive::Tools, None)
    }

    #[test]
    fn paths_are_taken_from_parameters_and_commands() {
        let params = json!({ "command": "cat 'a/b.txt' && rm -rf /tmp/x", "workdir": "sub" });
        let Value::Object(params) = params else { return };
        assert_eq!(tools().derived_paths("exec", &params), ["sub", "a/b.txt", "/tmp/x"]);
        assert_eq!(tools().derived_paths("other", &params), ["sub"]);
    }

    #[test]
    fn long_results_are_capped_for_an_unknown_window_too() {
        let message = ToolResultMessage {
            tool_call_id: domain::CallId::new("c"),
            tool_name: "read".to_owned(),
            content: vec![ContentBlock::text("x".repeat(100_000))],
            details: None,
            is_error: false,
            timestamp: 0,
            extra: Map::new(),
        };
        let capped = tools().cap_result(message, None);
        assert!(domain::message::text_of(&capped.content).chars().count() <= 16_100);
    }
}
