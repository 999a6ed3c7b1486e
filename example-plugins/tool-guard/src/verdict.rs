//! From rules that apply to one decision.

use crate::rule::{Action, Rule};
use creel_plugin::prelude::*;
use creel_plugin::serde_json::{Map, Value};
use creel_plugin::{ApprovalChoice, ApprovalSeverity};

/// Longest text of a call that a person is shown; the host cuts a description at 512 characters.
const SHOWN_CHARS: usize = 300;

/// What the rules say about a call.
pub(crate) struct Verdict {
    /// Reason of the rule that blocks.
    block: Option<String>,
    /// Reason and gravity of the first rule that asks.
    ask: Option<(String, ApprovalSeverity)>,
    /// Parameters that were rewritten.
    changes: Map<String, Value>,
    /// All parameters as they would be used.
    params: Map<String, Value>,
}

/// Goes through the rules in order. `allow` and `block` end the list; a rewrite changes what later rules see; of several questions
/// the first one counts, and a block behind it still blocks.
pub(crate) fn of<'a>(rules: impl Iterator<Item = &'a Rule>, params: Map<String, Value>) -> Verdict {
    let mut verdict = Verdict { block: None, ask: None, changes: Map::new(), params };
    for rule in rules {
        if !rule.applies(&verdict.params) {
            continue;
        }
        match &rule.action {
            Action::Allow => break,
            Action::Block => {
                verdict.block = Some(rule.reason.clone());
                break;
            }
            Action::Ask(severity) => {
                verdict.ask.get_or_insert_with(|| (rule.reason.clone(), *severity));
            }
            Action::Rewrite(replacement) => verdict.rewrite(rule, replacement),
        }
    }
    verdict
}

impl Verdict {
    fn rewrite(&mut self, rule: &Rule, replacement: &str) {
        if let Some((param, text)) = rule.rewritten(replacement, &self.params) {
            let param = param.to_owned();
            self.changes.insert(param.clone(), Value::from(text.clone()));
            self.params.insert(param, Value::from(text));
        }
    }

    /// The decision for the host. `early_check`: a rewrite would be refused, so a call that needs one is blocked.
    pub(crate) fn into_decision(self, tool: &str, early_check: bool) -> ToolDecision {
        if let Some(reason) = self.block {
            return ToolDecision::block(or_default(reason, "this call is not allowed here"));
        }
        if early_check && !self.changes.is_empty() {
            return ToolDecision::block("this call must be changed first and cannot be rewritten here");
        }
        let question = self.ask.map(|(reason, severity)| {
            let reason = or_default(reason, "a rule asks for approval of this call");
            Approval::new(format!("Run `{tool}`?"), format!("{reason}\n\n{}", shown(&self.params)))
                .severity(severity)
                .offer(&[ApprovalChoice::AllowOnce, ApprovalChoice::Deny])
        });
        let decision =
            if self.changes.is_empty() { ToolDecision::pass() } else { ToolDecision::rewrite(Value::Object(self.changes)) };
        match question {
            Some(question) => decision.and_ask(question),
            None => decision,
        }
    }
}

fn or_default(text: String, default: &str) -> String {
    if text.is_empty() { default.to_owned() } else { text }
}

/// What a person needs to see of a call: the command if there is one, all parameters if not.
fn shown(params: &Map<String, Value>) -> String {
    let text = match params.get("command").and_then(Value::as_str) {
        Some(command) => command.to_owned(),
        None => Value::Object(params.clone()).to_string(),
    };
    match text.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
