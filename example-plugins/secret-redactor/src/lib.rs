//! Creel plugin `secret-redactor`: masks secrets in messages before they are written.
//!
//! Never keeps, logs or sends what it finds.

mod issued;
mod mask;
mod named;
mod settings;

use creel_plugin::prelude::*;
use settings::Settings;

struct SecretRedactor;

#[plugin]
impl Plugin for SecretRedactor {
    fn tool_result_persist(_: &Call, event: ToolResultPersistEvent, _: TranscriptContext) -> Result<PersistDecision> {
        Ok(match redacted(event.message()?)? {
            Some(message) => PersistDecision::replace(&message),
            None => PersistDecision::pass(),
        })
    }

    fn before_message_write(_: &Call, event: BeforeMessageWriteEvent, _: TranscriptContext) -> Result<WriteDecision> {
        Ok(match redacted(event.message()?)? {
            Some(message) => WriteDecision::replace(&message),
            None => WriteDecision::pass(),
        })
    }
}

/// The message without its secrets. None: it has none.
fn redacted(mut message: Message) -> Result<Option<Message>> {
    let settings = config::<Settings>()?;
    for broken in settings.broken() {
        log::error!("this pattern is not used: {broken}");
    }
    let count = message.rewrite_texts(|key, text| mask::masked(key, text, &settings));
    Ok((count > 0).then_some(message))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

    use super::SecretRedactor;
    use creel_plugin::log::Level;
    use creel_plugin::prelude::*;
    use creel_plugin::serde_json::{Value, from_str};
    use creel_plugin::testing::{Host, context, event};

    fn persisted(host: &Host, message: &Value) -> PersistDecision {
        let event = event::tool_result_persist("exec", message);
        host.run(|| SecretRedactor::tool_result_persist(&Call::default(), event, context::transcript())).unwrap()
    }

    fn written(host: &Host, message: &Value) -> WriteDecision {
        let event = event::before_message_write(message);
        host.run(|| SecretRedactor::before_message_write(&Call::default(), event, context::transcript())).unwrap()
    }

    #[test]
    fn a_tool_result_loses_its_secret_and_keeps_all_else() {
        let message = json!({
            "role": "toolResult",
            "toolCallId": "sk-abcdefghijklmnopqrst123",
            "content": [{ "type": "text", "text": "key: AKIAABCDEFGHIJKLMNOP\n" }],
            "details": { "env": { "DB_PASSWORD": "hunter2", "HOME": "/root" }, "exitCode": 0 },
            "unknown": [1, null, true],
        });
        let decision = persisted(&Host::new(), &message);
        let answer: Value = from_str(&decision.answer().unwrap().message).unwrap();
        let mut expected = message.clone();
        expected["content"][0]["text"] = json!("key: [redacted:aws-access-key]\n");
        expected["details"]["env"]["DB_PASSWORD"] = json!("[redacted:db-password]");
        assert_eq!(answer, expected);
    }

    #[test]
    fn any_message_is_redacted_before_it_is_written() {
        let message = json!({ "role": "user", "content": "my password=hunter2, ok?" });
        let decision = written(&Host::new(), &message);
        let answer: Value = from_str(decision.answer().unwrap().message.as_ref().unwrap()).unwrap();
        assert_eq!(answer["content"], "my password=[redacted:password], ok?");
    }

    #[test]
    fn a_message_without_secrets_is_left_alone() {
        let message = json!({ "role": "assistant", "content": [{ "type": "text", "text": "all is well" }] });
        assert_eq!(persisted(&Host::new(), &message), PersistDecision::pass());
        assert_eq!(written(&Host::new(), &message), WriteDecision::pass());
    }

    #[test]
    fn a_redacted_message_is_not_redacted_again() {
        let message = json!({ "role": "user", "content": "token=abc12345 postgres://u:pw1@db/x" });
        let first = persisted(&Host::new(), &message);
        let once: Value = from_str(&first.answer().unwrap().message).unwrap();
        assert_eq!(written(&Host::new(), &once), WriteDecision::pass());
    }

    #[test]
    fn own_patterns_and_names_count() {
        let host = Host::new().config(json!({
            "patterns": [{ "name": "employee-id", "pattern": r"\bE\d{6}\b" }],
            "names": ["Door-Pin"],
        }));
        let message = json!({ "role": "user", "content": "E123456 door_pin=4711" });
        let decision = written(&host, &message);
        let text = decision.answer().unwrap().message.as_ref().unwrap();
        assert!(text.contains("[redacted:employee-id] door_pin=[redacted:door-pin]"), "{text}");
    }

    #[test]
    fn a_broken_pattern_is_reported_and_the_others_still_work() {
        let host = Host::new().config(json!({ "patterns": [{ "name": "x", "pattern": "(" }] }));
        let message = json!({ "role": "user", "content": "password=hunter2" });
        assert!(written(&host, &message).answer().is_some());
        let logs = host.logs();
        assert_eq!(logs[0].level, Level::Error);
        assert!(logs[0].message.contains("`x`"), "{:?}", logs[0]);
    }

    #[test]
    fn pictures_are_not_touched() {
        let data = format!("{}/AKIAABCDEFGHIJKLMNOP/{}", "A".repeat(200), "B".repeat(200));
        let message = json!({ "role": "toolResult", "content": [{ "type": "image", "data": data }] });
        assert_eq!(persisted(&Host::new(), &message), PersistDecision::pass());
    }

    /// The hook has one second, in a component; natively and unoptimised these take a few tenths each. What they would show is a
    /// text for which the time grows with the square of its length: minutes.
    #[test]
    fn a_megabyte_of_anything_takes_a_fraction_of_the_budget() {
        for piece in [
            "token: next = password eyJ sk- bearer :// a:b@c AKIA gh ",
            "password=",
            "password=(",
            "password=\"(",
            "eyJ.",
            "SG.",
            "://a:b@",
            "-----BEGIN PRIVATE KEY-----",
            "-----BEGIN ",
            "bearer ",
        ] {
            let text = piece.repeat(1_000_000 / piece.len());
            let message = json!({ "role": "toolResult", "content": text });
            let started = std::time::Instant::now();
            let _ = persisted(&Host::new(), &message);
            let elapsed = started.elapsed();
            assert!(elapsed < std::time::Duration::from_secs(10), "{piece}: {elapsed:?}");
        }
    }

    #[test]
    fn the_manifest_names_this_package() {
        let manifest: Value = from_str(include_str!("../creel.plugin.json")).unwrap();
        assert_eq!(manifest["id"], env!("CARGO_PKG_NAME"));
        assert_eq!(manifest["component"], concat!(env!("CARGO_PKG_NAME"), ".wasm"));
    }
}
