//! Has no opinion, and reads one field for it: the cheapest handler that there is, so that a bench sees what is around it. Asked about
//! the tool `spin`, it never answers.

use creel_plugin::prelude::*;

struct Quiet;

#[plugin]
impl Plugin for Quiet {
    fn before_tool_call(_: &Call, event: BeforeToolCallEvent, _: ToolContext) -> Result<ToolDecision> {
        if event.tool_name == "spin" {
            loop {
                std::hint::black_box(0);
            }
        }
        Ok(ToolDecision::pass())
    }
}
