//! The client for Chat Completions of OpenAI and compatible servers, with streaming (runtime 12.1, 12.2).

mod answer;
mod call;
mod calls;
mod chunk;
mod request;

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use domain::cancel::Cancel;
use domain::model::{FailureClass, ModelClient, ModelEvent, ModelFailure, ModelRequest};
use domain::ports::Clock;
use futures_util::stream::{self, BoxStream, StreamExt};

use self::answer::Answer;
use self::call::Call;
use self::request::Abilities;
use crate::call_ids::CallIds;
use crate::draft::Draft;
use crate::endpoint::EndpointClass;
use crate::http::{Outgoing, Target, Watch};
use crate::idle;
use crate::pairing::check_pairing;
use crate::problem::ProviderProblem;
use crate::settings::{Compat, ModelSettings, ProviderSettings, Timeouts};
use crate::tool_names::check_tool_names;

/// The name of this protocol in `api`.
pub const API: &str = "openai-completions";

/// Calls the models of one provider.
pub struct CompletionsClient {
    settings: ProviderSettings,
    compat: Compat,
    target: Arc<Target>,
    clock: Arc<dyn Clock>,
}

impl CompletionsClient {
    /// A client for a provider.
    ///
    /// # Errors
    /// When address, key or headers cannot be used.
    pub fn new(settings: ProviderSettings, clock: Arc<dyn Clock>) -> Result<Self, ProviderProblem> {
        let target = Target::new(&settings, "/chat/completions")?;
        let host = target.base_url().host_str().unwrap_or_default();
        let compat = settings.compat.unwrap_or_else(|| Compat::of_host(host));
        Ok(Self { compat, target: Arc::new(target), settings, clock })
    }

    fn timeouts(&self, request: &ModelRequest) -> Timeouts {
        let class = EndpointClass::of(&self.settings.id, self.target.base_url(), &request.model.model);
        match self.settings.timeouts {
            Some(own) => Timeouts { idle: own.idle.and_then(|limit| idle::window(class, Some(limit), &request.bounds)), ..own },
            None => Timeouts { idle: idle::window(class, None, &request.bounds), ..class.timeouts() },
        }
    }

    fn abilities(&self, model: &str) -> Abilities {
        let known = self.settings.models.iter().find(|known| known.id == model);
        Abilities {
            reads_images: known.is_some_and(|model| model.reads_images),
            reasoning: known.is_some_and(|model: &ModelSettings| model.reasoning),
            max_tokens: known.and_then(|model| model.max_tokens).or(self.settings.max_tokens),
            compat: self.compat,
        }
    }

    /// The request as bytes. What every provider would refuse is refused here, by name.
    fn encode(&self, request: &ModelRequest) -> Result<Bytes, ModelFailure> {
        let refuse = |what: String| {
            ModelFailure::new(FailureClass::Format, format!("the request to `{}` cannot be sent: {what}", request.model))
        };
        check_pairing(&request.messages).map_err(|fault| refuse(fault.to_string()))?;
        check_tool_names(&request.tools).map_err(|fault| refuse(fault.to_string()))?;
        let body = request::body(request, &self.abilities(&request.model.model));
        serde_json::to_vec(&body).map(Bytes::from).map_err(|error| refuse(error.to_string()))
    }
}

#[async_trait]
impl ModelClient for CompletionsClient {
    fn api(&self) -> &str {
        API
    }

    fn transport(&self) -> &str {
        "sse"
    }

    async fn stream(&self, request: ModelRequest, cancel: Cancel) -> BoxStream<'static, ModelEvent> {
        let draft = Draft::new(API, &request.model, self.clock.now_ms());
        let body = match self.encode(&request) {
            Ok(body) => body,
            Err(failure) => return stream::iter([draft.fail(failure)]).boxed(),
        };
        let timeouts = self.timeouts(&request);
        let outgoing = Outgoing {
            target: Arc::clone(&self.target),
            body,
            policy: self.settings.retry,
            watch: Watch::start(timeouts.idle, timeouts.total),
            headers: timeouts.headers,
            max_stream_bytes: self.settings.limits.max_stream_bytes,
            clock: Arc::clone(&self.clock),
        };
        let ids = CallIds::of(&request.messages);
        let answer = Answer::new(draft, ids, self.compat.stop_with_tool_calls, self.target.blame().clone());
        Call::new(outgoing, answer, self.settings.limits.max_event_bytes, cancel).into_stream()
    }
}
