//! What a run does for the plugins that work in it: tool calls and messages. They go the way of the run's own, so policies,
//! hooks and approvals apply; only handlers of plugins that stand in the chain already are left out. Nothing of it is written to the transcript.

use std::pin::pin;
use std::sync::{Arc, Weak};

use async_trait::async_trait;
use domain::CallId;
use domain::cancel::CancelReason;
use domain::message::ToolCallBlock;
use domain::payload::{PayloadKind, ReplyPayload};
use domain::ports::StateError;
use domain::services::{InvokedTool, PluginMessage, PluginToolCall, RunServices, SENT_KEY_TTL_MS, SentMessage, SentStatus};
use domain::tool::ToolResult;
use serde_json::{Map, Value};
use tokio::sync::oneshot;

use crate::deliver;
use crate::executor::{self, Ended, Prepared};
use crate::outcome::DeliveryStatus;
use crate::run::RunState;

/// Makes a run serve the plugins that work in it.
pub(crate) fn offer(run: &Arc<RunState>) {
    let weak: Weak<RunState> = Arc::downgrade(run);
    run.run_scope().serve(weak);
}

#[async_trait]
impl RunServices for RunState {
    fn tool_names(&self) -> Vec<String> {
        RunState::tool_names(self).into_iter().map(str::to_owned).collect()
    }

    async fn invoke_tool(self: Arc<Self>, call: PluginToolCall) -> Result<InvokedTool, StateError> {
        if self.tool(&call.name).is_none() {
            return Err(StateError::NotFound(format!("this run has no tool `{}`", call.name)));
        }
        let PluginToolCall { chain, name, params } = call;
        let id = CallId::new(self.ports().ids.next_id());
        let call = ToolCallBlock { id: id.clone(), name, arguments: Value::Object(params), extra: Map::new() };
        let nested = self.nested(chain);
        let ended = detached(self, nested, async move |run| executed(&run, &call).await).await?;
        let result = ToolResult { content: ended.message.content, details: ended.message.details, terminate: false };
        Ok(InvokedTool { call_id: id, outcome: ended.outcome, result })
    }

    fn channel(&self) -> String {
        self.ports().channel.id().to_owned()
    }

    async fn send_message(self: Arc<Self>, message: PluginMessage) -> Result<SentMessage, StateError> {
        let known = self.ports().channel.id();
        if let Some(channel) = message.channel.as_deref().filter(|channel| *channel != known) {
            return Err(StateError::NotFound(format!("there is no channel `{channel}` here; there is `{known}`")));
        }
        if message.content.trim().is_empty() && message.media.is_empty() {
            return Err(StateError::Invalid("the message holds neither text nor media".to_owned()));
        }
        let nested = self.nested(message.chain.clone());
        detached(self, nested, async move |run| sent(&run, message).await).await?
    }
}

/// Sends a message that fits, unless one with its key was sent already.
async fn sent(run: &RunState, message: PluginMessage) -> Result<SentMessage, StateError> {
    let keys = &run.ports().sent_keys;
    let claimed = message.chain.last().zip(message.idempotency_key.as_deref());
    if let Some((plugin, key)) = claimed
        && !keys.claim(plugin, key, SENT_KEY_TTL_MS).await?
    {
        let detail = Some("a message with this key was sent within the last 24 hours".to_owned());
        return Ok(SentMessage { status: SentStatus::Suppressed, message_id: None, detail });
    }
    let to = message.to.as_deref().unwrap_or(run.peer());
    let payload = ReplyPayload { media_urls: message.media, ..ReplyPayload::text(message.content) };
    let delivery = deliver::deliver_to(run, to, payload, PayloadKind::Final).await;
    let status = match delivery.status {
        DeliveryStatus::Sent => SentStatus::Sent,
        DeliveryStatus::Suppressed => SentStatus::Suppressed,
        DeliveryStatus::Failed => SentStatus::Failed,
    };
    if let Some((plugin, key)) = claimed.filter(|_| status != SentStatus::Sent) {
        keys.release(plugin, key).await?;
    }
    Ok(SentMessage { status, message_id: delivery.message_id, detail: delivery.reason })
}

async fn executed(run: &RunState, call: &ToolCallBlock) -> Ended {
    match executor::prepare(run, call).await {
        Prepared::Ready(ready) => executor::execute(run, ready).await,
        Prepared::Ended(ended) => ended,
    }
}

/// Does work in a task of its own, because whoever asked for it may be gone before it ends, and what was begun must be told to its end.
/// It is asked to stop when the run is, and when nobody waits for it any more.
async fn detached<T: Send + 'static, F: Future<Output = T> + Send + 'static>(
    outer: Arc<RunState>,
    nested: RunState,
    work: impl FnOnce(Arc<RunState>) -> F + Send + 'static,
) -> Result<T, StateError> {
    let (mut sender, receiver) = oneshot::channel();
    let nested = Arc::new(nested);
    let shared = Arc::clone(outer.shared());
    let has_begun = shared.background.finish(async move {
        let mut work = pin!(work(Arc::clone(&nested)));
        let done = tokio::select! {
            biased;
            done = &mut work => done,
            reason = stopped(&outer, &mut sender) => {
                nested.cancel().cancel(reason);
                work.await
            }
        };
        let _ = sender.send(done);
    });
    let ended = || StateError::Unavailable("the host is ending".to_owned());
    if !has_begun {
        return Err(ended());
    }
    receiver.await.map_err(|_| ended())
}

/// Waits until the run is asked to stop, or nobody waits for the work any more.
async fn stopped<T>(run: &RunState, sender: &mut oneshot::Sender<T>) -> CancelReason {
    tokio::select! {
        biased;
        () = run.cancel().cancelled() => run.cancel().reason().unwrap_or(CancelReason::User),
        () = sender.closed() => CancelReason::Timeout,
    }
}
