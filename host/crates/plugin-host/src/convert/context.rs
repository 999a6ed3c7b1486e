//! The contexts: for whom a hook fires.

use domain::{RunId, SessionKey};
use hooks::context::{
    AgentContext, ContextWindow, ContextWindowSource, GatewayContext, InputProvenance, InstallContext, MessageContext,
    ProvenanceKind, ReplyRef, Requester, SessionContext, ToolContext, TranscriptContext, Trigger,
};

use super::{Arena, ToRecord};
use crate::bindings::creel::plugin::types as wit;
use crate::bindings::exports::creel::plugin::before_install;

impl<'a> ToRecord<'a> for AgentContext {
    type Record = wit::AgentContext<'a>;

    fn to_record(&'a self, arena: &'a Arena) -> Self::Record {
        wit::AgentContext {
            agent_id: self.agent_id.as_str(),
            session_key: self.session_key.as_str(),
            session_id: self.session_id.as_str(),
            run_id: self.run_id.as_ref().map(RunId::as_str),
            job_id: self.job_id.as_deref(),
            trigger: self.trigger.as_ref().map(trigger),
            workspace_dir: self.workspace_dir.as_deref(),
            model_provider_id: self.model_provider_id.as_deref(),
            model_id: self.model_id.as_deref(),
            message_provider: self.message_provider.as_deref(),
            channel: self.channel.as_deref(),
            channel_id: self.channel_id.as_deref(),
            account_id: self.account_id.as_deref(),
            chat_id: self.chat_id.as_deref(),
            sender_id: self.sender_id.as_deref(),
            input_provenance: self.input_provenance.as_ref().map(provenance),
            context_window: self.context_window.as_ref().map(window),
            channel_context: self.channel_context.as_ref().map(|json| json.as_str()),
            active_project_keys: arena.texts(&self.active_project_keys),
            sandboxed: self.sandboxed,
            memory_audience: self.memory_audience.as_ref().map(|json| json.as_str()),
            extra: arena.extra(&self.extra),
        }
    }
}

fn trigger(trigger: &Trigger) -> wit::Trigger<'_> {
    match trigger {
        Trigger::User => wit::Trigger::User,
        Trigger::Cron => wit::Trigger::Cron,
        Trigger::Heartbeat => wit::Trigger::Heartbeat,
        Trigger::Other(name) => wit::Trigger::Other(name),
    }
}

fn provenance(from: &InputProvenance) -> wit::InputProvenance<'_> {
    wit::InputProvenance {
        kind: match from.kind {
            ProvenanceKind::ExternalUser => wit::ProvenanceKind::ExternalUser,
            ProvenanceKind::InterSession => wit::ProvenanceKind::InterSession,
            ProvenanceKind::InternalSystem => wit::ProvenanceKind::InternalSystem,
        },
        origin_session_id: from.origin_session_id.as_deref(),
        source_session_key: from.source_session_key.as_deref(),
        source_channel: from.source_channel.as_deref(),
        source_tool: from.source_tool.as_deref(),
    }
}

fn window(window: &ContextWindow) -> wit::ContextWindow {
    wit::ContextWindow {
        token_budget: window.token_budget,
        source: window.source.map(|source| match source {
            ContextWindowSource::Model => wit::ContextWindowSource::Model,
            ContextWindowSource::ModelsConfig => wit::ContextWindowSource::ModelsConfig,
            ContextWindowSource::AgentContextTokens => wit::ContextWindowSource::AgentContextTokens,
            ContextWindowSource::Default => wit::ContextWindowSource::Default,
        }),
        reference_tokens: window.reference_tokens,
    }
}

impl<'a> ToRecord<'a> for ToolContext {
    type Record = wit::ToolContext<'a>;

    fn to_record(&'a self, arena: &'a Arena) -> Self::Record {
        wit::ToolContext {
            agent_id: self.agent_id.as_str(),
            session_key: self.session_key.as_str(),
            session_id: self.session_id.as_str(),
            run_id: self.run_id.as_str(),
            channel_id: self.channel_id.as_deref(),
            requester: self.requester.as_ref().map(|requester| who(requester, arena)),
            policy_phase: self.is_preflight.then_some(wit::PolicyPhase::NativePreToolUse),
            extra: arena.extra(&self.extra),
        }
    }
}

fn who<'a>(requester: &'a Requester, arena: &'a Arena) -> wit::Requester<'a> {
    wit::Requester {
        channel: requester.channel.as_deref(),
        account_id: requester.account_id.as_deref(),
        sender_id: requester.sender_id.as_deref(),
        sender_is_owner: requester.sender_is_owner,
        role_ids: requester.role_ids.as_ref().map(|roles| arena.texts(roles)),
    }
}

impl<'a> ToRecord<'a> for MessageContext {
    type Record = wit::MessageContext<'a>;

    fn to_record(&'a self, arena: &'a Arena) -> Self::Record {
        wit::MessageContext {
            channel_id: &self.channel_id,
            account_id: self.account_id.as_deref(),
            conversation_id: self.conversation_id.as_deref(),
            session_key: self.session_key.as_ref().map(SessionKey::as_str),
            run_id: self.run_id.as_ref().map(RunId::as_str),
            message_id: self.message_id.as_deref(),
            sender_id: self.sender_id.as_deref(),
            reply_to: self.reply_to.as_ref().map(answered),
            extra: arena.extra(&self.extra),
        }
    }
}

fn answered(reply_to: &ReplyRef) -> wit::ReplyRef<'_> {
    wit::ReplyRef {
        id: reply_to.id.as_deref(),
        id_full: reply_to.id_full.as_deref(),
        body: reply_to.body.as_deref(),
        sender: reply_to.sender.as_deref(),
        is_quote: reply_to.is_quote,
    }
}

impl<'a> ToRecord<'a> for SessionContext {
    type Record = wit::SessionContext<'a>;

    fn to_record(&'a self, arena: &'a Arena) -> Self::Record {
        wit::SessionContext {
            agent_id: self.agent_id.as_str(),
            session_key: self.session_key.as_str(),
            session_id: self.session_id.as_str(),
            extra: arena.extra(&self.extra),
        }
    }
}

impl<'a> ToRecord<'a> for TranscriptContext {
    type Record = wit::TranscriptContext<'a>;

    fn to_record(&'a self, _arena: &'a Arena) -> Self::Record {
        wit::TranscriptContext { agent_id: self.agent_id.as_str(), session_key: self.session_key.as_str() }
    }
}

impl<'a> ToRecord<'a> for GatewayContext {
    type Record = wit::GatewayContext<'a>;

    fn to_record(&'a self, arena: &'a Arena) -> Self::Record {
        wit::GatewayContext {
            port: self.port,
            config: self.config.as_ref().map(|json| json.as_str()),
            workspace_dir: self.workspace_dir.as_deref(),
            extra: arena.extra(&self.extra),
        }
    }
}

impl<'a> ToRecord<'a> for InstallContext {
    type Record = before_install::InstallContext<'a>;

    fn to_record(&'a self, arena: &'a Arena) -> Self::Record {
        before_install::InstallContext { extra: arena.extra(&self.extra) }
    }
}
