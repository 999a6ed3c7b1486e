//! The exports: every hook of the contract, each with the one conduct of this plugin.

use crate::bindings::creel::plugin::types::{
    AgentContext, GatewayContext, MessageContext, SessionContext, ToolContext, TranscriptContext,
};
use crate::bindings::exports::creel::plugin as exports;
use crate::conduct;
use exports::before_install::InstallContext;

/// The plugin.
pub(crate) struct Script;

macro_rules! handlers {
    ($($kind:ident $hook:ident($context:ty);)*) => {$(
        impl exports::$hook::Guest for Script {
            fn handle(
                handler: String,
                event: exports::$hook::Event,
                context: $context,
            ) -> Result<handlers!(@answer $kind $hook), String> {
                conduct::$kind(stringify!($hook), &handler, &event, &context)
            }
        }
    )*};
    (@answer decide $hook:ident) => { Option<exports::$hook::Answer> };
    (@answer observe $hook:ident) => { () };
}

handlers! {
    decide before_model_resolve(AgentContext);
    decide agent_turn_prepare(AgentContext);
    decide before_prompt_build(AgentContext);
    decide before_agent_start(AgentContext);
    decide before_agent_reply(AgentContext);
    decide before_agent_run(AgentContext);
    decide before_agent_finalize(AgentContext);
    observe agent_end(AgentContext);
    observe llm_input(AgentContext);
    observe llm_output(AgentContext);
    observe model_call_started(AgentContext);
    observe model_call_ended(AgentContext);
    decide before_tool_call(ToolContext);
    observe approval_resolved(ToolContext);
    observe after_tool_call(ToolContext);
    decide resolve_exec_env(AgentContext);
    decide tool_result_persist(TranscriptContext);
    observe message_received(MessageContext);
    decide reply_payload_sending(MessageContext);
    decide message_sending(MessageContext);
    observe message_sent(MessageContext);
    observe session_start(SessionContext);
    observe session_end(SessionContext);
    observe before_reset(AgentContext);
    observe before_compaction(AgentContext);
    observe after_compaction(AgentContext);
    decide before_message_write(TranscriptContext);
    observe gateway_start(GatewayContext);
    observe gateway_stop(GatewayContext);
    decide before_install(InstallContext);
}

// Names of component exports hold `@`, which native linkers take for a symbol version.
#[cfg(target_family = "wasm")]
crate::bindings::export!(Script with_types_in crate::bindings);
