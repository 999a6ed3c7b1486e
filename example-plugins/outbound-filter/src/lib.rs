//! Creel plugin `outbound-filter`: rewrites and stops outgoing texts by word, and counts deliveries.
//!
//! Never keeps or logs a text.

mod words;

use creel_plugin::prelude::*;
use serde::Deserialize;

/// What a rule without a name is called.
const UNNAMED_RULE: &str = "forbidden word";

#[derive(Deserialize, Default)]
#[serde(default)]
struct Settings {
    replace: Vec<Replacement>,
    forbid: Vec<Forbidden>,
}

#[derive(Deserialize)]
struct Replacement {
    word: String,
    with: String,
}

#[derive(Deserialize)]
struct Forbidden {
    word: String,
    rule: Option<String>,
}

struct OutboundFilter;

#[plugin]
impl Plugin for OutboundFilter {
    fn message_sending(_: &Call, event: MessageSendingEvent, _: MessageContext) -> Result<SendDecision> {
        let settings = config::<Settings>()?;
        if let Some(forbidden) = settings.forbid.iter().find(|forbidden| words::contains(&event.content, &forbidden.word)) {
            let rule = forbidden.rule.as_deref().unwrap_or(UNNAMED_RULE);
            return Ok(SendDecision::cancel(format!("stopped by the rule `{rule}`")).metadata(&json!({ "rule": rule })));
        }
        let rewritten = settings.replace.iter().fold(None, |text: Option<String>, rule| {
            let current = text.as_deref().unwrap_or(&event.content);
            words::replaced(current, &rule.word, &rule.with).or(text)
        });
        Ok(rewritten.map_or_else(SendDecision::pass, SendDecision::rewrite))
    }

    fn message_sent(_: &Call, event: MessageSentEvent, ctx: MessageContext) -> Result<()> {
        let outcome = if event.success { "sent" } else { "failed" };
        kv::increment(&format!("{outcome}/{}", ctx.channel_id), 1)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

    use super::OutboundFilter;
    use creel_plugin::HostError;
    use creel_plugin::prelude::*;
    use creel_plugin::serde_json::{Value, from_str};
    use creel_plugin::testing::{Host, context, event};

    fn sending(config: Value, content: &str) -> SendDecision {
        let event = event::message_sending(content);
        Host::new().config(config).run(|| OutboundFilter::message_sending(&Call::default(), event, context::message())).unwrap()
    }

    fn sent(host: &Host, success: bool) -> Result<()> {
        let event = event::message_sent("hello", success);
        host.run(|| OutboundFilter::message_sent(&Call::default(), event, context::message()))
    }

    #[test]
    fn words_are_replaced_one_rule_after_the_other() {
        let config = json!({ "replace": [
            { "word": "alpha", "with": "beta" },
            { "word": "beta", "with": "gamma" },
        ] });
        assert_eq!(sending(config, "Alpha, beta."), SendDecision::rewrite("gamma, gamma."));
    }

    #[test]
    fn a_text_without_such_words_is_left_alone() {
        let config = json!({ "replace": [{ "word": "alpha", "with": "x" }] });
        assert_eq!(sending(config, "alphabet"), SendDecision::pass());
        assert_eq!(sending(json!({}), "anything"), SendDecision::pass());
    }

    #[test]
    fn a_word_may_be_left_out_altogether() {
        let config = json!({ "replace": [{ "word": "draft", "with": "" }] });
        assert_eq!(sending(config, "draft"), SendDecision::rewrite(""));
    }

    #[test]
    fn a_forbidden_word_keeps_the_text_back_without_telling_it() {
        let config = json!({ "forbid": [{ "word": "acme", "rule": "customers" }] });
        let decision = sending(config, "We told ACME so.");
        let answer = decision.answer().unwrap();
        assert!(answer.cancel);
        assert_eq!(answer.cancel_reason.as_deref(), Some("stopped by the rule `customers`"));
        assert_eq!(answer.metadata.as_deref(), Some(r#"{"rule":"customers"}"#));
    }

    #[test]
    fn a_forbidden_word_counts_even_if_it_would_be_replaced() {
        let config = json!({
            "replace": [{ "word": "acme", "with": "a customer" }],
            "forbid": [{ "word": "acme" }],
        });
        assert!(sending(config, "acme").answer().unwrap().cancel);
    }

    #[test]
    fn deliveries_are_counted_by_channel_and_outcome() {
        let host = Host::new();
        for success in [true, true, false] {
            sent(&host, success).unwrap();
        }
        assert_eq!(host.stored("sent/terminal"), Some(2));
        assert_eq!(host.stored("failed/terminal"), Some(1));
    }

    #[test]
    fn without_the_grant_counting_is_an_error() {
        let error = sent(&Host::new().without_kv(), true).unwrap_err();
        let denied = HostError::Denied("the test host was built without_kv".to_owned());
        assert_eq!(error.to_string(), denied.to_string());
    }

    #[test]
    fn the_manifest_names_this_package() {
        let manifest: Value = from_str(include_str!("../creel.plugin.json")).unwrap();
        assert_eq!(manifest["id"], env!("CARGO_PKG_NAME"));
        assert_eq!(manifest["component"], concat!(env!("CARGO_PKG_NAME"), ".wasm"));
    }
}
