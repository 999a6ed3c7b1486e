//! What `wit-bindgen` makes of the contract: host functions once, and one module per export.
//!
//! One world per export keeps a component honest: its type lists the hooks that it handles and no others. Nothing is written by
//! hand in here; names for authors are in `event` and `decision`.

#![allow(missing_docs, unreachable_pub, clippy::all, reason = "generated; the docs that the contract has are kept")]

/// Host functions and the types that all interfaces share.
pub mod host {
    wit_bindgen::generate!({
        path: ["../wit", "wit"],
        world: "creel:plugin-sdk/host",
        generate_all,
        generate_unused_types: true,
        additional_derives: [PartialEq],
    });
}

/// One module per export, each with the interface's types and an `export!` macro for plugins.
macro_rules! export {
    ($($module:ident = $world:tt;)*) => {$(
        pub mod $module {
            wit_bindgen::generate!({
                path: ["../wit", "wit"],
                world: $world,
                with: { "creel:plugin/types@0.1.0": crate::bindings::host::creel::plugin::types },
                generate_unused_types: true,
                additional_derives: [PartialEq],
                pub_export_macro: true,
            });
            pub use self::exports::creel::plugin::$module::*;
        }
    )*};
}

export! {
    before_model_resolve = "creel:plugin-sdk/before-model-resolve";
    agent_turn_prepare = "creel:plugin-sdk/agent-turn-prepare";
    before_prompt_build = "creel:plugin-sdk/before-prompt-build";
    before_agent_start = "creel:plugin-sdk/before-agent-start";
    before_agent_reply = "creel:plugin-sdk/before-agent-reply";
    before_agent_run = "creel:plugin-sdk/before-agent-run";
    before_agent_finalize = "creel:plugin-sdk/before-agent-finalize";
    agent_end = "creel:plugin-sdk/agent-end";
    llm_input = "creel:plugin-sdk/llm-input";
    llm_output = "creel:plugin-sdk/llm-output";
    model_call_started = "creel:plugin-sdk/model-call-started";
    model_call_ended = "creel:plugin-sdk/model-call-ended";
    before_tool_call = "creel:plugin-sdk/before-tool-call";
    approval_resolved = "creel:plugin-sdk/approval-resolved";
    after_tool_call = "creel:plugin-sdk/after-tool-call";
    resolve_exec_env = "creel:plugin-sdk/resolve-exec-env";
    tool_result_persist = "creel:plugin-sdk/tool-result-persist";
    message_received = "creel:plugin-sdk/message-received";
    reply_payload_sending = "creel:plugin-sdk/reply-payload-sending";
    message_sending = "creel:plugin-sdk/message-sending";
    message_sent = "creel:plugin-sdk/message-sent";
    session_start = "creel:plugin-sdk/session-start";
    session_end = "creel:plugin-sdk/session-end";
    before_reset = "creel:plugin-sdk/before-reset";
    before_compaction = "creel:plugin-sdk/before-compaction";
    after_compaction = "creel:plugin-sdk/after-compaction";
    before_message_write = "creel:plugin-sdk/before-message-write";
    gateway_start = "creel:plugin-sdk/gateway-start";
    gateway_stop = "creel:plugin-sdk/gateway-stop";
    before_install = "creel:plugin-sdk/before-install";
    tools = "creel:plugin-sdk/tools";
}
