//! Creel plugin `context-injector`: standing guidance, the number of the turn, and notes by keyword.
//!
//! What is the same in every turn goes around the system prompt, where providers cache it; what changes goes before the request.

use creel_plugin::prelude::*;
use creel_plugin::serde_json;
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Settings {
    guidance: Guidance,
    turn_number: bool,
    notes: Vec<Note>,
}

impl Default for Settings {
    fn default() -> Self {
        Self { guidance: Guidance::default(), turn_number: true, notes: Vec::new() }
    }
}

#[derive(Deserialize, Default)]
struct Guidance {
    before: Option<String>,
    after: Option<String>,
}

#[derive(Deserialize)]
struct Note {
    keywords: Vec<String>,
    text: String,
}

struct ContextInjector;

#[plugin]
impl Plugin for ContextInjector {
    fn before_prompt_build(_: &Call, event: BeforePromptBuildEvent, _: AgentContext) -> Result<PromptChanges> {
        let settings = config::<Settings>()?;
        let mut changes = PromptChanges::pass();
        if let Some(text) = &settings.guidance.before {
            changes = changes.prepend_system_context(text);
        }
        if let Some(text) = &settings.guidance.after {
            changes = changes.append_system_context(text);
        }
        let turn = turn_text(&settings, &event)?;
        if !turn.is_empty() {
            changes = changes.prepend_context(turn);
        }
        Ok(changes)
    }
}

/// The text of this turn; empty: nothing to say.
fn turn_text(settings: &Settings, event: &BeforePromptBuildEvent) -> Result<String> {
    // A harness that does not tell the request by itself has it in the prompt.
    let request = event.current_user_message.as_ref().unwrap_or(&event.prompt);
    let request = request.to_lowercase();
    let mut parts = Vec::new();
    if settings.turn_number {
        let number = earlier_requests(&event.messages)? + 1;
        parts.push(format!("This is turn {number} of the conversation."));
    }
    parts.extend(
        settings
            .notes
            .iter()
            .filter(|note| note.keywords.iter().any(|word| request.contains(&word.to_lowercase())))
            .map(|note| note.text.clone()),
    );
    Ok(parts.join("\n\n"))
}

/// Messages that people wrote. Looks at the role only: a session may be long, and this runs on every build of the prompt.
fn earlier_requests(messages: &[String]) -> Result<usize> {
    #[derive(Deserialize)]
    struct Role {
        role: String,
    }
    let mut count = 0;
    for message in messages {
        let Role { role } = serde_json::from_str(message)?;
        count += usize::from(role == "user");
    }
    Ok(count)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

    use super::ContextInjector;
    use creel_plugin::prelude::*;
    use creel_plugin::serde_json::{Value, from_str};
    use creel_plugin::testing::{Host, context, event};

    fn build(config: Value, event: BeforePromptBuildEvent) -> PromptChanges {
        Host::new()
            .config(config)
            .run(|| ContextInjector::before_prompt_build(&Call::default(), event, context::agent()))
            .unwrap()
    }

    fn message(role: &str) -> Value {
        json!({ "role": role, "content": [{ "type": "text", "text": "…" }] })
    }

    #[test]
    fn turns_are_counted_by_what_people_wrote() {
        let history = [message("user"), message("assistant"), message("toolResult"), message("user")];
        for (messages, number) in [(&history[..0], 1), (&history[..3], 2), (&history[..], 3)] {
            let changes = build(json!({}), event::before_prompt_build("hello", messages));
            let expected = format!("This is turn {number} of the conversation.");
            assert_eq!(changes, PromptChanges::pass().prepend_context(expected));
        }
    }

    #[test]
    fn guidance_goes_around_the_system_prompt_and_nowhere_else() {
        let config = json!({ "guidance": { "before": "A", "after": "B" }, "turnNumber": false });
        let changes = build(config, event::before_prompt_build("hello", &[]));
        let expected = PromptChanges::pass().prepend_system_context("A").append_system_context("B");
        assert_eq!(changes, expected);
    }

    #[test]
    fn notes_come_with_their_keywords() {
        let config = json!({ "turnNumber": false, "notes": [
            { "keywords": ["deploy", "Release"], "text": "On Tuesdays." },
            { "keywords": ["lunch"], "text": "At noon." },
        ] });
        let changes = build(config, event::before_prompt_build("When do we RELEASE? After lunch?", &[]));
        assert_eq!(changes, PromptChanges::pass().prepend_context("On Tuesdays.\n\nAt noon."));
    }

    #[test]
    fn keywords_are_looked_for_in_the_request_and_not_in_what_was_put_around_it() {
        let config = json!({ "turnNumber": false, "notes": [{ "keywords": ["deploy"], "text": "x" }] });
        let event =
            BeforePromptBuildEvent { prompt: "earlier: deploy\n\nhello".to_owned(), ..event::before_prompt_build("hello", &[]) };
        assert_eq!(build(config.clone(), event.clone()), PromptChanges::pass());
        let old_harness = BeforePromptBuildEvent { current_user_message: None, ..event };
        assert_eq!(build(config, old_harness), PromptChanges::pass().prepend_context("x"));
    }

    #[test]
    fn with_nothing_to_say_it_has_no_opinion() {
        let changes = build(json!({ "turnNumber": false }), event::before_prompt_build("hello", &[]));
        assert_eq!(changes, PromptChanges::pass());
    }

    #[test]
    fn the_manifest_names_this_package() {
        let manifest: Value = from_str(include_str!("../creel.plugin.json")).unwrap();
        assert_eq!(manifest["id"], env!("CARGO_PKG_NAME"));
        assert_eq!(manifest["component"], concat!(env!("CARGO_PKG_NAME"), ".wasm"));
    }
}
