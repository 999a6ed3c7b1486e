//! Which model a run uses (plugin-hooks 4.1, 4.3; runtime 6.9): the request or the configuration, then the overrides of plugins, for this
//! run only. Nothing is stored.

use domain::message::ImageBlock;
use domain::model::ModelRef;
use hooks::HookId;
use hooks::catalogue::{BeforeAgentStart, BeforeModelResolve};
use hooks::events::before_model_resolve::{Attachment, AttachmentKind};
use hooks::events::{before_agent_start, before_model_resolve};

use crate::accept::RunRequest;
use crate::run::RunState;

/// The model, and what the old combined hook said in its model phase.
pub(crate) struct Selection {
    /// Provider and model.
    pub(crate) model: ModelRef,
    /// Answer of `before_agent_start`, if it was asked here and said anything; the prompt phase then does not ask again.
    pub(crate) legacy: Option<before_agent_start::Decision>,
}

/// Asks the hooks of the model phase.
pub(crate) async fn select(run: &RunState, request: &RunRequest, configured: ModelRef) -> Selection {
    let mut overrides = before_model_resolve::Answer::default();
    if run.hooks().has(HookId::BeforeModelResolve) {
        let attachments = request.images.iter().map(attachment).collect();
        let event = before_model_resolve::Event { prompt: request.message.clone(), attachments };
        if let Ok(dispatched) = run.hooks().decide::<BeforeModelResolve>(&event, &run.agent_context(), run.scope()).await {
            overrides = dispatched.decision;
        }
    }
    let legacy = ask_legacy(run, &request.message).await;
    if let Some(legacy) = &legacy {
        overrides = before_model_resolve::Answer {
            provider_override: overrides.provider_override.or_else(|| legacy.model.provider_override.clone()),
            model_override: overrides.model_override.or_else(|| legacy.model.model_override.clone()),
        };
    }
    Selection { model: apply(configured, overrides), legacy }
}

fn attachment(image: &ImageBlock) -> Attachment {
    Attachment { kind: AttachmentKind::Image, mime_type: Some(image.mime_type.clone()) }
}

async fn ask_legacy(run: &RunState, prompt: &str) -> Option<before_agent_start::Decision> {
    if !run.hooks().has(HookId::BeforeAgentStart) {
        return None;
    }
    let event = before_agent_start::Event { prompt: prompt.to_owned(), messages: None };
    let dispatched = run.hooks().decide::<BeforeAgentStart>(&event, &run.agent_context(), run.scope()).await.ok()?;
    dispatched.decision.answered.then_some(dispatched.decision)
}

/// The provider is applied first; a model alone keeps the provider.
fn apply(configured: ModelRef, overrides: before_model_resolve::Answer) -> ModelRef {
    ModelRef {
        provider: overrides.provider_override.unwrap_or(configured.provider),
        model: overrides.model_override.unwrap_or(configured.model),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_alone_keeps_the_provider() {
        let overrides = |provider: Option<&str>, model: Option<&str>| before_model_resolve::Answer {
            provider_override: provider.map(str::to_owned),
            model_override: model.map(str::to_owned),
        };
        let configured = ModelRef::new("p", "m");
        assert_eq!(apply(configured.clone(), overrides(None, Some("x"))), ModelRef::new("p", "x"));
        assert_eq!(apply(configured.clone(), overrides(Some("q"), Some("x"))), ModelRef::new("q", "x"));
        assert_eq!(apply(configured.clone(), overrides(None, None)), configured);
    }
}
