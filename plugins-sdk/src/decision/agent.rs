//! Answers of the hooks around a run: which model, whether to run, whether to reply, whether to accept.

use super::decision;
use crate::bindings::{before_agent_finalize, before_agent_reply, before_agent_run, before_model_resolve};
use crate::document::Payload;
use crate::json_text;
use serde_json::Value;

decision! {
    /// Provider and model of a run.
    ///
    /// ```
    /// use creel_plugin::ModelOverride;
    ///
    /// let choice = ModelOverride::pass().provider("openai").model("gpt-5-mini");
    /// # let _ = choice;
    /// ```
    ModelOverride, before_model_resolve, before_model_resolve::Answer {
        provider_override: None,
        model_override: None,
    }
}

impl ModelOverride {
    /// Use this provider, by its id.
    pub fn provider(self, id: impl Into<String>) -> Self {
        self.with(|answer| answer.provider_override = Some(id.into()))
    }

    /// Use this model, by its id; alone it keeps the provider.
    pub fn model(self, id: impl Into<String>) -> Self {
        self.with(|answer| answer.model_override = Some(id.into()))
    }
}

decision! {
    /// Whether this plugin answers the turn instead of the model.
    ///
    /// ```
    /// use creel_plugin::ReplyDecision;
    ///
    /// let reply = ReplyDecision::reply("We open at nine.");
    /// let silent = ReplyDecision::silence().because("an automatic message");
    /// # let _ = (reply, silent);
    /// ```
    ReplyDecision, before_agent_reply, before_agent_reply::Answer {
        handled: true,
        reply: None,
        reason: None,
    }
}

impl ReplyDecision {
    /// Answer with a text.
    pub fn reply(text: impl Into<String>) -> Self {
        Self::reply_with(&Payload::text(text))
    }

    /// Answer with a whole payload.
    pub fn reply_with(payload: &Payload) -> Self {
        Self::silence().with(|answer| answer.reply = Some(payload.to_json()))
    }

    /// Answer nothing: the turn stays silent.
    pub fn silence() -> Self {
        Self::pass().with(|_| ())
    }

    /// Why, for the log. Without a claim it says nothing.
    pub fn because(mut self, reason: impl Into<String>) -> Self {
        if let Some(answer) = &mut self.0 {
            answer.reason = Some(reason.into());
        }
        self
    }
}

/// Whether a run may go to the model.
///
/// ```
/// use creel_plugin::RunDecision;
///
/// let no = RunDecision::block("the sender is not on the list")
///     .message("Please ask your administrator for access.")
///     .category("access");
/// # let _ = no;
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
#[must_use = "a decision counts when the handler returns it"]
pub struct RunDecision(Option<before_agent_run::Block>);

impl RunDecision {
    /// No objection.
    pub const fn pass() -> Self {
        Self(None)
    }

    /// The model is not called and the user's text is not kept. The reason is for the operator, shown nowhere, and not blank.
    pub fn block(reason: impl Into<String>) -> Self {
        Self(Some(before_agent_run::Block { reason: reason.into(), message: None, category: None, metadata: None }))
    }

    /// What the transcript holds and the user sees instead; not blank.
    pub fn message(self, text: impl Into<String>) -> Self {
        self.with(|block| block.message = Some(text.into()))
    }

    /// A short word for statistics; not blank.
    pub fn category(self, word: impl Into<String>) -> Self {
        self.with(|block| block.category = Some(word.into()))
    }

    /// A JSON object to keep with it.
    pub fn metadata(self, object: &Value) -> Self {
        self.with(|block| block.metadata = Some(json_text::write(object)))
    }

    /// The refusal as the host gets it; for tests. None: no objection.
    #[must_use]
    pub fn answer(&self) -> Option<&before_agent_run::Block> {
        self.0.as_ref()
    }

    fn with(mut self, say: impl FnOnce(&mut before_agent_run::Block)) -> Self {
        if let Some(block) = &mut self.0 {
            say(block);
        }
        self
    }
}

impl From<RunDecision> for Option<before_agent_run::Answer> {
    fn from(decision: RunDecision) -> Self {
        decision.0.map(before_agent_run::Answer::Block)
    }
}

decision! {
    /// Whether a final answer is accepted.
    ///
    /// ```
    /// use creel_plugin::FinalizeDecision;
    ///
    /// let again = FinalizeDecision::revise("the tests were not run").retry("Run the tests and report the result.", 2);
    /// # let _ = again;
    /// ```
    FinalizeDecision, before_agent_finalize, before_agent_finalize::Answer {
        action: None,
        reason: None,
        retry: None,
    }
}

impl FinalizeDecision {
    /// Ask for one more pass; the model reads the reason.
    pub fn revise(reason: impl Into<String>) -> Self {
        Self::decided(before_agent_finalize::Action::Revise, reason)
    }

    /// Accept now, whatever other plugins say.
    pub fn accept(reason: impl Into<String>) -> Self {
        Self::decided(before_agent_finalize::Action::Finalize, reason)
    }

    /// What the model should do in that pass, and how often at most in one run.
    pub fn retry(self, instruction: impl Into<String>, max_attempts: u32) -> Self {
        self.with(|answer| {
            answer.retry = Some(before_agent_finalize::Retry {
                instruction: instruction.into(),
                idempotency_key: None,
                max_attempts: Some(max_attempts),
            });
        })
    }

    /// Count the attempts of the retry under this key instead of under its instruction.
    pub fn idempotency_key(mut self, key: impl Into<String>) -> Self {
        if let Some(retry) = self.0.as_mut().and_then(|answer| answer.retry.as_mut()) {
            retry.idempotency_key = Some(key.into());
        }
        self
    }

    fn decided(action: before_agent_finalize::Action, reason: impl Into<String>) -> Self {
        Self::pass().with(|answer| {
            answer.action = Some(action);
            answer.reason = Some(reason.into());
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

    use super::{FinalizeDecision, ReplyDecision, RunDecision, before_agent_run};
    use serde_json::json;

    #[test]
    fn silence_claims_without_a_reply() {
        let decision = ReplyDecision::silence().because("noise");
        let answer = decision.answer().unwrap();
        assert!(answer.handled);
        assert_eq!(answer.reply, None);
        assert_eq!(answer.reason.as_deref(), Some("noise"));
    }

    #[test]
    fn a_reason_alone_claims_nothing() {
        assert_eq!(ReplyDecision::pass().because("x"), ReplyDecision::pass());
        assert_eq!(RunDecision::pass().message("x"), RunDecision::pass());
    }

    #[test]
    fn a_refusal_carries_all_that_was_said() {
        let decision = RunDecision::block("r").message("m").category("c").metadata(&json!({ "k": 1 }));
        let Some(before_agent_run::Answer::Block(block)) = decision.into() else {
            panic!("expected a block");
        };
        assert_eq!(block.reason, "r");
        assert_eq!(block.message.as_deref(), Some("m"));
        assert_eq!(block.category.as_deref(), Some("c"));
        assert_eq!(block.metadata.as_deref(), Some(r#"{"k":1}"#));
    }

    #[test]
    fn a_retry_is_counted_under_its_key() {
        let decision = FinalizeDecision::revise("r").retry("do it", 2).idempotency_key("k");
        let retry = decision.answer().unwrap().retry.clone().unwrap();
        assert_eq!(retry.max_attempts, Some(2));
        assert_eq!(retry.idempotency_key.as_deref(), Some("k"));
    }
}
