//! Answers of `before_tool_call` and `resolve_exec_env`.

use super::approval::Approval;
use super::decision;
use crate::bindings::{before_tool_call, resolve_exec_env};
use crate::json_text;
use serde_json::Value;

decision! {
    /// What a guard says about a tool call.
    ///
    /// ```
    /// use creel_plugin::{Approval, ToolDecision, json};
    ///
    /// let no = ToolDecision::block("deleting the workspace is not allowed");
    /// let other = ToolDecision::rewrite(json!({ "command": "git push" }));
    /// let ask = ToolDecision::ask(Approval::new("Force push", "It overwrites the branch on the server."));
    /// assert_eq!(ToolDecision::default(), ToolDecision::pass());
    /// # let _ = (no, other, ask);
    /// ```
    ToolDecision, before_tool_call, before_tool_call::Answer {
        params: None,
        block: false,
        block_reason: None,
        require_approval: None,
    }
}

impl ToolDecision {
    /// The call must not run; the model sees the reason as the result of the call. Lower priorities are not asked any more.
    pub fn block(reason: impl Into<String>) -> Self {
        Self::pass().with(|answer| {
            answer.block = true;
            answer.block_reason = Some(reason.into());
        })
    }

    /// The call runs with these parameters laid over the original ones, key by key; `params` is an object. Of several plugins that
    /// rewrite, the last one counts as a whole.
    pub fn rewrite(params: Value) -> Self {
        Self::pass().with(|answer| answer.params = Some(json_text::write(&params)))
    }

    /// A person decides. Of several plugins that ask, the first one counts.
    pub fn ask(approval: Approval) -> Self {
        Self::pass().and_ask(approval)
    }

    /// The same decision, and a person decides.
    pub fn and_ask(self, approval: Approval) -> Self {
        self.with(|answer| answer.require_approval = Some(approval.into()))
    }
}

decision! {
    /// Environment variables for a command.
    ///
    /// ```
    /// use creel_plugin::ExecEnv;
    ///
    /// let env = ExecEnv::pass().var("CI", "1").var("PAGER", "");
    /// assert_eq!(env.answer().map(|answer| answer.env.len()), Some(2));
    /// ```
    ExecEnv, resolve_exec_env, resolve_exec_env::Answer { env: Vec::new() }
}

impl ExecEnv {
    /// One more variable; of two with one name the later counts.
    pub fn var(self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.with(|answer| {
            answer.env.push(resolve_exec_env::EnvVar { name: name.into(), value: value.into() });
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

    use super::{Approval, ToolDecision};
    use serde_json::json;

    #[test]
    fn a_block_carries_its_reason_and_nothing_else() {
        let decision = ToolDecision::block("no");
        let answer = decision.answer().unwrap();
        assert!(answer.block);
        assert_eq!(answer.block_reason.as_deref(), Some("no"));
        assert_eq!((answer.params.as_ref(), answer.require_approval.as_ref()), (None, None));
    }

    #[test]
    fn a_rewrite_can_ask_as_well() {
        let decision = ToolDecision::rewrite(json!({ "b": 1, "a": 2 })).and_ask(Approval::new("t", "d"));
        let answer = decision.answer().unwrap();
        assert_eq!(answer.params.as_deref(), Some(r#"{"b":1,"a":2}"#));
        assert!(answer.require_approval.is_some());
        assert!(!answer.block);
    }

    #[test]
    fn no_opinion_is_no_answer() {
        assert_eq!(ToolDecision::pass().answer(), None);
    }
}
