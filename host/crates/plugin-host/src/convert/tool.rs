//! Hooks around a tool call: `before-tool-call`, `approval-resolved`, `after-tool-call`, `resolve-exec-env`, `tool-result-persist`.

use domain::approval::ApprovalOutcome;
use domain::tool::ToolOutcome;
use hooks::Fault;
use hooks::events::observed::{AfterToolCall, ApprovalResolved};
use hooks::events::{before_tool_call as before, resolve_exec_env as exec_env, tool_result_persist as persist};

use super::{Arena, FromAnswer, ToRecord, approval, json};
use crate::bindings::creel::plugin::types as wit;
use crate::bindings::exports::creel::plugin::{
    after_tool_call, approval_resolved, before_tool_call as wit_before, resolve_exec_env as wit_exec_env,
    tool_result_persist as wit_persist,
};

impl<'a> ToRecord<'a> for before::Event {
    type Record = wit_before::Event<'a>;

    fn to_record(&'a self, arena: &'a Arena) -> Self::Record {
        wit_before::Event {
            tool_name: &self.tool_name,
            params: self.params.as_str(),
            tool_call_id: self.tool_call_id.as_str(),
            tool_kind: self.tool_kind.as_deref().map(kind),
            tool_input_kind: self.tool_input_kind.as_deref().map(input_kind),
            derived_paths: arena.texts(&self.derived_paths),
            vetoed: self.vetoed.as_deref(),
        }
    }
}

fn kind(name: &str) -> wit::ToolKind<'_> {
    match name {
        "code_mode_exec" => wit::ToolKind::CodeModeExec,
        other => wit::ToolKind::Other(other),
    }
}

fn input_kind(name: &str) -> wit::ToolInputKind<'_> {
    match name {
        "javascript" => wit::ToolInputKind::Javascript,
        "typescript" => wit::ToolInputKind::Typescript,
        other => wit::ToolInputKind::Other(other),
    }
}

impl FromAnswer for before::Answer {
    type Wit = wit_before::Answer;

    fn from_answer(answer: wit_before::Answer) -> Result<Self, Fault> {
        Ok(Self {
            params: json::optional("params", answer.params, json::object)?,
            block: answer.block,
            block_reason: answer.block_reason,
            require_approval: answer.require_approval.map(approval::from_wit).transpose()?,
        })
    }
}

impl<'a> ToRecord<'a> for ApprovalResolved {
    type Record = approval_resolved::Event<'a>;

    fn to_record(&'a self, _arena: &'a Arena) -> Self::Record {
        approval_resolved::Event {
            note: &self.note,
            outcome: match self.outcome {
                ApprovalOutcome::AllowOnce => wit::ApprovalOutcome::AllowOnce,
                ApprovalOutcome::AllowAlways => wit::ApprovalOutcome::AllowAlways,
                ApprovalOutcome::Deny => wit::ApprovalOutcome::Deny,
                ApprovalOutcome::Timeout => wit::ApprovalOutcome::Timeout,
                ApprovalOutcome::Cancelled => wit::ApprovalOutcome::Cancelled,
            },
            tool_name: &self.tool_name,
            tool_call_id: self.tool_call_id.as_str(),
        }
    }
}

impl<'a> ToRecord<'a> for AfterToolCall {
    type Record = after_tool_call::Event<'a>;

    fn to_record(&'a self, _arena: &'a Arena) -> Self::Record {
        after_tool_call::Event {
            tool_name: &self.tool_name,
            params: self.params.as_str(),
            tool_call_id: self.tool_call_id.as_str(),
            tool_kind: self.tool_kind.as_deref().map(kind),
            tool_input_kind: self.tool_input_kind.as_deref().map(input_kind),
            outcome: match self.outcome {
                ToolOutcome::Ok => wit::ToolOutcome::Ok,
                ToolOutcome::Failed => wit::ToolOutcome::Failed,
                ToolOutcome::Blocked => wit::ToolOutcome::Blocked,
                ToolOutcome::TimedOut => wit::ToolOutcome::TimedOut,
                ToolOutcome::Aborted => wit::ToolOutcome::Aborted,
            },
            result: self.result.as_ref().map(|json| json.as_str()),
            error: self.error.as_deref(),
            duration_ms: self.duration_ms,
        }
    }
}

impl<'a> ToRecord<'a> for exec_env::Event {
    type Record = wit_exec_env::Event<'a>;

    fn to_record(&'a self, _arena: &'a Arena) -> Self::Record {
        wit_exec_env::Event {
            tool_name: &self.tool_name,
            host: match self.host {
                exec_env::ExecHost::Gateway => wit_exec_env::ExecHost::Gateway,
                exec_env::ExecHost::Sandbox => wit_exec_env::ExecHost::Sandbox,
                exec_env::ExecHost::Node => wit_exec_env::ExecHost::Node,
            },
        }
    }
}

impl FromAnswer for exec_env::Answer {
    type Wit = wit_exec_env::Answer;

    fn from_answer(answer: wit_exec_env::Answer) -> Result<Self, Fault> {
        Ok(Self { env: answer.env.into_iter().map(|var| (var.name, var.value)).collect() })
    }
}

impl<'a> ToRecord<'a> for persist::Event {
    type Record = wit_persist::Event<'a>;

    fn to_record(&'a self, arena: &'a Arena) -> Self::Record {
        wit_persist::Event {
            message: json::render_tool_result(arena, &self.message),
            tool_name: &self.tool_name,
            tool_call_id: self.tool_call_id.as_str(),
            is_synthetic: self.is_synthetic,
        }
    }
}

impl FromAnswer for persist::Answer {
    type Wit = wit_persist::Answer;

    fn from_answer(answer: wit_persist::Answer) -> Result<Self, Fault> {
        Ok(Self { message: json::message("message", &answer.message)? })
    }

    fn is_silent(answer: &wit_persist::Answer) -> bool {
        json::is_null(&answer.message)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use domain::{CallId, JsonText};

    use super::*;

    #[test]
    fn names_that_the_contract_knows_become_cases() {
        let event = before::Event {
            tool_name: "exec".to_owned(),
            params: JsonText::empty_object(),
            tool_call_id: CallId::new("c"),
            tool_kind: Some("code_mode_exec".to_owned()),
            tool_input_kind: Some("python".to_owned()),
            derived_paths: vec!["a".to_owned()],
            vetoed: None,
        };
        let arena = Arena::new();
        let record = event.to_record(&arena);
        assert!(matches!(record.tool_kind, Some(wit::ToolKind::CodeModeExec)));
        assert!(matches!(record.tool_input_kind, Some(wit::ToolInputKind::Other("python"))));
        assert_eq!((record.params, record.derived_paths), ("{}", ["a"].as_slice()));
    }

    #[test]
    fn a_rewrite_is_an_object() {
        let answer = |params: &str| {
            before::Answer::from_answer(wit_before::Answer {
                params: Some(params.to_owned()),
                block: false,
                block_reason: None,
                require_approval: None,
            })
        };
        assert_eq!(answer(r#"{"command":"ls"}"#).unwrap().params.unwrap()["command"], "ls");
        assert_eq!(answer("null").unwrap(), before::Answer::default());
        assert_eq!(answer("7").unwrap_err().text(), "params: expected a JSON object, found a number");
    }
}
