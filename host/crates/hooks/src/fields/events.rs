//! The fields of the events, in the order of the contract.

use super::{Blank, Field, Fields, fields};
use crate::events as e;
use crate::events::before_install;
use crate::events::observed as o;

fields!(e::before_model_resolve::Event {
    prompt = "prompt",
    attachments = "attachments",
});

fields!(e::agent_turn_prepare::Event {
    prompt = "prompt",
    messages = "messages",
    queued_injections = "queuedInjections",
});

fields!(e::before_prompt_build::Event {
    prompt = "prompt",
    messages = "messages",
    current_user_message = "currentUserMessage",
    current_user_message_id = "currentUserMessageId",
    tool_authority = "toolAuthority",
});

fields!(e::before_agent_start::Event {
    prompt = "prompt",
    messages = "messages",
});

fields!(e::before_agent_reply::Event {
    cleaned_body = "cleanedBody",
    heartbeat_event_queue_session_key = "heartbeatEventQueueSessionKey",
});

fields!(e::before_agent_run::Event {
    prompt = "prompt",
    messages = "messages",
    system_prompt = "systemPrompt",
    sender_is_owner = "senderIsOwner",
});

fields!(e::before_agent_finalize::Event {
    stop_hook_active = "stopHookActive",
    turn_id = "turnId",
    provider = "provider",
    model = "model",
    cwd = "cwd",
    transcript_path = "transcriptPath",
    last_assistant_message = "lastAssistantMessage",
    messages = "messages",
});

fields!(o::AgentEnd {
    messages = "messages",
    success = "success",
    error = "error",
    duration_ms = "durationMs",
});

fields!(o::LlmInput {
    provider = "provider",
    model = "model",
    system_prompt = "systemPrompt",
    prompt = "prompt",
    history_messages = "historyMessages",
    images_count = "imagesCount",
    tools = "tools",
});

fields!(o::LlmOutput {
    provider = "provider",
    model = "model",
    assistant_texts = "assistantTexts",
    resolved_ref = "resolvedRef",
    harness_id = "harnessId",
    prompt = "prompt",
    last_assistant = "lastAssistant",
    usage = "usage",
    reasoning_effort = "reasoningEffort",
    fast_mode = "fastMode",
});

fields!(o::ModelCallStarted {
    call_id = "callId" always,
    provider = "provider",
    model = "model",
    api = "api",
    transport = "transport",
});

fields!(o::ModelCallEnded {
    call_id = "callId" always,
    provider = "provider",
    model = "model",
    api = "api",
    transport = "transport",
    duration_ms = "durationMs",
    completed = "outcome" always,
    error_category = "errorCategory",
    failure_kind = "failureKind",
    request_payload_bytes = "requestPayloadBytes",
    response_stream_bytes = "responseStreamBytes",
    time_to_first_byte_ms = "timeToFirstByteMs",
    upstream_request_id_hash = "upstreamRequestIdHash",
});

fields!(e::before_tool_call::Event {
    tool_name = "toolName",
    params = "params",
    tool_call_id = "toolCallId" always,
    tool_kind = "toolKind",
    tool_input_kind = "toolInputKind",
    derived_paths = "derivedPaths",
    vetoed = "vetoed",
});

fields!(o::ApprovalResolved {
    note = "note",
    outcome = "outcome" always,
    tool_name = "toolName",
    tool_call_id = "toolCallId" always,
});

fields!(o::AfterToolCall {
    tool_name = "toolName",
    params = "params",
    tool_call_id = "toolCallId" always,
    tool_kind = "toolKind",
    tool_input_kind = "toolInputKind",
    outcome = "outcome" always,
    result = "result",
    error = "error",
    duration_ms = "durationMs",
});

fields!(e::resolve_exec_env::Event {
    tool_name = "toolName",
    host = "host" always,
});

fields!(e::tool_result_persist::Event {
    message = "message",
    tool_name = "toolName",
    tool_call_id = "toolCallId" always,
    is_synthetic = "isSynthetic",
});

fields!(o::MessageReceived {
    from = "from",
    content = "content",
    timestamp = "timestamp",
    thread_id = "threadId",
    location = "location",
    provider_update = "providerUpdate",
    media = "media",
    original_media = "originalMedia",
    media_staging_pending = "mediaStagingPending",
    metadata = "metadata",
});

fields!(e::reply_payload_sending::Event {
    payload = "payload",
    kind = "kind" always,
    channel = "channel",
    usage_state = "usageState",
});

fields!(e::message_sending::Event {
    to = "to",
    content = "content",
    reply_to_id = "replyToId",
    thread_id = "threadId",
    metadata = "metadata",
});

fields!(o::MessageSent {
    to = "to",
    content = "content",
    success = "success",
    message_id = "messageId",
    error = "error",
});

fields!(o::SessionStart {
    resumed_from = "resumedFrom",
});

fields!(o::SessionEnd {
    message_count = "messageCount",
    duration_ms = "durationMs",
    reason = "reason",
    session_file = "sessionFile",
    transcript_archived = "transcriptArchived",
    next_session_id = "nextSessionId",
    next_session_key = "nextSessionKey",
    transcript = "transcript",
});

fields!(o::BeforeReset {
    session_file = "sessionFile",
    messages = "messages",
    reason = "reason",
});

fields!(o::BeforeCompaction {
    message_count = "messageCount",
    compacting_count = "compactingCount",
    token_count = "tokenCount",
    messages = "messages",
    session_file = "sessionFile",
});

fields!(o::AfterCompaction {
    message_count = "messageCount",
    compacted_count = "compactedCount",
    token_count = "tokenCount",
    session_file = "sessionFile",
    previous_session_id = "previousSessionId",
});

fields!(e::before_message_write::Event {
    message = "message",
});

fields!(o::GatewayStart {
    port = "port",
});

fields!(o::GatewayStop {
    reason = "reason",
});

/// By hand: what is one field of the contract is several here, and the other way round.
impl Fields for before_install::Event {
    const FIELDS: &'static [Field] = &[
        Field { name: "targetType", always: true },
        Field { name: "targetName", always: false },
        Field { name: "sourcePath", always: false },
        Field { name: "sourcePathKind", always: true },
        Field { name: "origin", always: false },
        Field { name: "request", always: false },
        // This host has no scan of its own, so there is nothing to leave out.
        Field { name: "builtinScan", always: true },
        Field { name: "skill", always: false },
        Field { name: "plugin", always: false },
    ];

    fn only(&self, kept: u64) -> Self {
        let keeps = |name: &str| Self::FIELDS.iter().position(|field| field.name == name).is_some_and(|at| kept >> at & 1 == 1);
        let details = match self.target {
            before_install::Target::Skill(_) => keeps("skill"),
            before_install::Target::Plugin(_) => keeps("plugin"),
        };
        let request = keeps("request");
        Self {
            target: kept_if(details, &self.target),
            target_name: kept_if(keeps("targetName"), &self.target_name),
            source_path: kept_if(keeps("sourcePath"), &self.source_path),
            source_is_directory: self.source_is_directory,
            origin: kept_if(keeps("origin"), &self.origin),
            request_kind: kept_if(request, &self.request_kind),
            is_update: kept_if(request, &self.is_update),
            requested_specifier: kept_if(request, &self.requested_specifier),
        }
    }
}

fn kept_if<T: Blank + Clone>(keeps: bool, value: &T) -> T {
    if keeps { value.clone() } else { value.blank() }
}
