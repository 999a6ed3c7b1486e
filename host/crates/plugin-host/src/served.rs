//! What serves in a host, kept from one load to the next, so that a plugin that has not changed is not started again, and one whose
//! successor does not start can go on. It decides nothing about either.

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::PluginId;

use crate::instance::Plugin;
use crate::ready::ReadyPlugin;

/// The plugins that serve. Keeps their compiled code, and so the engine, alive.
#[derive(Clone, Default)]
pub struct Served(BTreeMap<PluginId, Serving>);

/// A plugin that serves.
#[derive(Clone)]
pub(crate) struct Serving {
    /// What it was made of, without the bytes of the component.
    pub(crate) source: ReadyPlugin,
    pub(crate) plugin: Arc<Plugin>,
    pub(crate) has_tools: bool,
}

impl Served {
    /// What a plugin was made of. Of the component only the digest is left: it can be loaded in place of itself, and not anew.
    pub fn source(&self, plugin: &PluginId) -> Option<&ReadyPlugin> {
        self.get(plugin).map(|serving| &serving.source)
    }

    /// Ids of all plugins that serve.
    pub fn ids(&self) -> impl Iterator<Item = &PluginId> {
        self.0.keys()
    }

    pub(crate) fn get(&self, plugin: &PluginId) -> Option<&Serving> {
        self.0.get(plugin)
    }

    pub(crate) fn add(&mut self, serving: Serving) {
        self.0.insert(serving.source.id.clone(), serving);
    }
}

impl Serving {
    /// Whether calls would find just what is here. Handlers and access are no part of it: they belong to the registry.
    pub(crate) fn is(&self, ready: &ReadyPlugin) -> bool {
        let of = |ready: &ReadyPlugin| (ready.digest, ready.limits, ready.lifetime);
        of(&self.source) == of(ready) && self.source.config == ready.config && self.source.grants == ready.grants
    }

    /// The same plugin with other handlers and access.
    pub(crate) fn with(&self, source: ReadyPlugin) -> Self {
        Self { source, ..self.clone() }
    }
}
