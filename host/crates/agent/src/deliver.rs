//! The one way out (plugin-hooks 3a step 14): `reply_payload_sending`, `message_sending`, the channel, `message_sent`. Nothing reaches a
//! channel past this file. Its hooks guard what goes out, so a request to stop does not cut them short.

use std::time::Duration;

use domain::JsonText;
use domain::payload::{PayloadKind, ReplyPayload};
use domain::ports::{Outbound, SendFailure, SendResult};
use domain::silent;
use hooks::catalogue::{MessageSending, MessageSent, ReplyPayloadSending};
use hooks::context::MessageContext;
use hooks::events::{message_sending, observed, reply_payload_sending};
use serde_json::{Value, json};

use crate::outcome::{Delivery, DeliveryStatus};
use crate::run::RunState;
use crate::wind_down::caught;

/// Largest metadata of a cancellation that is kept, in bytes of JSON.
pub const MAX_CANCEL_METADATA_BYTES: usize = 8 * 1024;

/// How long a channel may take for one message.
pub const SEND_LIMIT: Duration = Duration::from_secs(120);

/// Delivers payloads one after another. What becomes of one changes nothing for the next.
pub(crate) async fn deliver_all(run: &RunState, payloads: &[ReplyPayload], kind: PayloadKind) -> Vec<Delivery> {
    let mut deliveries = Vec::with_capacity(payloads.len());
    for payload in payloads {
        deliveries.push(deliver_to(run, run.peer(), payload.clone(), kind).await);
    }
    deliveries
}

/// Delivers one payload to whoever the channel knows by that address.
pub(crate) async fn deliver_to(run: &RunState, to: &str, payload: ReplyPayload, kind: PayloadKind) -> Delivery {
    caught(deliver(run, to, payload, kind)).await.unwrap_or_else(|panic| {
        tracing::error!(run = %run.run_id(), "BUG: the host panicked while it delivered a message: {}", panic.0);
        failed(None, "the host failed inside the delivery".to_owned())
    })
}

async fn deliver(run: &RunState, to: &str, payload: ReplyPayload, kind: PayloadKind) -> Delivery {
    let context = run.message_context();
    let payload = match shape_by_hooks(run, &context, payload, kind).await {
        Ok(payload) => payload,
        Err(suppressed) => return suppressed,
    };
    let content = match rewrite_text(run, &context, to, &payload).await {
        Ok(content) => content,
        Err(suppressed) => return suppressed,
    };
    let content = audible(content);
    if content.trim().is_empty() && !payload.has_media() {
        return suppressed("nothing was left to send", None);
    }
    let message = Outbound {
        channel: run.ports().channel.id().to_owned(),
        to: to.to_owned(),
        content: with_prefix(run, content),
        media: payload.media().map(str::to_owned).collect(),
        is_error: payload.is_error,
    };
    let sent = send(run, &message).await;
    tell(run, context, &message, &sent);
    match sent {
        Ok(message_id) => {
            Delivery { status: DeliveryStatus::Sent, content: Some(message.content), message_id, reason: None, metadata: None }
        }
        Err(failure) => failed(Some(message.content), failure.to_string()),
    }
}

async fn send(run: &RunState, message: &Outbound) -> SendResult {
    match tokio::time::timeout(SEND_LIMIT, caught(run.ports().channel.send(message))).await {
        Ok(Ok(sent)) => sent,
        Ok(Err(panic)) => {
            tracing::error!(run = %run.run_id(), "BUG: the channel panicked: {}", panic.0);
            Err(SendFailure("the channel failed inside the host".to_owned()))
        }
        Err(_) => Err(SendFailure(format!("the channel did not take the message within {} s", SEND_LIMIT.as_secs()))),
    }
}

/// Plugins may write the silent token too; like the model's it is never sent (agent-loop 16.3.1, 16.3.4).
fn audible(content: String) -> String {
    if silent::is_silent(&content) { String::new() } else { silent::strip_trailing(&content).to_owned() }
}

async fn shape_by_hooks(
    run: &RunState,
    context: &MessageContext,
    payload: ReplyPayload,
    kind: PayloadKind,
) -> Result<ReplyPayload, Delivery> {
    if !run.hooks().has(hooks::HookId::ReplyPayloadSending) {
        return Ok(payload);
    }
    let mut event = reply_payload_sending::Event::new(payload.clone(), kind);
    event.channel = Some(context.channel_id.clone());
    let Ok(dispatched) = run.hooks().decide::<ReplyPayloadSending>(&event, context, run.guard_scope()).await else {
        return Ok(payload);
    };
    let decision = dispatched.decision;
    if decision.cancelled_by.is_some() {
        let reason = decision.reason.unwrap_or_else(|| "cancelled_by_reply_payload_sending_hook".to_owned());
        return Err(suppressed(&reason, None));
    }
    Ok(decision.apply(payload))
}

async fn rewrite_text(run: &RunState, context: &MessageContext, to: &str, payload: &ReplyPayload) -> Result<String, Delivery> {
    let content = payload.text.clone().unwrap_or_default();
    if !run.hooks().has(hooks::HookId::MessageSending) {
        return Ok(content);
    }
    let media: Vec<&str> = payload.media().collect();
    let event = message_sending::Event {
        to: to.to_owned(),
        content: content.clone(),
        reply_to_id: None,
        thread_id: None,
        metadata: Some(JsonText::from_value(&json!({
            "channel": context.channel_id, "accountId": context.account_id, "mediaUrls": media,
        }))),
    };
    let Ok(dispatched) = run.hooks().decide::<MessageSending>(&event, context, run.guard_scope()).await else {
        return Ok(content);
    };
    let decision = dispatched.decision;
    if decision.cancelled_by.is_some() {
        tracing::info!(reason = decision.cancel_reason.as_deref().unwrap_or(""), "a message was cancelled by a plugin");
        let metadata =
            decision.metadata.filter(|json| json.as_str().len() <= MAX_CANCEL_METADATA_BYTES).map(|json| json.to_value());
        let metadata = match (decision.cancel_reason, metadata) {
            (None, metadata) => metadata,
            (Some(reason), metadata) => Some(json!({ "cancelReason": reason, "metadata": metadata })),
        };
        return Err(suppressed("cancelled_by_message_sending_hook", metadata));
    }
    Ok(decision.content.unwrap_or(content))
}

fn with_prefix(run: &RunState, content: String) -> String {
    match run.settings().response_prefix.as_deref() {
        Some(prefix) if !prefix.is_empty() && !content.is_empty() => format!("{prefix} {content}"),
        _ => content,
    }
}

fn tell(run: &RunState, context: MessageContext, message: &Outbound, sent: &SendResult) {
    run.observe::<MessageSent>(context, || observed::MessageSent {
        to: message.to.clone(),
        content: message.content.clone(),
        success: sent.is_ok(),
        message_id: sent.as_ref().ok().cloned().flatten(),
        error: sent.as_ref().err().map(ToString::to_string),
    });
}

fn failed(content: Option<String>, reason: String) -> Delivery {
    Delivery { status: DeliveryStatus::Failed, content, message_id: None, reason: Some(reason), metadata: None }
}

fn suppressed(reason: &str, metadata: Option<Value>) -> Delivery {
    Delivery { status: DeliveryStatus::Suppressed, content: None, message_id: None, reason: Some(reason.to_owned()), metadata }
}
