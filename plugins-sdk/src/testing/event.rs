//! Events for tests, one function per hook: what a test is about is an argument, the rest is absent or empty. Their fields are
//! public; set what a test needs.
//!
//! ```
//! use creel_plugin::testing::event;
//! use creel_plugin::{BeforeToolCallEvent, json};
//!
//! let call = BeforeToolCallEvent {
//!     vetoed: Some("the same call three times".to_owned()),
//!     ..event::before_tool_call("exec", &json!({ "command": "ls" }))
//! };
//! assert_eq!(call.tool_call_id, "c1");
//! ```

use crate::event::*;
use crate::tool::ToolCall;
use serde_json::Value;

const CALL_ID: &str = "c1";
const PROVIDER: &str = "offline";
const MODEL: &str = "echo";

/// A run with this prompt needs a model.
#[must_use]
pub fn before_model_resolve(prompt: &str) -> BeforeModelResolveEvent {
    BeforeModelResolveEvent { prompt: prompt.to_owned(), attachments: Vec::new() }
}

/// A turn with this prompt is prepared.
#[must_use]
pub fn agent_turn_prepare(prompt: &str, messages: &[Value]) -> AgentTurnPrepareEvent {
    AgentTurnPrepareEvent { prompt: prompt.to_owned(), messages: texts(messages), queued_injections: Vec::new() }
}

/// A prompt is built.
#[must_use]
pub fn before_prompt_build(prompt: &str, messages: &[Value]) -> BeforePromptBuildEvent {
    BeforePromptBuildEvent {
        prompt: prompt.to_owned(),
        messages: texts(messages),
        current_user_message: Some(prompt.to_owned()),
        current_user_message_id: None,
        tool_authority: None,
    }
}

/// A run starts; its session is not loaded.
#[must_use]
pub fn before_agent_start(prompt: &str) -> BeforeAgentStartEvent {
    BeforeAgentStartEvent { prompt: prompt.to_owned(), messages: None }
}

/// A turn is about to be answered.
#[must_use]
pub fn before_agent_reply(cleaned_body: &str) -> BeforeAgentReplyEvent {
    BeforeAgentReplyEvent { cleaned_body: cleaned_body.to_owned(), heartbeat_event_queue_session_key: None }
}

/// A request is about to go to the model.
#[must_use]
pub fn before_agent_run(prompt: &str, messages: &[Value]) -> BeforeAgentRunEvent {
    BeforeAgentRunEvent { prompt: prompt.to_owned(), messages: texts(messages), system_prompt: None, sender_is_owner: None }
}

/// An answer is about to be accepted.
#[must_use]
pub fn before_agent_finalize(last_assistant_message: &str) -> BeforeAgentFinalizeEvent {
    BeforeAgentFinalizeEvent {
        stop_hook_active: false,
        turn_id: None,
        provider: Some(PROVIDER.to_owned()),
        model: Some(MODEL.to_owned()),
        cwd: None,
        transcript_path: None,
        last_assistant_message: Some(last_assistant_message.to_owned()),
        messages: None,
    }
}

/// A run ended well.
#[must_use]
pub fn agent_end(messages: &[Value]) -> AgentEndEvent {
    AgentEndEvent { messages: texts(messages), success: true, error: None, duration_ms: Some(1200) }
}

/// A request goes to the model.
#[must_use]
pub fn llm_input(prompt: &str) -> LlmInputEvent {
    LlmInputEvent {
        provider: PROVIDER.to_owned(),
        model: MODEL.to_owned(),
        system_prompt: None,
        prompt: prompt.to_owned(),
        history_messages: Vec::new(),
        images_count: 0,
        tools: None,
    }
}

/// An answer came from the model.
#[must_use]
pub fn llm_output(text: &str) -> LlmOutputEvent {
    LlmOutputEvent {
        provider: PROVIDER.to_owned(),
        model: MODEL.to_owned(),
        assistant_texts: vec![text.to_owned()],
        resolved_ref: None,
        harness_id: None,
        prompt: None,
        last_assistant: None,
        usage: None,
        reasoning_effort: None,
        fast_mode: None,
    }
}

/// A model call starts.
#[must_use]
pub fn model_call_started() -> ModelCallStartedEvent {
    ModelCallStartedEvent {
        call_id: "m1".to_owned(),
        provider: PROVIDER.to_owned(),
        model: MODEL.to_owned(),
        api: None,
        transport: None,
    }
}

/// A model call ended.
#[must_use]
pub fn model_call_ended(outcome: ModelCallOutcome) -> ModelCallEndedEvent {
    ModelCallEndedEvent {
        call_id: "m1".to_owned(),
        provider: PROVIDER.to_owned(),
        model: MODEL.to_owned(),
        api: None,
        transport: None,
        duration_ms: 800,
        outcome,
        error_category: None,
        failure_kind: None,
        request_payload_bytes: None,
        response_stream_bytes: None,
        time_to_first_byte_ms: None,
        upstream_request_id_hash: None,
    }
}

/// A tool is about to be called.
#[must_use]
pub fn before_tool_call(tool: &str, params: &Value) -> BeforeToolCallEvent {
    BeforeToolCallEvent {
        tool_name: tool.to_owned(),
        params: params.to_string(),
        tool_call_id: CALL_ID.to_owned(),
        tool_kind: None,
        tool_input_kind: None,
        derived_paths: Vec::new(),
        vetoed: None,
    }
}

/// An approval of a call of `exec` ended.
#[must_use]
pub fn approval_resolved(note: &str, outcome: ApprovalOutcome) -> ApprovalResolvedEvent {
    ApprovalResolvedEvent { note: note.to_owned(), outcome, tool_name: "exec".to_owned(), tool_call_id: CALL_ID.to_owned() }
}

/// A tool call is over.
#[must_use]
pub fn after_tool_call(tool: &str, params: &Value, outcome: ToolOutcome) -> AfterToolCallEvent {
    AfterToolCallEvent {
        tool_name: tool.to_owned(),
        params: params.to_string(),
        tool_call_id: CALL_ID.to_owned(),
        tool_kind: None,
        tool_input_kind: None,
        outcome,
        result: None,
        error: None,
        duration_ms: None,
    }
}

/// A command is about to start beside the gateway.
#[must_use]
pub fn resolve_exec_env() -> ResolveExecEnvEvent {
    ResolveExecEnvEvent { tool_name: "exec".to_owned(), host: ExecHost::Gateway }
}

/// A tool result is about to be written.
#[must_use]
pub fn tool_result_persist(tool: &str, message: &Value) -> ToolResultPersistEvent {
    ToolResultPersistEvent {
        message: message.to_string(),
        tool_name: tool.to_owned(),
        tool_call_id: CALL_ID.to_owned(),
        is_synthetic: false,
    }
}

/// A message was accepted.
#[must_use]
pub fn message_received(content: &str) -> MessageReceivedEvent {
    MessageReceivedEvent {
        from: "user".to_owned(),
        content: content.to_owned(),
        timestamp: None,
        thread_id: None,
        location: None,
        provider_update: None,
        media: Vec::new(),
        original_media: Vec::new(),
        media_staging_pending: false,
        metadata: None,
    }
}

/// A payload, part of the final answer, is about to be sent.
#[must_use]
pub fn reply_payload_sending(payload: &Value) -> ReplyPayloadSendingEvent {
    ReplyPayloadSendingEvent { payload: payload.to_string(), kind: PayloadKind::Final, channel: None, usage_state: None }
}

/// A text is about to be sent.
#[must_use]
pub fn message_sending(content: &str) -> MessageSendingEvent {
    MessageSendingEvent { to: "user".to_owned(), content: content.to_owned(), reply_to_id: None, thread_id: None, metadata: None }
}

/// A text was sent.
#[must_use]
pub fn message_sent(content: &str, success: bool) -> MessageSentEvent {
    MessageSentEvent {
        to: "user".to_owned(),
        content: content.to_owned(),
        success,
        message_id: None,
        error: (!success).then(|| "the channel refused it".to_owned()),
    }
}

/// A session begins that continues none.
#[must_use]
pub fn session_start() -> SessionStartEvent {
    SessionStartEvent { resumed_from: None }
}

/// A session ended; its transcript can be read.
#[must_use]
pub fn session_end(message_count: u32, reason: EndReason) -> SessionEndEvent {
    SessionEndEvent {
        message_count,
        duration_ms: None,
        reason: Some(reason),
        session_file: None,
        transcript_archived: None,
        next_session_id: None,
        next_session_key: None,
        transcript: TranscriptAccess::Available,
    }
}

/// A session is about to be reset.
#[must_use]
pub fn before_reset(reason: &str) -> BeforeResetEvent {
    BeforeResetEvent { session_file: None, messages: None, reason: Some(reason.to_owned()) }
}

/// A history is about to be compacted.
#[must_use]
pub fn before_compaction(message_count: i32) -> BeforeCompactionEvent {
    BeforeCompactionEvent { message_count, compacting_count: None, token_count: None, messages: None, session_file: None }
}

/// A history was compacted.
#[must_use]
pub fn after_compaction(message_count: i32, compacted_count: u32) -> AfterCompactionEvent {
    AfterCompactionEvent { message_count, compacted_count, token_count: None, session_file: None, previous_session_id: None }
}

/// A message is about to be written.
#[must_use]
pub fn before_message_write(message: &Value) -> BeforeMessageWriteEvent {
    BeforeMessageWriteEvent { message: message.to_string() }
}

/// The gateway listens.
#[must_use]
pub fn gateway_start(port: u16) -> GatewayStartEvent {
    GatewayStartEvent { port }
}

/// The gateway stops.
#[must_use]
pub fn gateway_stop(reason: &str) -> GatewayStopEvent {
    GatewayStopEvent { reason: Some(reason.to_owned()) }
}

/// Something is about to be installed for the first time, from a directory; neither a skill's nor a plugin's facts are set.
#[must_use]
pub fn before_install(target_type: TargetType, name: &str, kind: RequestKind) -> BeforeInstallEvent {
    BeforeInstallEvent {
        target_type,
        target_name: name.to_owned(),
        source_path: format!("/staging/{name}"),
        source_path_kind: PathKind::Directory,
        origin: None,
        request: InstallRequest { kind, mode: RequestMode::Install, requested_specifier: Some(name.to_owned()) },
        builtin_scan: None,
        skill: None,
        plugin: None,
    }
}

/// A tool of the plugin is called.
#[must_use]
pub fn tool_call(tool: &str, params: &Value) -> ToolCall {
    ToolCall { name: tool.to_owned(), tool_call_id: CALL_ID.to_owned(), params: params.to_string() }
}

fn texts(messages: &[Value]) -> Vec<String> {
    messages.iter().map(Value::to_string).collect()
}
