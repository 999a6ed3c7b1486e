//! The fields of the contexts. The ids stay.

use super::fields;
use crate::context::{
    AgentContext, GatewayContext, InstallContext, MessageContext, SessionContext, ToolContext, TranscriptContext,
};

fields!(AgentContext {
    agent_id = "agentId" always,
    session_key = "sessionKey" always,
    session_id = "sessionId" always,
    run_id = "runId" always,
    job_id = "jobId",
    trigger = "trigger",
    workspace_dir = "workspaceDir",
    model_provider_id = "modelProviderId",
    model_id = "modelId",
    message_provider = "messageProvider",
    channel = "channel",
    channel_id = "channelId",
    account_id = "accountId",
    chat_id = "chatId",
    sender_id = "senderId",
    input_provenance = "inputProvenance",
    context_window = "contextWindow",
    channel_context = "channelContext",
    active_project_keys = "activeProjectKeys",
    sandboxed = "sandboxed",
    memory_audience = "memoryAudience",
    extra = "extra",
});

fields!(ToolContext {
    agent_id = "agentId" always,
    session_key = "sessionKey" always,
    session_id = "sessionId" always,
    run_id = "runId" always,
    channel_id = "channelId",
    requester = "requester",
    is_preflight = "policyPhase",
    extra = "extra",
});

fields!(MessageContext {
    channel_id = "channelId",
    account_id = "accountId",
    conversation_id = "conversationId",
    session_key = "sessionKey" always,
    run_id = "runId" always,
    message_id = "messageId",
    sender_id = "senderId",
    reply_to = "replyTo",
    extra = "extra",
});

fields!(SessionContext {
    agent_id = "agentId" always,
    session_key = "sessionKey" always,
    session_id = "sessionId" always,
    extra = "extra",
});

fields!(TranscriptContext {
    agent_id = "agentId" always,
    session_key = "sessionKey" always,
});

fields!(GatewayContext {
    port = "port",
    config = "config",
    workspace_dir = "workspaceDir",
    extra = "extra",
});

fields!(InstallContext {
    extra = "extra",
});
