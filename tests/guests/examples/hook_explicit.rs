//! Exports `before_model_resolve` and `before_prompt_build` and nothing else: it chooses the model `chosen` and prepends the text `from
//! the explicit hook`.

use creel_plugin::prelude::*;

struct Explicit;

#[plugin]
impl Plugin for Explicit {
    fn before_model_resolve(_: &Call, _: BeforeModelResolveEvent, _: AgentContext) -> Result<ModelOverride> {
        Ok(ModelOverride::pass().model("chosen"))
    }

    fn before_prompt_build(_: &Call, _: BeforePromptBuildEvent, _: AgentContext) -> Result<PromptChanges> {
        Ok(PromptChanges::pass().prepend_context("from the explicit hook"))
    }
}
