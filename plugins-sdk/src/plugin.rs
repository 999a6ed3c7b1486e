//! The trait that a plugin implements: one method per hook, each with a default that has no opinion.
//!
//! Only says what a handler gets and answers. When a hook runs, how answers merge and what a failure means is the host's; each
//! method's text gives the part that an author must know.

use crate::call::Call;
use crate::decision::{
    AgentStartChanges, ExecEnv, FinalizeDecision, InstallDecision, ModelOverride, PayloadDecision, PersistDecision,
    PromptChanges, ReplyDecision, RunDecision, SendDecision, ToolDecision, TurnText, WriteDecision,
};
use crate::error::{Error, Result};
use crate::event::*;
use crate::tool::{Tool, ToolCall, ToolResult, ToolScope};

/// A plugin. Implement the hooks that you handle and put [`#[plugin]`](macro@crate::plugin) on the block; the component exports
/// those and no others.
///
/// Handlers are functions of the type and not of a value: an instance may serve one call or many and may vanish at any time, so
/// what must last goes through [`kv`](crate::kv) or [`session`](crate::session), and settings through [`config`](crate::config()).
///
/// `Ok(…::pass())` has no opinion. `Err` means that the handler failed: the three gates `before_tool_call`, `before_agent_run`
/// and `before_install` then block, all others go on without this answer.
#[expect(unused_variables, reason = "defaults have no opinion about what they are given")]
pub trait Plugin {
    // --- the agent's turn ---------------------------------------------------------------------------------------

    /// Chooses provider and model of a run, before its session is loaded. Of several plugins, each field is taken from the first
    /// that gives it. Needs the operator's conversation access.
    fn before_model_resolve(call: &Call, event: BeforeModelResolveEvent, ctx: AgentContext) -> Result<ModelOverride> {
        Ok(ModelOverride::pass())
    }

    /// Adds text to the prompt of a turn; sees the texts that plugins had queued for it. Texts of several plugins are joined.
    /// Needs conversation access and prompt mutation.
    fn agent_turn_prepare(call: &Call, event: AgentTurnPrepareEvent, ctx: AgentContext) -> Result<TurnText> {
        Ok(TurnText::pass())
    }

    /// Shapes the prompt after the session is loaded; called again on every rebuild of it. Stable guidance belongs around the
    /// system prompt (providers cache it), text of this turn around the user's. Needs conversation access and prompt mutation.
    fn before_prompt_build(call: &Call, event: BeforePromptBuildEvent, ctx: AgentContext) -> Result<PromptChanges> {
        Ok(PromptChanges::pass())
    }

    /// The old combination of the two hooks above. New plugins leave it alone.
    fn before_agent_start(call: &Call, event: BeforeAgentStartEvent, ctx: AgentContext) -> Result<AgentStartChanges> {
        Ok(AgentStartChanges::pass())
    }

    /// Can answer or silence a turn without a model call; the first plugin that claims it wins. Needs conversation access.
    fn before_agent_reply(call: &Call, event: BeforeAgentReplyEvent, ctx: AgentContext) -> Result<ReplyDecision> {
        Ok(ReplyDecision::pass())
    }

    /// Last gate before the first model call of a run. Fails closed: an error blocks the run. Needs conversation access.
    fn before_agent_run(call: &Call, event: BeforeAgentRunEvent, ctx: AgentContext) -> Result<RunDecision> {
        Ok(RunDecision::pass())
    }

    /// Can ask for one more model pass before a final answer is accepted. Needs conversation access.
    fn before_agent_finalize(call: &Call, event: BeforeAgentFinalizeEvent, ctx: AgentContext) -> Result<FinalizeDecision> {
        Ok(FinalizeDecision::pass())
    }

    /// Tells that a run is over, well or badly; exactly once per run. Needs conversation access.
    fn agent_end(call: &Call, event: AgentEndEvent, ctx: AgentContext) -> Result<()> {
        Ok(())
    }

    // --- the model ----------------------------------------------------------------------------------------------

    /// Tells what goes to a model, for every attempt. Needs conversation access.
    fn llm_input(call: &Call, event: LlmInputEvent, ctx: AgentContext) -> Result<()> {
        Ok(())
    }

    /// Tells what came back from a model, for every attempt. Needs conversation access.
    fn llm_output(call: &Call, event: LlmOutputEvent, ctx: AgentContext) -> Result<()> {
        Ok(())
    }

    /// Tells that a model call starts; facts only, no text.
    fn model_call_started(call: &Call, event: ModelCallStartedEvent, ctx: AgentContext) -> Result<()> {
        Ok(())
    }

    /// Tells that a model call ended; facts only, no text.
    fn model_call_ended(call: &Call, event: ModelCallEndedEvent, ctx: AgentContext) -> Result<()> {
        Ok(())
    }

    // --- tools --------------------------------------------------------------------------------------------------

    /// Can rewrite, block or ask approval for a tool call. Every handler sees the original call; the first block ends it.
    /// Fails closed: an error blocks the call. A manifest entry may limit itself to tools (`matcher`).
    fn before_tool_call(call: &Call, event: BeforeToolCallEvent, ctx: ToolContext) -> Result<ToolDecision> {
        Ok(ToolDecision::pass())
    }

    /// Tells how an approval ended that this plugin had asked for with [`Approval::on_resolution`](crate::Approval::on_resolution).
    fn approval_resolved(call: &Call, event: ApprovalResolvedEvent, ctx: ToolContext) -> Result<()> {
        Ok(())
    }

    /// Tells that a tool call is over; blocked ones too. A manifest entry may limit itself to tools (`matcher`).
    fn after_tool_call(call: &Call, event: AfterToolCallEvent, ctx: ToolContext) -> Result<()> {
        Ok(())
    }

    /// Adds environment variables to a command that the `exec` tool is about to start. The host drops dangerous names.
    fn resolve_exec_env(call: &Call, event: ResolveExecEnvEvent, ctx: AgentContext) -> Result<ExecEnv> {
        Ok(ExecEnv::pass())
    }

    /// Rewrites a tool result before it is written; from then on the model sees the rewritten one. Has 1 s.
    fn tool_result_persist(call: &Call, event: ToolResultPersistEvent, ctx: TranscriptContext) -> Result<PersistDecision> {
        Ok(PersistDecision::pass())
    }

    // --- messages -----------------------------------------------------------------------------------------------

    /// Tells that a message was accepted, before the agent handles it.
    fn message_received(call: &Call, event: MessageReceivedEvent, ctx: MessageContext) -> Result<()> {
        Ok(())
    }

    /// Can rewrite or cancel one reply payload. Every handler gets what the one before made of it; the first cancel ends it.
    fn reply_payload_sending(call: &Call, event: ReplyPayloadSendingEvent, ctx: MessageContext) -> Result<PayloadDecision> {
        Ok(PayloadDecision::pass())
    }

    /// Can rewrite or cancel a text directly before the channel sends it. Every handler gets the original text and the last
    /// rewrite counts; the first cancel ends it.
    fn message_sending(call: &Call, event: MessageSendingEvent, ctx: MessageContext) -> Result<SendDecision> {
        Ok(SendDecision::pass())
    }

    /// Tells how a delivery attempt ended; not called for a cancelled one.
    fn message_sent(call: &Call, event: MessageSentEvent, ctx: MessageContext) -> Result<()> {
        Ok(())
    }

    // --- sessions -----------------------------------------------------------------------------------------------

    /// Tells that a new session generation became current.
    fn session_start(call: &Call, event: SessionStartEvent, ctx: SessionContext) -> Result<()> {
        Ok(())
    }

    /// Tells that a session generation ended. [`ended_transcript`](crate::ended_transcript) reads its last messages.
    fn session_end(call: &Call, event: SessionEndEvent, ctx: SessionContext) -> Result<()> {
        Ok(())
    }

    /// Tells that `/new`, `/reset` or a reset by program is about to take effect.
    fn before_reset(call: &Call, event: BeforeResetEvent, ctx: AgentContext) -> Result<()> {
        Ok(())
    }

    /// Tells that history is about to be compacted.
    fn before_compaction(call: &Call, event: BeforeCompactionEvent, ctx: AgentContext) -> Result<()> {
        Ok(())
    }

    /// Tells that a compaction succeeded.
    fn after_compaction(call: &Call, event: AfterCompactionEvent, ctx: AgentContext) -> Result<()> {
        Ok(())
    }

    /// Can rewrite or drop any message before it is written to a transcript. Has 1 s.
    fn before_message_write(call: &Call, event: BeforeMessageWriteEvent, ctx: TranscriptContext) -> Result<WriteDecision> {
        Ok(WriteDecision::pass())
    }

    // --- gateway and installation -------------------------------------------------------------------------------

    /// Tells that the gateway listens.
    fn gateway_start(call: &Call, event: GatewayStartEvent, ctx: GatewayContext) -> Result<()> {
        Ok(())
    }

    /// Tells that the gateway stops. Has 5 s.
    fn gateway_stop(call: &Call, event: GatewayStopEvent, ctx: GatewayContext) -> Result<()> {
        Ok(())
    }

    /// Can add findings to, or block, the installation of a skill or plugin. Fails closed: an error refuses it.
    fn before_install(call: &Call, event: BeforeInstallEvent, ctx: InstallContext) -> Result<InstallDecision> {
        Ok(InstallDecision::pass())
    }

    // --- own tools ----------------------------------------------------------------------------------------------

    /// The tools that this plugin offers to the model; each name must stand in `contracts.tools` of the manifest. Called without a
    /// scope when the plugin is loaded. A plugin with tools implements [`execute_tool`](Self::execute_tool) too.
    fn list_tools(scope: Option<ToolScope>) -> Result<Vec<Tool>> {
        Ok(Vec::new())
    }

    /// Runs one of the plugin's tools. An error text becomes an error result that the model sees, so it should say what to do
    /// instead. Show partial results with [`progress::update`](crate::progress::update).
    fn execute_tool(call: ToolCall, ctx: ToolContext) -> Result<ToolResult> {
        Err(Error::msg(format!("no tool is called `{}`", call.name)))
    }
}
