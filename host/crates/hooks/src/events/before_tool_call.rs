//! `before_tool_call` (plugin-hooks 4.9): a block is sticky and terminal; the last rewrite replaces earlier ones and freezes with the
//! first approval request.

use domain::approval::ApprovalRequest;
use domain::{CallId, JsonText, PluginId};
use serde_json::{Map, Value};

use crate::catalogue::{AfterToolCall, BeforeToolCall};
use crate::context::ToolContext;
use crate::point::{Fold, Observe, Who};
use crate::registry::HandlerOptions;

/// The call. Every handler sees the same event, whatever the others answered.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// Canonical id of the tool.
    pub tool_name: String,
    /// Parameters, a JSON object.
    pub params: JsonText,
    /// Id of the call.
    pub tool_call_id: CallId,
    /// Kind of a tool that takes a program, by its host name.
    pub tool_kind: Option<String>,
    /// Language of that program.
    pub tool_input_kind: Option<String>,
    /// Paths that the parameters seem to name; hints.
    pub derived_paths: Vec<String>,
    /// Why the host itself has already refused the call. The contract has it for loop detection (agent-loop 14.6); until a host detects
    /// loops it is absent.
    pub vetoed: Option<String>,
}

/// The decision of one handler.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Answer {
    /// Laid over the original parameters key by key.
    pub params: Option<Map<String, Value>>,
    /// The call must not run.
    pub block: bool,
    /// Text of the blocked result.
    pub block_reason: Option<String>,
    /// Ask a person first.
    pub require_approval: Option<ApprovalRequest>,
}

/// The merged decision.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Decision {
    /// Last rewrite, frozen once an approval was asked for.
    pub params: Option<Map<String, Value>>,
    /// Who blocked, if anybody.
    pub blocked_by: Option<PluginId>,
    /// Last reason given.
    pub block_reason: Option<String>,
    /// First approval request.
    pub approval: Option<Asked>,
}

/// An approval request and who made it.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked {
    /// The plugin; stamped by the host.
    pub plugin: PluginId,
    /// Name of the handler, which hears of the end.
    pub handler: String,
    /// The request.
    pub request: ApprovalRequest,
}

impl Fold for BeforeToolCall {
    type Decision = Decision;

    fn selects(event: &Event, _context: &ToolContext, options: &HandlerOptions) -> bool {
        options.matches_tool(&event.tool_name)
    }

    fn fold(so_far: Decision, answer: Answer, who: Who<'_>) -> Decision {
        let frozen = so_far.approval.is_some();
        let asked = |request| Asked { plugin: who.plugin.clone(), handler: who.handler.to_owned(), request };
        Decision {
            params: if frozen { so_far.params } else { answer.params.or(so_far.params) },
            blocked_by: so_far.blocked_by.or_else(|| answer.block.then(|| who.plugin.clone())),
            block_reason: answer.block_reason.or(so_far.block_reason),
            approval: so_far.approval.or_else(|| answer.require_approval.map(asked)),
        }
    }

    fn is_terminal(decision: &Decision) -> bool {
        decision.blocked_by.is_some()
    }

    fn describe(answer: &Answer) -> Option<String> {
        if answer.block {
            return Some(format!("block “{}”", super::excerpt(answer.block_reason.as_deref().unwrap_or_default())));
        }
        let rewrite = answer.params.as_ref().map(|params| {
            let keys: Vec<&str> = params.keys().map(String::as_str).collect();
            format!("rewrite {}", keys.join(", "))
        });
        let ask = answer.require_approval.as_ref().map(|request| format!("ask “{}”", super::excerpt(&request.title)));
        match (rewrite, ask) {
            (Some(rewrite), Some(ask)) => Some(format!("{rewrite}, {ask}")),
            (rewrite, ask) => rewrite.or(ask),
        }
    }
}

impl Observe for AfterToolCall {
    fn selects(event: &super::observed::AfterToolCall, _context: &ToolContext, options: &HandlerOptions) -> bool {
        options.matches_tool(&event.tool_name)
    }
}
