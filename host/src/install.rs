//! The gate of installations: asks `before_install` handlers about staged material (plugin-hooks 4.10). Whoever installs something asks here
//! while the material is staged and not active; a refusal, or a handler that fails, refuses the installation.

use hooks::catalogue::BeforeInstall;
use hooks::context::InstallContext;
use hooks::events::before_install::{Event, Finding, FindingSeverity};
use hooks::{Dispatcher, Scope};

/// Text when a plugin refuses without a reason.
const DEFAULT_REASON: &str = "a plugin refused the installation";

/// What the plugins said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// All findings, in execution order.
    pub findings: Vec<Finding>,
    /// The refusal, if there is one.
    pub refused: Option<Refusal>,
}

/// Why an installation is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Plugin that refused, or failed.
    pub plugin: String,
    /// Why.
    pub reason: String,
}

/// Asks the handlers. Findings without a refusal are logged and do not stop the installation.
pub async fn judge(hooks: &Dispatcher, staged: &Event) -> Verdict {
    let decided = hooks.decide::<BeforeInstall>(staged, &InstallContext::default(), &Scope::default()).await;
    match decided {
        Ok(dispatched) => {
            let decision = dispatched.decision;
            for finding in &decision.findings {
                log(finding, &staged.target_name);
            }
            let refused = decision.blocked_by.map(|plugin| Refusal {
                plugin: plugin.to_string(),
                reason: decision.block_reason.unwrap_or_else(|| DEFAULT_REASON.to_owned()),
            });
            Verdict { findings: decision.findings, refused }
        }
        Err(failed) => {
            let refused = Refusal { plugin: failed.plugin.to_string(), reason: failed.to_string() };
            Verdict { findings: Vec::new(), refused: Some(refused) }
        }
    }
}

fn log(finding: &Finding, target: &str) {
    let text = hooks::fault::one_line(&finding.message, 512);
    let (rule, file, line) =
        (hooks::fault::one_line(&finding.rule_id, 128), hooks::fault::one_line(&finding.file, 256), finding.line);
    match finding.severity {
        FindingSeverity::Info => tracing::info!(target_name = target, rule, file, line, "{text}"),
        FindingSeverity::Warn | FindingSeverity::Critical => tracing::warn!(target_name = target, rule, file, line, "{text}"),
    }
}
