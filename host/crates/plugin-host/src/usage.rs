//! What plugins hold right now: instances and linear memory, counted where they are taken and given back. For operators, and for tests
//! that nothing is left behind; it decides nothing, and keeps neither the engine nor a plugin alive.

use std::sync::{Arc, Weak};

use domain::PluginId;

use crate::engine::PluginEngine;
use crate::instance::Plugin;

/// Reads what the plugins of one host hold.
#[derive(Clone)]
pub struct Meter {
    engine: Weak<PluginEngine>,
    plugins: Vec<Weak<Plugin>>,
}

/// What all plugins hold.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Usage {
    /// Instances that live, idle ones of runs too.
    pub instances: u32,
    /// One row per plugin that serves, in load order.
    pub plugins: Vec<PluginUsage>,
}

/// What one plugin holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginUsage {
    /// The plugin.
    pub plugin: PluginId,
    /// Its instances that live or are being made.
    pub instances: u32,
    /// Linear memory of them, in bytes.
    pub memory_bytes: u64,
}

impl Meter {
    pub(crate) fn new(engine: &Arc<PluginEngine>) -> Self {
        Self { engine: Arc::downgrade(engine), plugins: Vec::new() }
    }

    pub(crate) fn add(&mut self, plugin: &Arc<Plugin>) {
        self.plugins.push(Arc::downgrade(plugin));
    }

    /// What is held now. After the host has ended: nothing.
    pub fn read(&self) -> Usage {
        Usage {
            instances: self.engine.upgrade().map_or(0, |engine| engine.live_instances()),
            plugins: self.plugins.iter().filter_map(Weak::upgrade).map(|plugin| plugin.usage()).collect(),
        }
    }
}

impl Usage {
    /// Linear memory of all plugins, in bytes.
    pub fn memory_bytes(&self) -> u64 {
        self.plugins.iter().map(|plugin| plugin.memory_bytes).sum()
    }
}
