//! `secrets`: names and placeholders. The text of a secret is put into a request at the host's edge and never enters guest memory.

use std::collections::BTreeMap;

use egress::{Placeholder, Secret, Secrets};

use super::capability;
use crate::bindings::creel::plugin::{secrets, types::HostError};
use crate::grant::{Capability, SecretGrant};
use crate::state::{PluginFacts, State};
use crate::told::Told;

/// Placeholders that one instance was given.
#[derive(Default)]
pub(crate) struct SecretsState {
    placeholders: BTreeMap<String, Placeholder>,
    in_use: Secrets,
}

impl SecretsState {
    /// What the host puts in for them.
    pub(crate) fn in_use(&self) -> Secrets {
        self.in_use.clone()
    }
}

/// The secrets of the plugin, for one instance.
pub(crate) struct SecretsView<'a> {
    plugin: &'a PluginFacts,
    state: &'a mut SecretsState,
    told: &'a Told,
    surface: &'static str,
}

capability! {
    /// `creel:plugin/secrets`.
    SecretsOf => SecretsView
}

impl State {
    pub(crate) fn secrets(&mut self) -> SecretsView<'_> {
        SecretsView { plugin: &self.plugin, state: &mut self.secrets, told: &self.told, surface: self.call.surface }
    }
}

fn key(plugin: &PluginFacts, name: &str) -> String {
    format!("plugins.entries.{}.capabilities.secrets.{}", plugin.id, hooks::fault::one_line(name, 64))
}

impl SecretsView<'_> {
    fn granted(&self) -> &[SecretGrant] {
        self.plugin.grants.secrets.as_deref().unwrap_or_default()
    }

    fn make(&mut self, grant: &SecretGrant) -> Result<Placeholder, HostError> {
        let key = key(self.plugin, &grant.name);
        let missing = || HostError::NotFound(format!("the secret `{}` has no value", grant.name));
        let text = grant.text.clone().ok_or_else(missing)?;
        let placeholder =
            Placeholder::random().map_err(|_| HostError::Unavailable("this machine gives no random bytes".to_owned()))?;
        let secret = Secret::new(&grant.name, placeholder.clone(), text, grant.rules.clone(), &format!("{key}.allow"));
        let secret = secret.map_err(|error| HostError::Unavailable(error.to_string()))?;
        self.state.in_use = self.state.in_use.clone().and(secret);
        self.state.placeholders.insert(grant.name.clone(), placeholder.clone());
        Ok(placeholder)
    }
}

impl secrets::Host for SecretsView<'_> {
    fn names(&mut self) -> Vec<String> {
        self.granted().iter().map(|grant| grant.name.clone()).collect()
    }

    fn placeholder(&mut self, name: String) -> Result<String, HostError> {
        if let Some(placeholder) = self.state.placeholders.get(&name) {
            return Ok(placeholder.as_str().to_owned());
        }
        let Some(grant) = self.granted().iter().find(|grant| grant.name == name).cloned() else {
            let sentence = format!("the secret is not granted; to allow it set {}", key(self.plugin, &name));
            self.told.refused(&self.plugin.id, self.surface, Capability::Secrets, &sentence);
            return Err(HostError::Denied(sentence));
        };
        self.make(&grant).map(|placeholder| placeholder.as_str().to_owned())
    }
}
