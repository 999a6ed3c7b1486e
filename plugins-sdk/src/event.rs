//! What handlers are given: events, contexts, and the values inside them, under the names of their hooks.
//!
//! The records are those of the contract; their fields are public and documented there. What is added here reads the fields that
//! hold JSON. Nothing is parsed before it is asked for.

pub use crate::bindings::host::creel::plugin::types::{
    AgentContext, ApprovalOutcome, ContextWindow, ContextWindowSource, GatewayContext, Id, InputProvenance, MessageContext,
    Placement, PolicyPhase, ProvenanceKind, ReplyRef, Requester, SessionContext, ToolContext, ToolInputKind, ToolKind,
    ToolOutcome, TranscriptContext, Trigger, Usage,
};

pub use crate::bindings::after_compaction::Event as AfterCompactionEvent;
pub use crate::bindings::after_tool_call::Event as AfterToolCallEvent;
pub use crate::bindings::agent_end::Event as AgentEndEvent;
pub use crate::bindings::agent_turn_prepare::{Event as AgentTurnPrepareEvent, QueuedInjection};
pub use crate::bindings::approval_resolved::Event as ApprovalResolvedEvent;
pub use crate::bindings::before_agent_finalize::Event as BeforeAgentFinalizeEvent;
pub use crate::bindings::before_agent_reply::Event as BeforeAgentReplyEvent;
pub use crate::bindings::before_agent_run::Event as BeforeAgentRunEvent;
pub use crate::bindings::before_agent_start::Event as BeforeAgentStartEvent;
pub use crate::bindings::before_compaction::Event as BeforeCompactionEvent;
pub use crate::bindings::before_install::{
    BuiltinScan, ContentType, Event as BeforeInstallEvent, Finding, InstallContext, InstallSpec, Installer, PathKind,
    Plugin as InstalledPlugin, Request as InstallRequest, RequestKind, RequestMode, ScanStatus, Severity as FindingSeverity,
    Skill as InstalledSkill, TargetType,
};
pub use crate::bindings::before_message_write::Event as BeforeMessageWriteEvent;
pub use crate::bindings::before_model_resolve::{Attachment, AttachmentKind, Event as BeforeModelResolveEvent};
pub use crate::bindings::before_prompt_build::Event as BeforePromptBuildEvent;
pub use crate::bindings::before_reset::Event as BeforeResetEvent;
pub use crate::bindings::before_tool_call::Event as BeforeToolCallEvent;
pub use crate::bindings::gateway_start::Event as GatewayStartEvent;
pub use crate::bindings::gateway_stop::Event as GatewayStopEvent;
pub use crate::bindings::llm_input::Event as LlmInputEvent;
pub use crate::bindings::llm_output::Event as LlmOutputEvent;
pub use crate::bindings::message_received::{Event as MessageReceivedEvent, Location, LocationSource, MediaFact, ProviderUpdate};
pub use crate::bindings::message_sending::Event as MessageSendingEvent;
pub use crate::bindings::message_sent::Event as MessageSentEvent;
pub use crate::bindings::model_call_ended::{
    Event as ModelCallEndedEvent, FailureKind as ModelCallFailure, Outcome as ModelCallOutcome,
};
pub use crate::bindings::model_call_started::Event as ModelCallStartedEvent;
pub use crate::bindings::reply_payload_sending::{Event as ReplyPayloadSendingEvent, PayloadKind};
pub use crate::bindings::resolve_exec_env::{Event as ResolveExecEnvEvent, ExecHost};
pub use crate::bindings::session_end::{EndReason, Event as SessionEndEvent, TranscriptAccess};
pub use crate::bindings::session_start::Event as SessionStartEvent;
pub use crate::bindings::tool_result_persist::Event as ToolResultPersistEvent;

use crate::document::{Message, Payload};
use crate::error::Result;
use crate::json_text;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Access to the parameters of a tool call.
macro_rules! params {
    ($($event:ident),*) => {$(
        impl $event {
            /// The parameters as a type of your own; let it take what it needs and ignore the rest.
            ///
            /// # Errors
            /// The parameters do not have the type's shape.
            pub fn params<T: DeserializeOwned>(&self) -> Result<T> {
                json_text::read("parameters", &self.params)
            }

            /// The parameters as an open value.
            ///
            /// # Errors
            /// The text is not JSON, which no host sends.
            pub fn params_value(&self) -> Result<Value> {
                self.params()
            }
        }
    )*};
}

params!(BeforeToolCallEvent, AfterToolCallEvent);

impl AfterToolCallEvent {
    /// The result before it is persisted. None: there is none.
    ///
    /// # Errors
    /// The text is not JSON, which no host sends.
    pub fn result_value(&self) -> Result<Option<Value>> {
        json_text::read_option("result", self.result.as_ref())
    }
}

/// Access to the one message of a transcript hook.
macro_rules! message {
    ($($event:ident),*) => {$(
        impl $event {
            /// The message as an open object; unknown keys survive a rewrite.
            ///
            /// # Errors
            /// The text is not a JSON object, which no host sends.
            pub fn message(&self) -> Result<Message> {
                Message::parse(&self.message)
            }
        }
    )*};
}

message!(ToolResultPersistEvent, BeforeMessageWriteEvent);

/// Access to the messages of a conversation.
macro_rules! messages {
    ($($event:ident.$field:ident),*) => {$(
        impl $event {
            /// The messages, oldest first, each parsed when the iterator reaches it.
            pub fn messages(&self) -> impl DoubleEndedIterator<Item = Result<Message>> + '_ {
                self.$field.iter().map(|text| Message::parse(text))
            }
        }
    )*};
    (optional $($event:ident),*) => {$(
        impl $event {
            /// The messages, oldest first, each parsed when the iterator reaches it. None: the host did not load them.
            pub fn messages(&self) -> Option<impl DoubleEndedIterator<Item = Result<Message>> + '_> {
                let messages = self.messages.as_ref()?;
                Some(messages.iter().map(|text| Message::parse(text)))
            }
        }
    )*};
}

messages!(
    AgentTurnPrepareEvent.messages,
    BeforePromptBuildEvent.messages,
    BeforeAgentRunEvent.messages,
    AgentEndEvent.messages,
    LlmInputEvent.history_messages
);
messages!(
    optional BeforeAgentStartEvent,
    BeforeAgentFinalizeEvent,
    BeforeResetEvent,
    BeforeCompactionEvent
);

/// Access to what a channel says beside the text.
macro_rules! metadata {
    ($($event:ident),*) => {$(
        impl $event {
            /// What else the channel says, as a type of your own. None: nothing.
            ///
            /// # Errors
            /// The metadata does not have the type's shape.
            pub fn metadata<T: DeserializeOwned>(&self) -> Result<Option<T>> {
                json_text::read_option("metadata", self.metadata.as_ref())
            }
        }
    )*};
}

metadata!(MessageReceivedEvent, MessageSendingEvent, QueuedInjection);

impl ReplyPayloadSendingEvent {
    /// The payload as an open object; unknown keys survive a rewrite.
    ///
    /// # Errors
    /// The text is not a JSON object, which no host sends.
    pub fn payload(&self) -> Result<Payload> {
        Payload::parse(&self.payload)
    }

    /// State of the turn's use, as a type of your own. None: not a live turn.
    ///
    /// # Errors
    /// The state does not have the type's shape.
    pub fn usage_state<T: DeserializeOwned>(&self) -> Result<Option<T>> {
        json_text::read_option("usage state", self.usage_state.as_ref())
    }
}

impl BeforeInstallEvent {
    /// Where the material came from, as a type of your own. None: unknown.
    ///
    /// # Errors
    /// The origin does not have the type's shape.
    pub fn origin<T: DeserializeOwned>(&self) -> Result<Option<T>> {
        json_text::read_option("origin", self.origin.as_ref())
    }
}

impl AgentContext {
    /// What the channel says about sender and chat, as a type of your own. None: nothing.
    ///
    /// # Errors
    /// The context does not have the type's shape.
    pub fn channel_context<T: DeserializeOwned>(&self) -> Result<Option<T>> {
        json_text::read_option("channel context", self.channel_context.as_ref())
    }
}

impl GatewayContext {
    /// The host's configuration without secrets, as a type of your own. None: not granted.
    ///
    /// # Errors
    /// The configuration does not have the type's shape.
    pub fn config<T: DeserializeOwned>(&self) -> Result<Option<T>> {
        json_text::read_option("host configuration", self.config.as_ref())
    }
}
