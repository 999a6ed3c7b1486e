//! Creel plugin `install-gate`: findings and refusals for what is about to be installed.
//!
//! Judges the request and the description that come with it; it opens no file and reaches no network.

mod checks;
mod glob;
mod settings;

use checks::Checked;
use creel_plugin::prelude::*;
use settings::Settings;

struct InstallGate;

#[plugin]
impl Plugin for InstallGate {
    fn before_install(_: &Call, event: BeforeInstallEvent, _: InstallContext) -> Result<InstallDecision> {
        let settings = config::<Settings>()?;
        let Checked { findings, refusal } = checks::run(&event, &settings)?;
        let decision = findings.into_iter().fold(InstallDecision::pass(), InstallDecision::finding);
        Ok(match refusal {
            Some(reason) => decision.and_block(reason),
            None => decision,
        })
    }
}

#[cfg(test)]
mod tests;
