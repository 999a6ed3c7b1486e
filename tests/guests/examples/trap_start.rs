//! Traps in its start function, so no handler is ever reached.

use creel_plugin::prelude::*;

struct TrapsAtStart;

#[plugin]
impl Plugin for TrapsAtStart {
    fn before_tool_call(_: &Call, _: BeforeToolCallEvent, _: ToolContext) -> Result<ToolDecision> {
        Ok(ToolDecision::pass())
    }

    fn message_sending(_: &Call, event: MessageSendingEvent, _: MessageContext) -> Result<SendDecision> {
        Ok(SendDecision::rewrite(format!("{} (never)", event.content)))
    }
}

extern "C" fn start() {
    std::process::abort();
}

// Constructors run when the component is instantiated.
#[used]
#[cfg_attr(target_family = "wasm", unsafe(link_section = ".init_array"))]
static START: extern "C" fn() = start;
