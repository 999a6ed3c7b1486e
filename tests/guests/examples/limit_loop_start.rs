//! Never leaves its start function, so no handler is ever reached.

use creel_plugin::prelude::*;

struct LoopsAtStart;

#[plugin]
impl Plugin for LoopsAtStart {
    fn before_tool_call(_: &Call, _: BeforeToolCallEvent, _: ToolContext) -> Result<ToolDecision> {
        Ok(ToolDecision::pass())
    }

    fn message_sending(_: &Call, event: MessageSendingEvent, _: MessageContext) -> Result<SendDecision> {
        Ok(SendDecision::rewrite(format!("{} (never)", event.content)))
    }
}

extern "C" fn start() {
    loop {
        std::hint::black_box(0);
    }
}

// Constructors run when the component is instantiated.
#[used]
#[cfg_attr(target_family = "wasm", unsafe(link_section = ".init_array"))]
static START: extern "C" fn() = start;
