//! Loading components: through the real loader, from bytes to something that could be instantiated, without cache and child process.

use domain::PluginId;
use hooks::access::Access;
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::sync::Arc;
use tokio::runtime::{Builder, Runtime};

use crate::compile::Compiler;
use crate::engine::{EngineSettings, PluginEngine};
use crate::error::StartError;
use crate::grant::Grants;
use crate::inspect::Inspection;
use crate::limits::Limits;
use crate::loader::Loader;
use crate::manifest::{HandlerEntry, Lifetime};
use crate::ready::ReadyPlugin;

/// Largest component that is compiled, in bytes: the compiler takes microseconds per byte, and shows its faults on small ones.
pub const MAX_BYTES: usize = 4 << 10;

/// An engine with its loader.
pub struct Loading {
    runtime: Runtime,
    loader: Loader,
}

impl Loading {
    /// Starts an engine with room for one instance.
    ///
    /// # Errors
    /// With the reason, when there is no engine.
    pub fn start() -> Result<Self, String> {
        let runtime = Builder::new_current_thread().enable_all().build().map_err(|error| error.to_string())?;
        let settings = EngineSettings { live_instances: 1, ..EngineSettings::default() };
        let engine = PluginEngine::start(settings).map_err(|error| error.to_string())?;
        Ok(Self { runtime, loader: Loader::new(&Arc::new(engine), None, Compiler::InProcess, None) })
    }

    /// Loads a component with every hook that it exports, nothing granted. Larger ones than [`MAX_BYTES`] are none of its business.
    ///
    /// # Errors
    /// As a start of the host.
    pub fn load(&self, component: &[u8], inspection: &Inspection) -> Result<(), StartError> {
        let ready = ReadyPlugin {
            id: PluginId::new("fuzzed"),
            digest: Sha256::digest(component).into(),
            component: component.into(),
            config: "{}".to_owned(),
            grants: Grants::default(),
            limits: Limits::default(),
            lifetime: Lifetime::Run,
            access: Access::default(),
            handlers: inspection.hooks().into_iter().map(HandlerEntry::with_defaults).collect(),
            tools: Vec::new(),
            optional_tools: BTreeSet::new(),
            tools_per_run: false,
        };
        self.runtime.block_on(self.loader.load(&ready)).map(drop)
    }
}
