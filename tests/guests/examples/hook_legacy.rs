//! Exports the old combined hook `before_agent_start` and nothing else: it prepends the text `from the legacy hook`.

use creel_plugin::prelude::*;

struct Legacy;

#[plugin]
impl Plugin for Legacy {
    fn before_agent_start(_: &Call, _: BeforeAgentStartEvent, _: AgentContext) -> Result<AgentStartChanges> {
        Ok(AgentStartChanges::pass().prepend_context("from the legacy hook"))
    }
}
