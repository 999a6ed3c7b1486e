//! One sample of each event and context, with something in every field. A hook that is missing here fails the test.

use std::sync::Arc;

use domain::approval::ApprovalOutcome;
use domain::message::{AgentMessage, ContentBlock, ToolResultMessage, Usage, UserMessage};
use domain::model::ConnectionFailure;
use domain::payload::{PayloadKind, ReplyPayload};
use domain::tool::ToolOutcome;
use domain::{AgentId, CallId, JsonText, ModelCallId, PluginId, RunId, SessionId, SessionKey};
use hooks::HookId;
use hooks::context::*;
use hooks::events::before_install::{ContentType, Plugin, Skill, Target};
use hooks::events::before_model_resolve::{Attachment, AttachmentKind};
use hooks::events::observed::*;
use hooks::events::*;
use serde_json::Map;

use crate::check;

fn text() -> String {
    "x".to_owned()
}

fn some() -> Option<String> {
    Some(text())
}

fn json() -> JsonText {
    JsonText::parse(r#"{"a":1}"#).unwrap()
}

fn messages() -> Messages {
    Arc::from([json()])
}

fn reference() -> Option<ChannelRef> {
    Some(ChannelRef::Num(1))
}

fn result() -> ToolResultMessage {
    ToolResultMessage {
        tool_call_id: CallId::new("c"),
        tool_name: text(),
        content: vec![ContentBlock::text("secret")],
        details: Some(1.into()),
        is_error: true,
        timestamp: 1,
        extra: Map::from_iter([("k".to_owned(), 1.into())]),
    }
}

fn injection() -> agent_turn_prepare::QueuedInjection {
    agent_turn_prepare::QueuedInjection {
        id: text(),
        plugin_id: PluginId::new("p"),
        plugin_name: some(),
        created_at: 1,
        placement: agent_turn_prepare::Placement::Append,
        text: text(),
        idempotency_key: some(),
        ttl_ms: Some(1),
        metadata: Some(json()),
    }
}

fn installed(target: Target) -> before_install::Event {
    before_install::Event {
        target,
        target_name: text(),
        source_path: text(),
        source_is_directory: true,
        origin: Some(json()),
        request_kind: text(),
        is_update: true,
        requested_specifier: some(),
    }
}

/// Checks the event of a hook.
pub(crate) fn each(hook: HookId) {
    let at = hook.name();
    match hook {
        HookId::BeforeModelResolve => {
            let attachments = vec![Attachment { kind: AttachmentKind::Image, mime_type: some() }];
            check(at, &before_model_resolve::Event { prompt: text(), attachments }, &[]);
        }
        HookId::AgentTurnPrepare => {
            let queued_injections = vec![injection()];
            check(at, &agent_turn_prepare::Event { prompt: text(), messages: messages(), queued_injections }, &[]);
        }
        HookId::BeforePromptBuild => {
            let event = before_prompt_build::Event {
                prompt: text(),
                messages: messages(),
                current_user_message: some(),
                current_user_message_id: some(),
                tool_authority: some(),
            };
            check(at, &event, &[]);
        }
        HookId::BeforeAgentStart => {
            check(at, &before_agent_start::Event { prompt: text(), messages: Some(messages()) }, &[]);
        }
        HookId::BeforeAgentReply => {
            let event = before_agent_reply::Event { cleaned_body: text(), heartbeat_event_queue_session_key: some() };
            check(at, &event, &[]);
        }
        HookId::BeforeAgentRun => {
            let event = before_agent_run::Event {
                prompt: text(),
                messages: messages(),
                system_prompt: some(),
                sender_is_owner: Some(true),
            };
            check(at, &event, &[]);
        }
        HookId::BeforeAgentFinalize => {
            let event = before_agent_finalize::Event {
                stop_hook_active: true,
                turn_id: some(),
                provider: some(),
                model: some(),
                cwd: some(),
                transcript_path: some(),
                last_assistant_message: some(),
                messages: Some(messages()),
            };
            check(at, &event, &[]);
        }
        HookId::BeforeToolCall => {
            let event = before_tool_call::Event {
                tool_name: text(),
                params: json(),
                tool_call_id: CallId::new("c"),
                tool_kind: some(),
                tool_input_kind: some(),
                derived_paths: vec![text()],
                vetoed: some(),
            };
            check(at, &event, &[]);
        }
        HookId::ResolveExecEnv => {
            check(at, &resolve_exec_env::Event { tool_name: text(), host: resolve_exec_env::ExecHost::Node }, &[]);
        }
        HookId::ToolResultPersist => {
            let event = tool_result_persist::Event {
                message: result(),
                tool_name: text(),
                tool_call_id: CallId::new("c"),
                is_synthetic: true,
            };
            check(at, &event, &[]);
        }
        HookId::BeforeMessageWrite => {
            let custom = Map::from_iter([("role".to_owned(), "custom".into()), ("content".to_owned(), "secret".into())]);
            let user = UserMessage { content: vec![ContentBlock::text("secret")], ..UserMessage::default() };
            for message in [AgentMessage::User(user), AgentMessage::ToolResult(result()), AgentMessage::Custom(custom)] {
                check(at, &before_message_write::Event { message }, &[]);
            }
        }
        HookId::ReplyPayloadSending => {
            let event = reply_payload_sending::Event {
                payload: ReplyPayload::text("secret"),
                kind: PayloadKind::Tool,
                channel: some(),
                usage_state: Some(json()),
            };
            check(at, &event, &[]);
        }
        HookId::MessageSending => {
            let event = message_sending::Event {
                to: text(),
                content: text(),
                reply_to_id: reference(),
                thread_id: reference(),
                metadata: Some(json()),
            };
            check(at, &event, &[]);
        }
        HookId::BeforeInstall => {
            let skill = Target::Skill(Box::new(Skill { install_id: text(), install_spec: None }));
            let plugin = Target::Plugin(Plugin {
                plugin_id: text(),
                content_type: ContentType::File,
                package_name: some(),
                manifest_id: some(),
                version: some(),
                extensions: vec![text()],
            });
            for target in [skill, plugin] {
                check(at, &installed(target), &["skill", "plugin"]);
            }
        }
        _ => watched(hook),
    }
}

/// Checks the event of a hook that only watches.
fn watched(hook: HookId) {
    let at = hook.name();
    match hook {
        HookId::AgentEnd => {
            check(at, &AgentEnd { messages: messages(), success: true, error: some(), duration_ms: Some(1) }, &[]);
        }
        HookId::LlmInput => {
            let event = LlmInput {
                provider: text(),
                model: text(),
                system_prompt: some(),
                prompt: text(),
                history_messages: messages(),
                images_count: 1,
                tools: Some(messages()),
            };
            check(at, &event, &[]);
        }
        HookId::LlmOutput => {
            let event = LlmOutput {
                provider: text(),
                model: text(),
                assistant_texts: vec![text()],
                resolved_ref: some(),
                harness_id: some(),
                prompt: some(),
                last_assistant: Some(json()),
                usage: Some(Usage::default()),
                reasoning_effort: some(),
                fast_mode: Some(true),
            };
            check(at, &event, &[]);
        }
        HookId::ModelCallStarted => {
            let event = ModelCallStarted {
                call_id: ModelCallId::new("c"),
                provider: text(),
                model: text(),
                api: some(),
                transport: some(),
            };
            check(at, &event, &[]);
        }
        HookId::ModelCallEnded => {
            let event = ModelCallEnded {
                call_id: ModelCallId::new("c"),
                provider: text(),
                model: text(),
                api: some(),
                transport: some(),
                duration_ms: 1,
                completed: true,
                error_category: some(),
                failure_kind: Some(ConnectionFailure::Timeout),
                request_payload_bytes: Some(1),
                response_stream_bytes: Some(1),
                time_to_first_byte_ms: Some(1),
                upstream_request_id_hash: some(),
            };
            check(at, &event, &[]);
        }
        HookId::ApprovalResolved => {
            let event = ApprovalResolved {
                note: text(),
                outcome: ApprovalOutcome::Deny,
                tool_name: text(),
                tool_call_id: CallId::new("c"),
            };
            check(at, &event, &[]);
        }
        HookId::AfterToolCall => {
            let event = AfterToolCall {
                tool_name: text(),
                params: json(),
                tool_call_id: CallId::new("c"),
                tool_kind: some(),
                tool_input_kind: some(),
                outcome: ToolOutcome::Failed,
                result: Some(json()),
                error: some(),
                duration_ms: Some(1),
            };
            check(at, &event, &[]);
        }
        HookId::MessageReceived => check(at, &received(), &[]),
        HookId::MessageSent => {
            let event = MessageSent { to: text(), content: text(), success: true, message_id: some(), error: some() };
            check(at, &event, &[]);
        }
        HookId::SessionStart => check(at, &SessionStart { resumed_from: some() }, &[]),
        HookId::SessionEnd => {
            let event = SessionEnd {
                message_count: 1,
                duration_ms: Some(1),
                reason: Some(EndReason::Idle),
                session_file: some(),
                transcript_archived: Some(true),
                next_session_id: some(),
                next_session_key: some(),
                transcript: Ok(()),
            };
            check(at, &event, &[]);
        }
        HookId::BeforeReset => {
            check(at, &BeforeReset { session_file: some(), messages: Some(messages()), reason: some() }, &[]);
        }
        HookId::BeforeCompaction => {
            let event = BeforeCompaction {
                message_count: Some(1),
                compacting_count: Some(1),
                token_count: Some(1),
                messages: Some(messages()),
                session_file: some(),
            };
            check(at, &event, &[]);
        }
        HookId::AfterCompaction => {
            let event = AfterCompaction {
                message_count: Some(1),
                compacted_count: 1,
                token_count: Some(1),
                session_file: some(),
                previous_session_id: some(),
            };
            check(at, &event, &[]);
        }
        HookId::GatewayStart => check(at, &GatewayStart { port: 1 }, &[]),
        HookId::GatewayStop => check(at, &GatewayStop { reason: some() }, &[]),
        other => panic!("there is no sample of {other}"),
    }
}

fn received() -> MessageReceived {
    let update = ProviderUpdate { id: text(), kind: text(), message_id: some(), message_timestamp: None, edited_timestamp: None };
    MessageReceived {
        from: text(),
        content: text(),
        timestamp: Some(1),
        thread_id: reference(),
        location: Some(Location::default()),
        provider_update: Some(update),
        media: vec![MediaFact::default()],
        original_media: vec![MediaFact::default()],
        media_staging_pending: true,
        metadata: Some(json()),
    }
}

/// Checks all contexts.
pub(crate) fn contexts() {
    let (agent_id, session_id, run_id) = (AgentId::main(), SessionId::new("s"), RunId::new("r"));
    let session_key = SessionKey::main(&agent_id);
    let extra = || vec![(text(), json())];
    let provenance = InputProvenance {
        kind: ProvenanceKind::ExternalUser,
        origin_session_id: some(),
        source_session_key: some(),
        source_channel: some(),
        source_tool: some(),
    };
    let agent = AgentContext {
        run_id: Some(run_id.clone()),
        job_id: some(),
        trigger: Some(Trigger::User),
        workspace_dir: some(),
        model_provider_id: some(),
        model_id: some(),
        message_provider: some(),
        channel: some(),
        channel_id: some(),
        account_id: some(),
        chat_id: some(),
        sender_id: some(),
        input_provenance: Some(provenance),
        context_window: Some(ContextWindow::default()),
        channel_context: Some(json()),
        active_project_keys: vec![text()],
        sandboxed: Some(true),
        memory_audience: Some(json()),
        extra: extra(),
        ..AgentContext::new(agent_id.clone(), session_key.clone(), session_id.clone())
    };
    check("agent context", &agent, &[]);
    let tool = ToolContext {
        agent_id: agent_id.clone(),
        session_key: session_key.clone(),
        session_id: session_id.clone(),
        run_id: run_id.clone(),
        channel_id: some(),
        requester: Some(Requester::default()),
        is_preflight: true,
        extra: extra(),
    };
    check("tool context", &tool, &[]);
    let message = MessageContext {
        account_id: some(),
        conversation_id: some(),
        session_key: Some(session_key.clone()),
        run_id: Some(run_id),
        message_id: some(),
        sender_id: some(),
        reply_to: Some(ReplyRef::default()),
        extra: extra(),
        ..MessageContext::new("c")
    };
    check("message context", &message, &[]);
    let session = SessionContext { agent_id: agent_id.clone(), session_key: session_key.clone(), session_id, extra: extra() };
    check("session context", &session, &[]);
    check("transcript context", &TranscriptContext { agent_id, session_key }, &[]);
    let gateway = GatewayContext { port: Some(1), config: Some(json()), workspace_dir: some(), extra: extra() };
    check("gateway context", &gateway, &[]);
    check("install context", &InstallContext { extra: extra() }, &[]);
}
