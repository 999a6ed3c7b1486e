//! `offline/echo`: answers with the last text of the user, word by word.

use std::sync::Arc;

use async_trait::async_trait;
use domain::cancel::Cancel;
use domain::message::{AgentMessage, StopReason};
use domain::model::{FailureClass, ModelClient, ModelEvent, ModelFailure, ModelRequest};
use domain::ports::Clock;
use futures_util::stream::BoxStream;

use super::player::{Ending, Player, Step};
use super::{API, TRANSPORT, estimate_usage, words};
use crate::draft::Draft;

/// The model.
pub(crate) struct EchoModel {
    clock: Arc<dyn Clock>,
}

impl EchoModel {
    /// An echo that dates its messages by a clock.
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock }
    }
}

#[async_trait]
impl ModelClient for EchoModel {
    fn api(&self) -> &str {
        API
    }

    fn transport(&self) -> &str {
        TRANSPORT
    }

    async fn stream(&self, request: ModelRequest, cancel: Cancel) -> BoxStream<'static, ModelEvent> {
        let draft = Draft::new(API, &request.model, self.clock.now_ms());
        let text = last_user_text(&request).unwrap_or_default();
        let ending = if text.is_empty() {
            let why = "`offline/echo` has nothing to repeat: no message of the user has text";
            Ending::Failed(ModelFailure::new(FailureClass::Format, why))
        } else {
            Ending::Done(StopReason::Stop, estimate_usage(&request, text.chars().count()))
        };
        let steps = words(&text).map(|word| Step::Text(word.to_owned()));
        Player::new(draft, steps, ending, cancel).into_stream()
    }
}

/// Text of the last user message that has some.
pub(super) fn last_user_text(request: &ModelRequest) -> Option<String> {
    let texts = request.messages.iter().rev().filter(|message| matches!(message, AgentMessage::User(_))).map(AgentMessage::text);
    texts.into_iter().find(|text| !text.is_empty())
}
