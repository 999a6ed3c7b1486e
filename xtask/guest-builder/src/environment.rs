//! Which environment variables belong to the cargo that runs us, and so must not reach the one that we start.
//!
//! A build script, a test and `cargo run` all inherit variables that describe *their* package, compiler, flags and job server. The
//! inner cargo would take them as wishes of the user. It never changes the environment of this process.

use std::env;
use std::process::Command;

/// Everything that starts like this is removed ...
const OUTER_PREFIXES: &[&str] = &["CARGO", "__CARGO", "RUSTC", "RUSTDOC", "RUSTFLAGS", "RUSTUP", "CLIPPY_"];

/// ... and what cargo sets for build scripts under plain names.
const OUTER_NAMES: &[&str] =
    &["DEBUG", "HOST", "MAKEFLAGS", "MFLAGS", "NUM_JOBS", "OPT_LEVEL", "OUT_DIR", "PROFILE", "RUST_RECURSION_COUNT", "TARGET"];

/// Settings of the person or the machine, not of the outer build: where things are kept, which mirror is used, how the network is
/// reached. The toolchain stays too, so that `cargo +name` reaches the guests.
const KEPT_NAMES: &[&str] =
    &["CARGO_HOME", "RUSTUP_AUTO_INSTALL", "RUSTUP_DIST_SERVER", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN", "RUSTUP_UPDATE_ROOT"];
const KEPT_PREFIXES: &[&str] = &["CARGO_HTTP_", "CARGO_NET_", "CARGO_REGISTRIES_", "CARGO_REGISTRY_", "CARGO_SOURCE_"];

/// Takes the variables of the outer cargo out of what `command` inherits.
pub(crate) fn clean(command: &mut Command) {
    for (name, _) in env::vars_os() {
        if name.to_str().is_some_and(is_of_outer_cargo) {
            command.env_remove(name);
        }
    }
}

fn is_of_outer_cargo(name: &str) -> bool {
    let starts = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
    if KEPT_NAMES.contains(&name) || starts(KEPT_PREFIXES) {
        return false;
    }
    OUTER_NAMES.contains(&name) || starts(OUTER_PREFIXES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_of_the_outer_build_are_removed() {
        for name in [
            "CARGO",
            "CARGO_BUILD_TARGET",
            "CARGO_ENCODED_RUSTFLAGS",
            "CARGO_INCREMENTAL",
            "CARGO_MAKEFLAGS",
            "CARGO_PKG_NAME",
            "CARGO_PROFILE_RELEASE_LTO",
            "CARGO_TARGET_DIR",
            "CARGO_TARGET_WASM32_WASIP2_LINKER",
            "CLIPPY_ARGS",
            "MAKEFLAGS",
            "OUT_DIR",
            "RUSTC",
            "RUSTC_BOOTSTRAP",
            "RUSTC_WORKSPACE_WRAPPER",
            "RUSTDOC",
            "RUSTDOCFLAGS",
            "RUSTFLAGS",
            "RUSTUP_FORCE_ARG0",
            "TARGET",
            "__CARGO_DEFAULT_LIB_METADATA",
        ] {
            assert!(is_of_outer_cargo(name), "{name} must not reach the inner cargo");
        }
    }

    #[test]
    fn settings_of_the_machine_are_kept() {
        for name in [
            "CARGO_HOME",
            "CARGO_HTTP_PROXY",
            "CARGO_NET_OFFLINE",
            "CARGO_REGISTRIES_CRATES_IO_INDEX",
            "HOME",
            "HTTPS_PROXY",
            "PATH",
            "RUST_BACKTRACE",
            "RUSTUP_DIST_SERVER",
            "RUSTUP_HOME",
            "RUSTUP_TOOLCHAIN",
            "TARGETS",
        ] {
            assert!(!is_of_outer_cargo(name), "{name} must reach the inner cargo");
        }
    }

    #[test]
    fn cleaned_command_starts_without_them() {
        // `cargo test` itself gives the tests these variables, so this is the real case.
        assert!(env::var_os("CARGO_MANIFEST_DIR").is_some());
        let mut command = Command::new("true");
        clean(&mut command);
        assert!(command.get_envs().any(|(name, value)| name == "CARGO_MANIFEST_DIR" && value.is_none()));
        assert!(!command.get_envs().any(|(name, _)| name == "PATH"));
    }
}
