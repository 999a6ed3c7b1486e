//! Answers as the contract has them, field by field from lines. Each field takes every value that its type allows, as a guest's would.

use super::lines::Lines;
use crate::bindings::creel::plugin::types as wit;
use crate::bindings::exports::creel::plugin as exports;

/// A type of the contract that a guest returns.
pub(super) trait Scripted {
    /// Reads one.
    fn read(lines: &mut Lines<'_>) -> Self;
}

/// Reads a record field by field, in the order that is written here.
macro_rules! scripted {
    ($($record:ty { $($field:ident: $read:expr,)* })*) => {
        $(
            impl Scripted for $record {
                fn read(lines: &mut Lines<'_>) -> Self {
                    Self { $($field: lines.read($read),)* }
                }
            }
        )*
    };
}

scripted! {
    exports::before_model_resolve::Answer {
        provider_override: Lines::optional_text,
        model_override: Lines::optional_text,
    }
    exports::agent_turn_prepare::Answer {
        prepend_context: Lines::optional_text,
        append_context: Lines::optional_text,
    }
    exports::before_prompt_build::Answer {
        prepend_context: Lines::optional_text,
        append_context: Lines::optional_text,
        system_prompt: Lines::optional_text,
        prepend_system_context: Lines::optional_text,
        append_system_context: Lines::optional_text,
        tools_allow: |lines| lines.optional(|lines| lines.list(Lines::text)),
    }
    exports::before_agent_start::Answer {
        provider_override: Lines::optional_text,
        model_override: Lines::optional_text,
        prepend_context: Lines::optional_text,
        append_context: Lines::optional_text,
        system_prompt: Lines::optional_text,
        prepend_system_context: Lines::optional_text,
        append_system_context: Lines::optional_text,
        tools_allow: |lines| lines.optional(|lines| lines.list(Lines::text)),
    }
    exports::before_agent_reply::Answer {
        handled: Lines::flag,
        reply: Lines::optional_text,
        reason: Lines::optional_text,
    }
    exports::before_agent_run::Block {
        reason: Lines::text,
        message: Lines::optional_text,
        category: Lines::optional_text,
        metadata: Lines::optional_text,
    }
    exports::before_agent_finalize::Answer {
        action: |lines| lines.optional(action),
        reason: Lines::optional_text,
        retry: |lines| lines.optional(Scripted::read),
    }
    exports::before_agent_finalize::Retry {
        instruction: Lines::text,
        idempotency_key: Lines::optional_text,
        max_attempts: |lines| lines.optional(Lines::number),
    }
    exports::before_tool_call::Answer {
        params: Lines::optional_text,
        block: Lines::flag,
        block_reason: Lines::optional_text,
        require_approval: |lines| lines.optional(Scripted::read),
    }
    exports::resolve_exec_env::Answer {
        env: |lines| lines.list(Scripted::read),
    }
    exports::resolve_exec_env::EnvVar {
        name: Lines::text,
        value: Lines::text,
    }
    exports::tool_result_persist::Answer {
        message: Lines::text,
    }
    exports::reply_payload_sending::Answer {
        payload: Lines::optional_text,
        cancel: Lines::flag,
        reason: Lines::optional_text,
    }
    exports::message_sending::Answer {
        content: Lines::optional_text,
        cancel: Lines::flag,
        cancel_reason: Lines::optional_text,
        metadata: Lines::optional_text,
    }
    exports::before_message_write::Answer {
        block: Lines::flag,
        message: Lines::optional_text,
    }
    exports::before_install::Answer {
        findings: |lines| lines.list(Scripted::read),
        block: Lines::flag,
        block_reason: Lines::optional_text,
    }
    exports::before_install::FindingResult {
        rule_id: Lines::text,
        severity: severity,
        file: Lines::text,
        line: Lines::number,
        message: Lines::text,
    }
    exports::tools::Tool {
        name: Lines::text,
        label: Lines::optional_text,
        description: Lines::text,
        parameters: Lines::text,
        output_schema: Lines::optional_text,
        optional: Lines::flag,
    }
    wit::ToolResult {
        content: |lines| lines.list(Scripted::read),
        details: Lines::optional_text,
        terminate: Lines::flag,
    }
    wit::Image {
        data: |lines| lines.text().into_bytes(),
        mime_type: Lines::text,
    }
    wit::ApprovalRequest {
        title: Lines::text,
        description: Lines::text,
        scope: |lines| lines.optional(Scripted::read),
        severity: |lines| lines.optional(approval_severity),
        timeout_ms: |lines| lines.optional(Lines::number),
        timeout_behavior: |lines| lines.optional(timeout_behavior),
        timeout_reason: Lines::optional_text,
        allowed_decisions: allowed_decisions,
        on_resolution: Lines::optional_text,
    }
    wit::ScopeMessage {
        target: Lines::text,
        recipient_count: Lines::number,
        recipients: |lines| lines.list(Lines::text),
        audience: |lines| lines.one_of(wit::ScopeAudience::Internal, &[("external", wit::ScopeAudience::External)]),
    }
    wit::ScopePayment {
        amount: Lines::text,
        currency: Lines::text,
        target: Lines::text,
    }
    wit::ScopePost {
        target: Lines::text,
        visibility: |lines| lines.one_of(wit::ScopeVisibility::Public, &[("restricted", wit::ScopeVisibility::Restricted)]),
    }
}

impl Scripted for exports::before_agent_run::Answer {
    fn read(lines: &mut Lines<'_>) -> Self {
        match lines.line() {
            "block" => Self::Block(Scripted::read(lines)),
            _ => Self::Pass,
        }
    }
}

impl Scripted for wit::ContentBlock {
    fn read(lines: &mut Lines<'_>) -> Self {
        match lines.line() {
            "image" => Self::Image(Scripted::read(lines)),
            _ => Self::Text(lines.text()),
        }
    }
}

impl Scripted for wit::ApprovalScope {
    fn read(lines: &mut Lines<'_>) -> Self {
        match lines.line() {
            "payment" => Self::Payment(Scripted::read(lines)),
            "post" => Self::ExternalPost(Scripted::read(lines)),
            _ => Self::MessageSend(Scripted::read(lines)),
        }
    }
}

fn action(lines: &mut Lines<'_>) -> exports::before_agent_finalize::Action {
    use exports::before_agent_finalize::Action;
    lines.one_of(Action::Continue, &[("revise", Action::Revise), ("finalize", Action::Finalize)])
}

fn severity(lines: &mut Lines<'_>) -> exports::before_install::Severity {
    use exports::before_install::Severity;
    lines.one_of(Severity::Info, &[("warn", Severity::Warn), ("critical", Severity::Critical)])
}

fn approval_severity(lines: &mut Lines<'_>) -> wit::ApprovalSeverity {
    use wit::ApprovalSeverity as Severity;
    lines.one_of(Severity::Info, &[("warning", Severity::Warning), ("critical", Severity::Critical)])
}

fn timeout_behavior(lines: &mut Lines<'_>) -> wit::TimeoutBehavior {
    lines.one_of(wit::TimeoutBehavior::Deny, &[("allow", wit::TimeoutBehavior::Allow)])
}

/// A line with the names of decisions.
fn allowed_decisions(lines: &mut Lines<'_>) -> wit::ApprovalDecisions {
    let line = lines.line();
    let named = |name, flag| if line.contains(name) { flag } else { wit::ApprovalDecisions::empty() };
    named("once", wit::ApprovalDecisions::ALLOW_ONCE)
        | named("always", wit::ApprovalDecisions::ALLOW_ALWAYS)
        | named("deny", wit::ApprovalDecisions::DENY)
}
