//! Creel plugin `auto-responder`: answers or silences turns by keyword, without a model call.
//!
//! Claims a turn only when a rule matches; everything else is the model's.

use creel_plugin::prelude::*;
use serde::Deserialize;

#[derive(Deserialize, Default)]
#[serde(default)]
struct Settings {
    rules: Vec<Rule>,
}

#[derive(Deserialize)]
struct Rule {
    keywords: Vec<String>,
    #[serde(default, rename = "match")]
    mode: Match,
    reply: Option<String>,
}

#[derive(Deserialize, Clone, Copy, Default)]
#[serde(rename_all = "lowercase")]
enum Match {
    #[default]
    Any,
    All,
    Exact,
}

struct AutoResponder;

#[plugin]
impl Plugin for AutoResponder {
    fn before_agent_reply(_: &Call, event: BeforeAgentReplyEvent, _: AgentContext) -> Result<ReplyDecision> {
        let settings = config::<Settings>()?;
        let text = event.cleaned_body.to_lowercase();
        let mut rules = settings.rules.iter().enumerate();
        let Some((index, rule)) = rules.find(|(_, rule)| rule.matches(&text)) else {
            return Ok(ReplyDecision::pass());
        };
        let decision = match &rule.reply {
            Some(reply) => ReplyDecision::reply(reply),
            None => ReplyDecision::silence(),
        };
        Ok(decision.because(format!("rule {}", index + 1)))
    }
}

impl Rule {
    /// Whether the rule matches a text in lower case.
    fn matches(&self, text: &str) -> bool {
        let mut keywords = self.keywords.iter().map(|word| word.to_lowercase());
        match self.mode {
            Match::Any => keywords.any(|word| text.contains(&word)),
            Match::All => keywords.all(|word| text.contains(&word)),
            Match::Exact => keywords.any(|word| text.trim() == word.trim()),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

    use super::AutoResponder;
    use creel_plugin::prelude::*;
    use creel_plugin::serde_json::{Value, from_str};
    use creel_plugin::testing::{Host, context, event};

    fn answer(rules: Value, body: &str) -> ReplyDecision {
        let event = event::before_agent_reply(body);
        Host::new()
            .config(json!({ "rules": rules }))
            .run(|| AutoResponder::before_agent_reply(&Call::default(), event, context::agent()))
            .unwrap()
    }

    #[test]
    fn a_keyword_is_answered() {
        let rules = json!([
            { "keywords": ["lunch"], "reply": "At noon." },
            { "keywords": ["Opening Hours", "when open"], "reply": "Nine to five." },
        ]);
        let decision = answer(rules, "What are your OPENING HOURS?");
        assert_eq!(decision, ReplyDecision::reply("Nine to five.").because("rule 2"));
    }

    #[test]
    fn a_rule_without_reply_silences() {
        let decision = answer(json!([{ "keywords": ["👍"], "match": "exact" }]), " 👍\n");
        assert_eq!(decision, ReplyDecision::silence().because("rule 1"));
    }

    #[test]
    fn all_needs_every_keyword_and_exact_nothing_else() {
        let all = json!([{ "keywords": ["red", "blue"], "match": "all", "reply": "r" }]);
        assert_eq!(answer(all.clone(), "red only"), ReplyDecision::pass());
        assert_ne!(answer(all, "blue and red"), ReplyDecision::pass());
        let exact = json!([{ "keywords": ["ping"], "match": "exact", "reply": "pong" }]);
        assert_eq!(answer(exact.clone(), "ping?"), ReplyDecision::pass());
        assert_ne!(answer(exact, "Ping"), ReplyDecision::pass());
    }

    #[test]
    fn anything_else_is_left_to_the_model() {
        assert_eq!(answer(json!([{ "keywords": ["x"] }]), "hello"), ReplyDecision::pass());
        assert_eq!(answer(json!([]), "hello"), ReplyDecision::pass());
    }

    #[test]
    fn the_manifest_names_this_package() {
        let manifest: Value = from_str(include_str!("../creel.plugin.json")).unwrap();
        assert_eq!(manifest["id"], env!("CARGO_PKG_NAME"));
        assert_eq!(manifest["component"], concat!(env!("CARGO_PKG_NAME"), ".wasm"));
    }
}
