//! Creel plugin `run-journal`: counts what happens, through every hook that observes.
//!
//! Keeps numbers and the names of tools, models, channels; never a text that a person or a model wrote.

mod counter;
mod names;

use counter::{add, count};
use creel_plugin::Usage;
use creel_plugin::prelude::*;

struct RunJournal;

#[plugin]
impl Plugin for RunJournal {
    fn agent_end(_: &Call, event: AgentEndEvent, _: AgentContext) -> Result<()> {
        count(&["hook", "agent_end"])?;
        count(&["run", if event.success { "ok" } else { "failed" }])?;
        add(&["run", "ms"], event.duration_ms.unwrap_or(0))
    }

    fn llm_input(_: &Call, event: LlmInputEvent, _: AgentContext) -> Result<()> {
        count(&["hook", "llm_input"])?;
        add(&["model", &event.provider, &event.model, "images"], event.images_count)
    }

    fn llm_output(_: &Call, event: LlmOutputEvent, _: AgentContext) -> Result<()> {
        count(&["hook", "llm_output"])?;
        event.usage.map_or(Ok(()), add_usage)
    }

    fn model_call_started(_: &Call, event: ModelCallStartedEvent, _: AgentContext) -> Result<()> {
        count(&["hook", "model_call_started"])?;
        count(&["model", &event.provider, &event.model, "started"])
    }

    fn model_call_ended(_: &Call, event: ModelCallEndedEvent, _: AgentContext) -> Result<()> {
        let outcome = names::model_call(event.outcome);
        count(&["hook", "model_call_ended"])?;
        count(&["model", &event.provider, &event.model, outcome])?;
        add(&["model", &event.provider, &event.model, "ms"], event.duration_ms)
    }

    fn after_tool_call(_: &Call, event: AfterToolCallEvent, _: ToolContext) -> Result<()> {
        count(&["hook", "after_tool_call"])?;
        count(&["tool", &event.tool_name, names::tool_outcome(event.outcome)])?;
        add(&["tool", &event.tool_name, "ms"], event.duration_ms.unwrap_or(0))
    }

    fn message_received(_: &Call, _: MessageReceivedEvent, ctx: MessageContext) -> Result<()> {
        count(&["hook", "message_received"])?;
        count(&["message", &ctx.channel_id, "received"])
    }

    fn message_sent(_: &Call, event: MessageSentEvent, ctx: MessageContext) -> Result<()> {
        let outcome = if event.success { "sent" } else { "failed" };
        count(&["hook", "message_sent"])?;
        count(&["message", &ctx.channel_id, outcome])
    }

    fn session_start(_: &Call, event: SessionStartEvent, _: SessionContext) -> Result<()> {
        let kind = if event.resumed_from.is_some() { "continued" } else { "new" };
        count(&["hook", "session_start"])?;
        count(&["session", kind])
    }

    fn session_end(_: &Call, event: SessionEndEvent, _: SessionContext) -> Result<()> {
        count(&["hook", "session_end"])?;
        count(&["session", "ended", names::end_reason(event.reason)])
    }

    fn before_reset(_: &Call, _: BeforeResetEvent, _: AgentContext) -> Result<()> {
        count(&["hook", "before_reset"])
    }

    fn before_compaction(_: &Call, _: BeforeCompactionEvent, _: AgentContext) -> Result<()> {
        count(&["hook", "before_compaction"])
    }

    fn after_compaction(_: &Call, event: AfterCompactionEvent, _: AgentContext) -> Result<()> {
        count(&["hook", "after_compaction"])?;
        add(&["compaction", "messages"], event.compacted_count)
    }

    fn gateway_start(_: &Call, _: GatewayStartEvent, _: GatewayContext) -> Result<()> {
        count(&["hook", "gateway_start"])
    }

    fn gateway_stop(_: &Call, _: GatewayStopEvent, _: GatewayContext) -> Result<()> {
        count(&["hook", "gateway_stop"])
    }
}

fn add_usage(usage: Usage) -> Result<()> {
    for (kind, tokens) in
        [("input", usage.input), ("output", usage.output), ("cache-read", usage.cache_read), ("cache-write", usage.cache_write)]
    {
        add(&["tokens", kind], tokens.unwrap_or(0))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
