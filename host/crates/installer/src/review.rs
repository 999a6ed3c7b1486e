//! Who has a say about staged material, in this order: the operator's install policy, then plugins (plugin-hooks 10). What the policy
//! stops, plugins never see.

use std::sync::Arc;

use crate::error::InstallError;
use crate::gate::{Gate, GateFinding};
use crate::material::Material;
use crate::policy::{InstallPolicy, PolicyPass};

/// The policy and the plugins.
#[derive(Clone)]
pub struct Review {
    /// The install policy, if it is enabled.
    pub policy: Option<InstallPolicy>,
    /// The plugins.
    pub gate: Arc<dyn Gate>,
    /// Version of the host, which the policy is told.
    pub host_version: String,
}

/// What was said about material that may be installed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reviewed {
    /// What the policy said.
    pub policy: PolicyPass,
    /// What plugins found.
    pub findings: Vec<GateFinding>,
}

impl Review {
    /// Asks about staged material, a skill or a plugin. `acknowledged` are fingerprints of warnings that the operator has seen.
    ///
    /// # Errors
    /// When somebody refuses, or the policy fails.
    pub async fn judge(&self, material: &Material, acknowledged: &[String]) -> Result<Reviewed, InstallError> {
        let policy = match &self.policy {
            Some(policy) => policy.ask(material, &self.host_version, acknowledged).await?,
            None => PolicyPass::default(),
        };
        let verdict = self.gate.judge(material).await;
        match verdict.refused {
            Some(refusal) => Err(InstallError::Gate { target: material.name.clone(), refusal }),
            None => Ok(Reviewed { policy, findings: verdict.findings }),
        }
    }
}
