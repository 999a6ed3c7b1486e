//! How this program starts cargo for the workspace itself (the guest builder has its own way).

use std::env;
use std::path::Path;
use std::process::Command;

/// What `cargo run` tells the program that it runs about its package. Build scripts that read such variables would see others than
/// in a build by hand, and half of the workspace would be compiled again each time.
const OF_CARGO_RUN: &[&str] = &["CARGO_BIN_", "CARGO_CRATE_", "CARGO_MANIFEST_", "CARGO_PKG_", "CARGO_PRIMARY_"];

/// Cargo in the workspace, with the environment of a cargo started by hand.
pub(crate) fn cargo(workspace: &Path) -> Command {
    let mut cargo = Command::new("cargo");
    cargo.current_dir(workspace);
    for (name, _) in env::vars_os() {
        let is_of_cargo_run = |name: &str| name == "CARGO" || OF_CARGO_RUN.iter().any(|prefix| name.starts_with(prefix));
        if name.to_str().is_some_and(is_of_cargo_run) {
            cargo.env_remove(name);
        }
    }
    cargo
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cargo_run_sets_is_not_passed_on() {
        assert!(env::var_os("CARGO_PKG_NAME").is_some(), "cargo sets it for tests too");
        let cargo = cargo(Path::new("."));
        let removed: Vec<_> = cargo.get_envs().filter(|(_, value)| value.is_none()).map(|(name, _)| name).collect();
        assert!(removed.contains(&"CARGO_PKG_NAME".as_ref()) && removed.contains(&"CARGO_MANIFEST_DIR".as_ref()));
        assert!(!removed.contains(&"CARGO_HOME".as_ref()) && !removed.contains(&"PATH".as_ref()));
    }
}
