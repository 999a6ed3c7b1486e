//! `tools-invoke`: calls of granted tools, through the run's one executor. A guest can name neither another run nor another plugin.

use std::sync::Arc;

use domain::services::{PluginToolCall, RunServices};
use domain::tool::ToolOutcome;
use serde_json::Value;

use super::{capability, further_chain, services, within};
use crate::bindings::creel::plugin::{tools_invoke, types::HostError, types::ToolOutcome as WitOutcome};
use crate::convert::result;
use crate::grant::Capability;
use crate::state::{Call, PluginFacts, State};
use crate::told::Told;

/// Tools for one call of a plugin.
pub(crate) struct ToolsInvokeView<'a> {
    plugin: &'a PluginFacts,
    call: &'a Call,
    told: &'a Told,
}

capability! {
    /// `creel:plugin/tools-invoke`.
    ToolsInvoke => ToolsInvokeView
}

impl State {
    pub(crate) fn tools_invoke(&mut self) -> ToolsInvokeView<'_> {
        ToolsInvokeView { plugin: &self.plugin, call: &self.call, told: &self.told }
    }
}

impl ToolsInvokeView<'_> {
    fn is_granted(&self, name: &str) -> bool {
        self.plugin.grants.tools_invoke.as_ref().is_some_and(|names| names.covers(name))
    }

    fn denied(&self, name: &str) -> HostError {
        let (id, name) = (&self.plugin.id, hooks::fault::one_line(name, 64));
        let sentence = format!(
            "the tool `{name}` is not granted; to allow it add \"{name}\" to plugins.entries.{id}.capabilities.toolsInvoke"
        );
        self.told.refused(id, self.call.surface, Capability::ToolsInvoke, &sentence);
        HostError::Denied(sentence)
    }
}

impl tools_invoke::Host for ToolsInvokeView<'_> {
    async fn names(&mut self) -> Vec<String> {
        let Ok(services) = services(self.call) else { return Vec::new() };
        services.tool_names().into_iter().filter(|name| self.is_granted(name)).collect()
    }

    async fn invoke(&mut self, name: String, params: String) -> Result<tools_invoke::Invoked, HostError> {
        if !self.is_granted(&name) {
            return Err(self.denied(&name));
        }
        let params = match serde_json::from_str(&params) {
            Ok(Value::Object(params)) => params,
            Ok(_) => return Err(HostError::Invalid("params are not a JSON object".to_owned())),
            Err(error) => return Err(HostError::Invalid(format!("params are not valid JSON: {error}"))),
        };
        let services: Arc<dyn RunServices> = services(self.call)?;
        let chain = further_chain(self.call, &self.plugin.id)?;
        let invoked = within(self.call, services.invoke_tool(PluginToolCall { chain, name, params })).await?;
        Ok(tools_invoke::Invoked {
            tool_call_id: invoked.call_id.as_str().to_owned(),
            outcome: match invoked.outcome {
                ToolOutcome::Ok => WitOutcome::Ok,
                ToolOutcome::Failed => WitOutcome::Failed,
                ToolOutcome::Blocked => WitOutcome::Blocked,
                ToolOutcome::TimedOut => WitOutcome::TimedOut,
                ToolOutcome::Aborted => WitOutcome::Aborted,
            },
            result: result::to_wit(invoked.result),
        })
    }
}
