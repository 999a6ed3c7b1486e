//! A plugin that is ready to be started: what is left of a plan when nothing but running it remains.

use std::collections::BTreeSet;
use std::sync::Arc;

use domain::PluginId;
use hooks::access::Access;

use crate::cache::ComponentDigest;
use crate::grant::Grants;
use crate::limits::Limits;
use crate::manifest::{HandlerEntry, Lifetime};
use crate::plan::PlannedPlugin;

/// A plugin that is to be started: enabled, its settings checked, its grants and limits decided.
#[derive(Debug, Clone)]
pub struct ReadyPlugin {
    /// Its id.
    pub id: PluginId,
    /// The component.
    pub component: Arc<[u8]>,
    /// SHA-256 of the component.
    pub digest: ComponentDigest,
    /// Its settings, a JSON object.
    pub config: String,
    /// What it may import.
    pub grants: Grants,
    /// How much it may use.
    pub limits: Limits,
    /// How long one instance lives.
    pub lifetime: Lifetime,
    /// What the gates of its hooks are told.
    pub access: Access,
    /// Its handlers in their order; each hook is exported by the component.
    pub handlers: Vec<HandlerEntry>,
    /// `contracts.tools`.
    pub tools: Vec<String>,
    /// Tools that the manifest hides until an operator allows them.
    pub optional_tools: BTreeSet<String>,
    /// Whether the list of tools depends on the run.
    pub tools_per_run: bool,
}

impl ReadyPlugin {
    /// Everything but the bytes of the component, which may be many.
    pub(crate) fn without_component(&self) -> Self {
        Self { component: Arc::default(), ..self.clone() }
    }
}

impl From<PlannedPlugin> for ReadyPlugin {
    fn from(planned: PlannedPlugin) -> Self {
        let limits = Limits::resolve(&planned.requested_limits, &planned.operator_limits);
        let optional = |(name, metadata): (String, crate::manifest::ToolMetadata)| metadata.optional.then_some(name);
        Self {
            id: planned.id,
            component: planned.component.bytes,
            digest: planned.component.sha256,
            config: planned.config.as_str().to_owned(),
            grants: planned.grants,
            limits,
            lifetime: planned.lifetime,
            access: planned.access,
            handlers: planned.handlers,
            tools: planned.manifest.tools,
            optional_tools: planned.manifest.tool_metadata.into_iter().filter_map(optional).collect(),
            tools_per_run: planned.manifest.tools_per_run,
        }
    }
}
