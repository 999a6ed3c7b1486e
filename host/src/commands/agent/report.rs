//! What is told of a run when it is over: the one JSON object of `--json` (agent-loop 2.2.5, 2.2.6), or a few lines for a person, and
//! the exit code. Replies themselves went out through the channel.

use agent::error::RunErrorKind;
use agent::outcome::Delivery;
use agent::{DeliveryStatus, RunOutcome};
use domain::payload::ReplyPayload;
use domain::ports::Outbound;
use domain::session::RunStatus;
use serde_json::{Map, Value, json};

use crate::exit::Code;
use crate::terminal::Output;

/// What `message_sending` handlers that cancel leave as the reason (plugin-hooks 4.16).
const CANCELLED: &str = "cancelled_by_message_sending_hook";
/// Reason of a delivery without anything to deliver, in the words of the public command.
const NOTHING_TO_SEND: &str = "no_visible_payload";

/// The result as JSON. `sent` is what reached the channel: a program must not see what a plugin cancelled or rewrote.
pub(super) fn as_json(outcome: &RunOutcome, sent: &[Outbound]) -> Value {
    json!({
        "runId": outcome.run_id,
        "sessionKey": outcome.session_key.as_str(),
        "sessionId": outcome.session_id,
        "status": outcome.status,
        "payloads": sent.iter().map(payload).collect::<Vec<_>>(),
        "meta": {
            "durationMs": outcome.duration_ms,
            "transport": "embedded",
            "aborted": outcome.aborted,
            "error": outcome.error,
            "agentMeta": {
                "sessionId": outcome.session_id,
                "provider": outcome.model.as_ref().map(|model| &model.provider),
                "model": outcome.model.as_ref().map(|model| &model.model),
                "usage": outcome.usage,
                "lastCallUsage": outcome.last_call_usage,
                "modelCalls": outcome.model_calls,
                "toolCalls": outcome.tool_calls,
            },
        },
        "deliveryStatus": delivery_status(&outcome.deliveries),
    })
}

fn payload(sent: &Outbound) -> ReplyPayload {
    let text = Some(sent.content.clone()).filter(|text| !text.is_empty());
    let (media_url, media_urls) = match sent.media.as_slice() {
        [only] => (Some(only.clone()), Vec::new()),
        several => (None, several.to_vec()),
    };
    ReplyPayload { text, media_url, media_urls, is_error: sent.is_error, ..ReplyPayload::default() }
}

/// All deliveries as one: a reply that a plugin kept back is no failure.
fn delivery_status(deliveries: &[Delivery]) -> Value {
    let count = |status| deliveries.iter().filter(|delivery| delivery.status == status).count();
    let (sent, failed) = (count(DeliveryStatus::Sent), count(DeliveryStatus::Failed));
    let (status, succeeded) = match (sent, failed) {
        (0, 0) => ("suppressed", json!(true)),
        (_, 0) => ("sent", json!(true)),
        (0, _) => ("failed", json!(false)),
        (_, _) => ("partial_failed", json!("partial")),
    };
    let reason_of = |status| deliveries.iter().find(|delivery| delivery.status == status).and_then(|it| it.reason.clone());
    let mut fields = Map::new();
    fields.insert("status".to_owned(), json!(status));
    fields.insert("requested".to_owned(), json!(true));
    fields.insert("attempted".to_owned(), json!(!deliveries.is_empty()));
    fields.insert("succeeded".to_owned(), succeeded);
    fields.insert("resultCount".to_owned(), json!(sent));
    if failed > 0 {
        fields.insert("error".to_owned(), json!(true));
        fields.insert("errorMessage".to_owned(), json!(reason_of(DeliveryStatus::Failed)));
        fields.insert("sentBeforeError".to_owned(), json!(sent > 0));
    } else if sent == 0 {
        let reason = reason_of(DeliveryStatus::Suppressed).unwrap_or_else(|| NOTHING_TO_SEND.to_owned());
        fields.insert("reason".to_owned(), json!(reason));
    }
    fields.insert("payloadOutcomes".to_owned(), json!(deliveries));
    Value::Object(fields)
}

/// Tells on stderr what went wrong, and gives the exit code.
pub(super) fn finish(outcome: &RunOutcome, sent: &[Outbound], output: &Output) -> Code {
    for delivery in &outcome.deliveries {
        match delivery.status {
            DeliveryStatus::Sent => {}
            DeliveryStatus::Suppressed => output.note(format!("the reply was not sent: {}", why_suppressed(delivery))),
            DeliveryStatus::Failed => output.error(format!("the reply was not sent: {}", reason(delivery))),
        }
    }
    if outcome.status == RunStatus::Killed {
        output.note("the run was interrupted");
    } else if let Some(error) = &outcome.error {
        tell_error(error, sent, output);
    }
    code(outcome)
}

/// Of a failure that went out as a reply a person has seen the words for users; what is left to tell is the cause, if it says more.
fn tell_error(error: &str, sent: &[Outbound], output: &Output) {
    match sent.iter().find(|message| message.is_error && !output.is_json()) {
        None => output.error(error),
        Some(told) if told.content == error => {}
        Some(_) => output.cause(error),
    }
}

fn reason(delivery: &Delivery) -> &str {
    delivery.reason.as_deref().unwrap_or("unknown reason")
}

fn why_suppressed(delivery: &Delivery) -> String {
    let told = delivery.metadata.as_ref().and_then(|metadata| metadata["cancelReason"].as_str());
    match (reason(delivery), told) {
        (CANCELLED, Some(told)) => format!("a plugin cancelled it: {}", hooks::fault::one_line(told, 512)),
        (CANCELLED, None) => "a plugin cancelled it".to_owned(),
        (other, _) => hooks::fault::one_line(other, 512),
    }
}

fn code(outcome: &RunOutcome) -> Code {
    let is_undelivered = outcome.deliveries.iter().any(|delivery| delivery.status == DeliveryStatus::Failed);
    match outcome.status {
        RunStatus::Done | RunStatus::Running if is_undelivered => Code::RunFailed,
        RunStatus::Done | RunStatus::Running => Code::Success,
        RunStatus::Failed => match outcome.error_kind {
            Some(RunErrorKind::Busy) => Code::Busy,
            Some(RunErrorKind::Internal) => Code::Internal,
            _ => Code::RunFailed,
        },
        RunStatus::Timeout => Code::Timeout,
        RunStatus::Killed => Code::Interrupted,
    }
}

#[cfg(test)]
mod tests {
    use domain::message::Usage;
    use domain::{AgentId, RunId, SessionId, SessionKey};

    use super::*;

    #[test]
    fn the_exit_code_says_what_kind_of_failure_it_was() {
        for (status, kind, expected) in [
            (RunStatus::Done, None, Code::Success),
            (RunStatus::Failed, Some(RunErrorKind::Provider), Code::RunFailed),
            (RunStatus::Failed, Some(RunErrorKind::Busy), Code::Busy),
            (RunStatus::Failed, Some(RunErrorKind::Internal), Code::Internal),
            (RunStatus::Timeout, Some(RunErrorKind::TimedOut), Code::Timeout),
            (RunStatus::Killed, Some(RunErrorKind::Aborted), Code::Interrupted),
        ] {
            let mut outcome = outcome(status);
            outcome.error_kind = kind;
            assert_eq!(code(&outcome), expected, "{status:?} {kind:?}");
        }
        let mut undelivered = outcome(RunStatus::Done);
        undelivered.deliveries = vec![delivery(DeliveryStatus::Failed)];
        assert_eq!(code(&undelivered), Code::RunFailed);
    }

    fn outcome(status: RunStatus) -> RunOutcome {
        RunOutcome {
            run_id: RunId::new("r"),
            session_key: SessionKey::main(&AgentId::main()),
            session_id: SessionId::new("s"),
            status,
            error: None,
            error_kind: None,
            aborted: false,
            payloads: Vec::new(),
            deliveries: Vec::new(),
            model: None,
            usage: Usage::default(),
            last_call_usage: Usage::default(),
            model_calls: 0,
            tool_calls: 0,
            duration_ms: 0,
        }
    }

    fn delivery(status: DeliveryStatus) -> Delivery {
        let reason = (status != DeliveryStatus::Sent).then(|| "why".to_owned());
        Delivery { status, content: None, message_id: None, reason, metadata: None }
    }

    fn told(statuses: &[DeliveryStatus]) -> Value {
        let mut status = delivery_status(&statuses.iter().copied().map(delivery).collect::<Vec<_>>());
        status["payloadOutcomes"] = Value::Null;
        status
    }

    #[test]
    fn deliveries_are_told_as_one() {
        use DeliveryStatus::{Failed, Sent, Suppressed};
        for (deliveries, expected) in [
            (vec![], json!({"status":"suppressed","attempted":false,"succeeded":true,"resultCount":0,"reason":NOTHING_TO_SEND})),
            (vec![Suppressed], json!({"status":"suppressed","attempted":true,"succeeded":true,"resultCount":0,"reason":"why"})),
            (vec![Suppressed, Sent], json!({"status":"sent","attempted":true,"succeeded":true,"resultCount":1})),
            (
                vec![Failed],
                json!({"status":"failed","attempted":true,"succeeded":false,"resultCount":0,"error":true,"errorMessage":"why","sentBeforeError":false}),
            ),
            (
                vec![Sent, Failed],
                json!({"status":"partial_failed","attempted":true,"succeeded":"partial","resultCount":1,"error":true,"errorMessage":"why","sentBeforeError":true}),
            ),
        ] {
            let mut expected = expected;
            expected["requested"] = json!(true);
            expected["payloadOutcomes"] = Value::Null;
            assert_eq!(told(&deliveries), expected, "{deliveries:?}");
        }
    }

    #[test]
    fn a_payload_has_what_went_out() {
        let sent = |media: &[&str]| Outbound {
            channel: "terminal".to_owned(),
            to: String::new(),
            content: "hi".to_owned(),
            media: media.iter().map(|&address| address.to_owned()).collect(),
            is_error: false,
        };
        assert_eq!(json!(payload(&sent(&[]))), json!({"text": "hi"}));
        assert_eq!(json!(payload(&sent(&["a"]))), json!({"text": "hi", "mediaUrl": "a"}));
        assert_eq!(json!(payload(&sent(&["a", "b"]))), json!({"text": "hi", "mediaUrls": ["a", "b"]}));
    }
}
