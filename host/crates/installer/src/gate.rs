//! What an installation asks of the rest of the host: plugins that judge staged material, and whoever keeps things for a plugin.

use async_trait::async_trait;
use domain::PluginId;
use serde::Serialize;

use crate::material::Material;

/// Something that a plugin noticed about staged material.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GateFinding {
    /// Rule that noticed it.
    pub rule_id: String,
    /// `info`, `warn` or `critical`.
    pub severity: &'static str,
    /// File, relative to the staged material.
    pub file: String,
    /// What it is.
    pub message: String,
}

/// What plugins said.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Verdict {
    /// All findings, in execution order.
    pub findings: Vec<GateFinding>,
    /// Who refused and why.
    pub refused: Option<GateRefusal>,
}

/// A refusal of a plugin.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the plugin `{plugin}` refuses it: {reason}")]
pub struct GateRefusal {
    /// The plugin.
    pub plugin: String,
    /// Why.
    pub reason: String,
}

/// `before_install` (plugin-hooks 4.10): asked about staged material after the install policy let it pass, and before it is active.
#[async_trait]
pub trait Gate: Send + Sync {
    /// Asks the plugins.
    async fn judge(&self, staged: &Material) -> Verdict;
}

/// A process in which no plugin hooks are loaded.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoGate;

#[async_trait]
impl Gate for NoGate {
    async fn judge(&self, _: &Material) -> Verdict {
        Verdict::default()
    }
}

/// Whatever the host keeps for a plugin outside of its directory.
#[async_trait]
pub trait Residue: Send + Sync {
    /// Removes everything that was kept for a plugin: its storage, its values in sessions.
    ///
    /// # Errors
    /// What could not be removed and why.
    async fn forget_plugin(&self, plugin: &PluginId) -> Result<(), String>;

    /// Removes what was made of a component, for example its compiled code. `sha256` in hex digits.
    ///
    /// # Errors
    /// What could not be removed and why.
    async fn forget_component(&self, sha256: &str) -> Result<(), String>;
}

/// A host that keeps nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoResidue;

#[async_trait]
impl Residue for NoResidue {
    async fn forget_plugin(&self, _: &PluginId) -> Result<(), String> {
        Ok(())
    }

    async fn forget_component(&self, _: &str) -> Result<(), String> {
        Ok(())
    }
}
