//! Creel plugin `model-router`: chooses provider and model of a run by what its prompt looks like.
//!
//! It sees the prompt, not the session: the choice is made before that is loaded.

use creel_plugin::prelude::*;
use creel_plugin::{AttachmentKind, Trigger};
use serde::Deserialize;

#[derive(Deserialize, Default)]
#[serde(default)]
struct Settings {
    rules: Vec<Rule>,
}

/// Conditions that must all hold, and what is chosen then. An absent condition holds.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Rule {
    min_chars: Option<usize>,
    max_chars: Option<usize>,
    keywords: Option<Vec<String>>,
    attachments: Option<Vec<Kind>>,
    triggers: Option<Vec<String>>,
    provider: Option<String>,
    model: Option<String>,
}

#[derive(Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Image,
    Video,
    Audio,
    Document,
    Other,
}

struct ModelRouter;

#[plugin]
impl Plugin for ModelRouter {
    fn before_model_resolve(_: &Call, event: BeforeModelResolveEvent, ctx: AgentContext) -> Result<ModelOverride> {
        let settings = config::<Settings>()?;
        let run = Run::new(&event, &ctx);
        let rule = settings.rules.iter().find(|rule| rule.holds(&run));
        Ok(rule.map_or_else(ModelOverride::pass, Rule::choice))
    }
}

/// What rules look at.
struct Run<'a> {
    chars: usize,
    prompt: String,
    attachments: Vec<Kind>,
    trigger: Option<&'a str>,
}

impl<'a> Run<'a> {
    fn new(event: &BeforeModelResolveEvent, ctx: &'a AgentContext) -> Self {
        Self {
            chars: event.prompt.chars().count(),
            prompt: event.prompt.to_lowercase(),
            attachments: event.attachments.iter().map(|attachment| Kind::from(attachment.kind)).collect(),
            trigger: ctx.trigger.as_ref().map(trigger_name),
        }
    }
}

impl Rule {
    fn holds(&self, run: &Run<'_>) -> bool {
        self.min_chars.is_none_or(|min| run.chars >= min)
            && self.max_chars.is_none_or(|max| run.chars <= max)
            && self.keywords.as_ref().is_none_or(|words| words.iter().any(|word| run.prompt.contains(&word.to_lowercase())))
            && self.attachments.as_ref().is_none_or(|kinds| kinds.iter().any(|kind| run.attachments.contains(kind)))
            && self
                .triggers
                .as_ref()
                .is_none_or(|names| run.trigger.is_some_and(|trigger| names.iter().any(|name| name == trigger)))
    }

    fn choice(&self) -> ModelOverride {
        let mut choice = ModelOverride::pass();
        if let Some(provider) = &self.provider {
            choice = choice.provider(provider);
        }
        if let Some(model) = &self.model {
            choice = choice.model(model);
        }
        choice
    }
}

impl From<AttachmentKind> for Kind {
    fn from(kind: AttachmentKind) -> Self {
        match kind {
            AttachmentKind::Image => Self::Image,
            AttachmentKind::Video => Self::Video,
            AttachmentKind::Audio => Self::Audio,
            AttachmentKind::Document => Self::Document,
            AttachmentKind::Other => Self::Other,
        }
    }
}

fn trigger_name(trigger: &Trigger) -> &str {
    match trigger {
        Trigger::User => "user",
        Trigger::Cron => "cron",
        Trigger::Heartbeat => "heartbeat",
        Trigger::Other(name) => name,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

    use super::ModelRouter;
    use creel_plugin::prelude::*;
    use creel_plugin::serde_json::{Value, from_str};
    use creel_plugin::testing::{Host, context, event};
    use creel_plugin::{Attachment, AttachmentKind, Trigger};

    fn route(rules: Value, event: BeforeModelResolveEvent, trigger: Option<Trigger>) -> ModelOverride {
        let ctx = AgentContext { trigger, ..context::agent() };
        Host::new()
            .config(json!({ "rules": rules }))
            .run(|| ModelRouter::before_model_resolve(&Call::default(), event, ctx))
            .unwrap()
    }

    fn prompt(rules: Value, prompt: &str) -> ModelOverride {
        route(rules, event::before_model_resolve(prompt), None)
    }

    #[test]
    fn length_counts_characters_and_includes_its_ends() {
        let rules = json!([{ "minChars": 3, "maxChars": 4, "model": "m" }]);
        for (text, fits) in [("äö", false), ("äöü", true), ("äöüß", true), ("äöüße", false)] {
            let expected = if fits { ModelOverride::pass().model("m") } else { ModelOverride::pass() };
            assert_eq!(prompt(rules.clone(), text), expected, "{text}");
        }
    }

    #[test]
    fn the_first_rule_that_holds_chooses_both_fields() {
        let rules = json!([
            { "keywords": ["prove", "refactor"], "provider": "big", "model": "large-1" },
            { "model": "small-1" },
        ]);
        let large = ModelOverride::pass().provider("big").model("large-1");
        assert_eq!(prompt(rules.clone(), "Please REFACTOR this"), large);
        assert_eq!(prompt(rules, "hello"), ModelOverride::pass().model("small-1"));
    }

    #[test]
    fn attachments_choose_by_kind() {
        let rules = json!([{ "attachments": ["image", "video"], "model": "vision-1" }]);
        let with = |kind| BeforeModelResolveEvent {
            attachments: vec![Attachment { kind, mime_type: None }],
            ..event::before_model_resolve("what is this?")
        };
        let vision = ModelOverride::pass().model("vision-1");
        assert_eq!(route(rules.clone(), with(AttachmentKind::Image), None), vision);
        assert_eq!(route(rules.clone(), with(AttachmentKind::Audio), None), ModelOverride::pass());
        assert_eq!(prompt(rules, "what is this?"), ModelOverride::pass());
    }

    #[test]
    fn a_trigger_that_is_not_known_holds_for_no_rule() {
        let rules = json!([{ "triggers": ["heartbeat", "webhook"], "model": "small-1" }]);
        let small = ModelOverride::pass().model("small-1");
        let event = || event::before_model_resolve("tick");
        assert_eq!(route(rules.clone(), event(), Some(Trigger::Heartbeat)), small);
        assert_eq!(route(rules.clone(), event(), Some(Trigger::Other("webhook".to_owned()))), small);
        assert_eq!(route(rules.clone(), event(), Some(Trigger::User)), ModelOverride::pass());
        assert_eq!(route(rules, event(), None), ModelOverride::pass());
    }

    #[test]
    fn without_rules_it_has_no_opinion() {
        assert_eq!(prompt(json!([]), "hello"), ModelOverride::pass());
    }

    #[test]
    fn the_manifest_names_this_package() {
        let manifest: Value = from_str(include_str!("../creel.plugin.json")).unwrap();
        assert_eq!(manifest["id"], env!("CARGO_PKG_NAME"));
        assert_eq!(manifest["component"], concat!(env!("CARGO_PKG_NAME"), ".wasm"));
    }
}
