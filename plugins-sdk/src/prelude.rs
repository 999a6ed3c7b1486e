//! What a plugin usually needs, in one line: `use creel_plugin::prelude::*;`.

pub use crate::event::{
    AfterCompactionEvent, AfterToolCallEvent, AgentContext, AgentEndEvent, AgentTurnPrepareEvent, ApprovalResolvedEvent,
    BeforeAgentFinalizeEvent, BeforeAgentReplyEvent, BeforeAgentRunEvent, BeforeAgentStartEvent, BeforeCompactionEvent,
    BeforeInstallEvent, BeforeMessageWriteEvent, BeforeModelResolveEvent, BeforePromptBuildEvent, BeforeResetEvent,
    BeforeToolCallEvent, GatewayContext, GatewayStartEvent, GatewayStopEvent, InstallContext, LlmInputEvent, LlmOutputEvent,
    MessageContext, MessageReceivedEvent, MessageSendingEvent, MessageSentEvent, ModelCallEndedEvent, ModelCallStartedEvent,
    ReplyPayloadSendingEvent, ResolveExecEnvEvent, SessionContext, SessionEndEvent, SessionStartEvent, ToolContext,
    ToolResultPersistEvent, TranscriptContext,
};
pub use crate::{
    AgentStartChanges, Approval, Call, Error, ExecEnv, FinalizeDecision, InstallDecision, Message, ModelOverride, Payload,
    PayloadDecision, PersistDecision, Plugin, PromptChanges, ReplyDecision, Result, RunDecision, SendDecision, Tool, ToolCall,
    ToolDecision, ToolResult, ToolScope, TurnText, WriteDecision, config, invocation, json, kv, log, plugin, progress, session,
};
