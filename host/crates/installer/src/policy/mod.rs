//! `security.installPolicy` (plugin-hooks 10): a command of the operator that allows or blocks every installation and update. It fails
//! closed: whatever goes wrong blocks, with the code `security_scan_failed`.

mod answer;
mod command;
mod process;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use crate::material::{Material, TargetType};

pub use answer::{PolicyFinding, Severity, Warning};
pub use command::UnsafeCommand;

/// Largest request, in bytes.
pub const MAX_REQUEST_BYTES: usize = 256 << 10;

/// An install policy that is enabled.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct InstallPolicy {
    /// What is asked about; empty: everything.
    pub targets: Vec<TargetType>,
    /// The command; without one everything is blocked.
    pub exec: Option<PolicyCommand>,
}

/// The command of the policy.
#[derive(Clone, PartialEq, Eq)]
pub struct PolicyCommand {
    /// The program, absolute.
    pub command: PathBuf,
    /// Its arguments.
    pub args: Vec<String>,
    /// Its whole environment.
    pub env: BTreeMap<String, String>,
    /// If there are any, the program must be inside one of them.
    pub trusted_dirs: Vec<PathBuf>,
    /// Time that it may take.
    pub timeout: Duration,
    /// Time without output after which it counts as hung.
    pub no_output_timeout: Duration,
    /// Output that it may write, in bytes.
    pub max_output_bytes: usize,
}

impl std::fmt::Debug for PolicyCommand {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Values of the environment may be secret.
        let env: Vec<&String> = self.env.keys().collect();
        f.debug_struct("PolicyCommand").field("command", &self.command).field("env", &env).finish_non_exhaustive()
    }
}

/// Why the policy stops an installation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PolicyRefusal {
    /// The policy gave no usable answer.
    #[error("the install policy failed, so nothing is installed (security_scan_failed): {0}")]
    Failed(String),
    /// The policy said no.
    #[error("the install policy blocks `{target}` (security_scan_blocked): {reason}")]
    Blocked {
        /// What it blocks.
        target: String,
        /// Why.
        reason: String,
        /// What it found.
        findings: Vec<PolicyFinding>,
    },
    /// The policy warned, and nobody acknowledged this warning.
    #[error("the install policy warns of `{target}` (security_scan_blocked): {}", warning.reason)]
    Unacknowledged {
        /// What it warns of.
        target: String,
        /// The warning.
        warning: Warning,
    },
}

impl PolicyRefusal {
    /// The code of the refusal (plugin-hooks 10).
    pub fn code(&self) -> &'static str {
        match self {
            Self::Failed(_) => "security_scan_failed",
            Self::Blocked { .. } | Self::Unacknowledged { .. } => "security_scan_blocked",
        }
    }

    /// What the policy found.
    pub fn findings(&self) -> &[PolicyFinding] {
        match self {
            Self::Failed(_) => &[],
            Self::Blocked { findings, .. } => findings,
            Self::Unacknowledged { warning, .. } => &warning.findings,
        }
    }
}

/// What the policy said when it did not stop the installation.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PolicyPass {
    /// What it found.
    pub findings: Vec<PolicyFinding>,
    /// The warning that was acknowledged.
    pub warned: Option<String>,
}

impl InstallPolicy {
    /// Asks about staged material. `acknowledged` are fingerprints of warnings that the operator has seen.
    ///
    /// # Errors
    /// When the policy blocks, warns of something that was not acknowledged, or gives no usable answer.
    pub async fn ask(
        &self,
        material: &Material,
        host_version: &str,
        acknowledged: &[String],
    ) -> Result<PolicyPass, PolicyRefusal> {
        if !self.targets.is_empty() && !self.targets.contains(&material.target_type()) {
            return Ok(PolicyPass::default());
        }
        let failed = |problem: String| PolicyRefusal::Failed(problem);
        let exec = self.exec.as_ref().ok_or_else(|| {
            failed("it is enabled and has no command; set security.installPolicy.exec, or enabled: false".to_owned())
        })?;
        let request = material.policy_request(host_version).to_string();
        if request.len() > MAX_REQUEST_BYTES {
            return Err(failed(format!("the request has {} bytes; it may have {MAX_REQUEST_BYTES}", request.len())));
        }
        command::check(&exec.command, &exec.trusted_dirs).map_err(|error| failed(error.to_string()))?;
        let output = process::run(exec, request.into_bytes()).await.map_err(|error| failed(error.to_string()))?;
        answer::judge(&output, &material.name, acknowledged)
    }
}

#[cfg(test)]
mod tests;
