//! `config`: the plugin's settings, checked and filled with defaults before the plugin was loaded.

use super::capability;
use crate::bindings::creel::plugin::config;
use crate::state::State;

/// The settings of the plugin.
pub(crate) struct ConfigView<'a> {
    json: &'a str,
}

capability! {
    /// `creel:plugin/config`.
    Config => ConfigView
}

impl State {
    pub(crate) fn config(&mut self) -> ConfigView<'_> {
        ConfigView { json: &self.plugin.config }
    }
}

impl config::Host for ConfigView<'_> {
    fn get(&mut self) -> String {
        self.json.to_owned()
    }
}
