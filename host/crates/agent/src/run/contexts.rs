//! For whom hooks of a run fire: contexts, made from what the run knows at that moment.

use domain::tool::ToolScope;
use hooks::context::{
    AgentContext, ContextWindow, ContextWindowSource, MessageContext, Requester, ToolContext, TranscriptContext,
};

use super::RunState;

impl RunState {
    pub(crate) fn agent_context(&self) -> AgentContext {
        let mut context = self.base_context().clone();
        if let Some(model) = self.model() {
            context.model_provider_id = Some(model.model.provider.clone());
            context.model_id = Some(model.model.model.clone());
            context.context_window = model.context_window.map(|tokens| ContextWindow {
                token_budget: Some(tokens),
                source: Some(ContextWindowSource::ModelsConfig),
                reference_tokens: None,
            });
        }
        context
    }

    pub(crate) fn tool_context(&self) -> ToolContext {
        ToolContext {
            agent_id: self.session_key().agent().clone(),
            session_key: self.session_key().clone(),
            session_id: self.session_id().clone(),
            run_id: self.run_id().clone(),
            channel_id: None,
            requester: Some(Requester {
                channel: Some(self.ports().channel.id().to_owned()),
                sender_id: Some(self.peer().to_owned()),
                sender_is_owner: self.sender_is_owner(),
                ..Requester::default()
            }),
            is_preflight: false,
            extra: Vec::new(),
        }
    }

    pub(crate) fn tool_scope(&self) -> ToolScope {
        ToolScope {
            agent_id: self.session_key().agent().clone(),
            session_key: self.session_key().clone(),
            session_id: self.session_id().clone(),
            run_id: self.run_id().clone(),
        }
    }

    pub(crate) fn message_context(&self) -> MessageContext {
        let mut context = MessageContext::new(self.ports().channel.id());
        context.session_key = Some(self.session_key().clone());
        context.run_id = Some(self.run_id().clone());
        context.sender_id = Some(self.peer().to_owned());
        context
    }

    pub(crate) fn transcript_context(&self) -> TranscriptContext {
        TranscriptContext { agent_id: self.session_key().agent().clone(), session_key: self.session_key().clone() }
    }
}
