//! From the interfaces of the contract to the methods of [`Plugin`].
//!
//! Only translates: no policy, no state. All of it compiles natively too, so that `cargo check` sees what a component would be.

use crate::bindings;
use crate::call::Call;
use crate::error::Error;
use crate::plugin::Plugin;
use std::marker::PhantomData;

/// Stands for a plugin towards the generated exports.
#[derive(Debug)]
pub struct Adapter<P>(PhantomData<P>);

/// Compiles if a type is a plugin.
pub const fn assert_plugin<P: Plugin>() {}

/// `handle` of each interface calls the method of the same name. `observe`: the interface answers nothing.
macro_rules! handlers {
    ($($kind:ident $hook:ident($context:ident);)*) => {$(
        impl<P: Plugin> bindings::$hook::Guest for Adapter<P> {
            fn handle(
                handler: String,
                event: bindings::$hook::Event,
                context: crate::event::$context,
            ) -> Result<handlers!(@answer $kind $hook), String> {
                P::$hook(&Call::new(handler), event, context)
                    .map(Into::into)
                    .map_err(Error::into_text)
            }
        }
    )*};
    (@answer decide $hook:ident) => { Option<bindings::$hook::Answer> };
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

impl<P: Plugin> bindings::tools::Guest for Adapter<P> {
    fn list_tools(scope: Option<bindings::tools::Scope>) -> Result<Vec<bindings::tools::Tool>, String> {
        P::list_tools(scope).map_err(Error::into_text)
    }

    fn execute(call: bindings::tools::Call, context: crate::event::ToolContext) -> Result<crate::tool::ToolResult, String> {
        P::execute_tool(call, context).map_err(Error::into_text)
    }
}
