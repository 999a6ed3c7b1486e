//! Which toolchain compiles the guests. Decided once per build, remembered in `target/guests/`, and checked again before it is used.
//!
//! In this order:
//! 1. The `rustc` on the PATH has the standard library of `wasm32-wasip2`.
//! 2. Debian's own toolchain was set up before and is still whole.
//! 3. `rustup target add wasm32-wasip2` gives the `rustc` on the PATH that library.
//! 4. On Debian and its like: install Debian's toolchain (see `debian`).
//! 5. Otherwise an error says what to install.

mod apt_sources;
mod debian;
mod machine;
mod route;
mod wasi_libc;

use crate::command::CommandError;
use crate::folders::Folders;
use crate::progress::{Progress, Report};
use crate::{GuestBuildError, publish};

pub use debian::DebianError;
pub use route::RouteKind;

pub(crate) use route::Route;

use machine::Machine;
use route::Remembered;
use std::path::PathBuf;

/// Why no toolchain can compile guests.
#[derive(Debug, thiserror::Error)]
pub enum RouteError {
    /// The target is missing, and rustup cannot add it here.
    #[error(
        "the target wasm32-wasip2 is not installed and rustup could not add it: install rustup if it is missing, and run `rustup target add wasm32-wasip2` with network access"
    )]
    NotAdded(#[source] CommandError),
    /// Rustup added the target to another toolchain than the one on the PATH.
    #[error(
        "rustup added the target wasm32-wasip2, but the `rustc` on the PATH is not rustup's: put rustup's folder first on the PATH"
    )]
    AddedElsewhere,
    /// The route of Debian was asked for by name.
    #[error("this machine has no apt or is not like Debian: use `rustup target add wasm32-wasip2`")]
    NotDebian,
    /// Debian's toolchain could not be set up.
    #[error("cannot set up Debian's toolchain (where rustup can download, `rustup target add wasm32-wasip2` does instead)")]
    Debian(#[from] DebianError),
}

/// The machine, as the decision sees it.
trait Probe {
    /// The standard library of the target, if the `rustc` on the PATH has it.
    fn installed_std(&self) -> Option<PathBuf>;
    /// Debian's toolchain, if it was set up before and is still whole.
    fn remembered_debian(&self) -> Option<Route>;
    /// Lets rustup add the target.
    fn add_target(&self) -> Result<(), CommandError>;
    /// Whether this is Debian or its like, with apt.
    fn is_debian(&self) -> bool;
    /// Installs what is missing of Debian's toolchain; returns the linker that it needs.
    fn set_up_debian(&self) -> Result<PathBuf, DebianError>;
}

/// Finds or installs a toolchain; `wanted` rules out every other route.
pub(crate) fn settle(folders: &Folders, wanted: Option<RouteKind>, report: Report<'_>) -> Result<Route, GuestBuildError> {
    let route = decide(&Machine::new(folders, report), wanted, report)?;
    let remembered = serde_json::to_vec_pretty(&Remembered::of(route.clone()));
    let remembered = remembered.map_err(|error| GuestBuildError::file("write", folders.route())(error.into()))?;
    publish::write(&folders.route(), &remembered)?;
    Ok(route)
}

fn decide(probe: &dyn Probe, wanted: Option<RouteKind>, report: Report<'_>) -> Result<Route, RouteError> {
    match wanted {
        Some(RouteKind::Installed) => installed(probe).map_or_else(|| add_target(probe), Ok),
        Some(RouteKind::Debian) => probe.remembered_debian().map_or_else(|| debian(probe), Ok),
        None => installed(probe).or_else(|| probe.remembered_debian()).map_or_else(|| obtain(probe, report), Ok),
    }
}

/// Nothing is there yet: rustup first, as it is quick and asks for no rights.
fn obtain(probe: &dyn Probe, report: Report<'_>) -> Result<Route, RouteError> {
    match add_target(probe) {
        Err(_) if probe.is_debian() => {
            report(Progress::Step("rustup cannot add the target here, so Debian's toolchain is set up"));
            debian(probe)
        }
        done => done,
    }
}

fn installed(probe: &dyn Probe) -> Option<Route> {
    probe.installed_std().map(|std| Route::Installed { std })
}

fn add_target(probe: &dyn Probe) -> Result<Route, RouteError> {
    probe.add_target().map_err(RouteError::NotAdded)?;
    installed(probe).ok_or(RouteError::AddedElsewhere)
}

fn debian(probe: &dyn Probe) -> Result<Route, RouteError> {
    if !probe.is_debian() {
        return Err(RouteError::NotDebian);
    }
    Ok(Route::Debian { wasm_ld: probe.set_up_debian()? })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use std::cell::{Cell, RefCell};
    use std::time::Duration;

    use super::*;

    /// A machine made of answers; writes down what was done to it.
    #[derive(Default)]
    struct Fake {
        has_std: Cell<bool>,
        has_debian: bool,
        rustup_works: bool,
        rustup_is_elsewhere: bool,
        is_debian: bool,
        is_root: bool,
        done: RefCell<Vec<&'static str>>,
    }

    impl Probe for Fake {
        fn installed_std(&self) -> Option<PathBuf> {
            self.has_std.get().then(|| "libstd.rlib".into())
        }

        fn remembered_debian(&self) -> Option<Route> {
            self.has_debian.then(|| Route::Debian { wasm_ld: "remembered".into() })
        }

        fn add_target(&self) -> Result<(), CommandError> {
            self.done.borrow_mut().push("rustup");
            if !self.rustup_works {
                return Err(CommandError::TimedOut { command: "rustup".into(), limit: Duration::from_secs(1) });
            }
            self.has_std.set(!self.rustup_is_elsewhere);
            Ok(())
        }

        fn is_debian(&self) -> bool {
            self.is_debian
        }

        fn set_up_debian(&self) -> Result<PathBuf, DebianError> {
            self.done.borrow_mut().push("apt");
            if self.is_root { Ok("fresh".into()) } else { Err(DebianError::NeedsRoot { command: "apt-get".into() }) }
        }
    }

    fn route(fake: &Fake, wanted: Option<RouteKind>) -> Result<Route, RouteError> {
        decide(fake, wanted, &|_| {})
    }

    fn installed_route() -> Route {
        Route::Installed { std: "libstd.rlib".into() }
    }

    fn debian_route(wasm_ld: &str) -> Route {
        Route::Debian { wasm_ld: wasm_ld.into() }
    }

    #[test]
    fn installed_target_is_used_and_nothing_is_touched() {
        let fake = Fake { has_std: true.into(), has_debian: true, is_debian: true, is_root: true, ..Fake::default() };
        assert_eq!(route(&fake, None).unwrap(), installed_route());
        assert!(fake.done.borrow().is_empty());
    }

    #[test]
    fn remembered_debian_spares_the_download() {
        let fake = Fake { has_debian: true, is_debian: true, rustup_works: true, ..Fake::default() };
        assert_eq!(route(&fake, None).unwrap(), debian_route("remembered"));
        assert!(fake.done.borrow().is_empty());
    }

    #[test]
    fn rustup_is_tried_before_debian() {
        let fake = Fake { rustup_works: true, is_debian: true, is_root: true, ..Fake::default() };
        assert_eq!(route(&fake, None).unwrap(), installed_route());
        assert_eq!(*fake.done.borrow(), ["rustup"]);
    }

    #[test]
    fn debian_is_set_up_when_rustup_cannot() {
        let offline = Fake { is_debian: true, is_root: true, ..Fake::default() };
        assert_eq!(route(&offline, None).unwrap(), debian_route("fresh"));
        assert_eq!(*offline.done.borrow(), ["rustup", "apt"]);

        let elsewhere = Fake { rustup_works: true, rustup_is_elsewhere: true, is_debian: true, is_root: true, ..Fake::default() };
        assert_eq!(route(&elsewhere, None).unwrap(), debian_route("fresh"));
    }

    #[test]
    fn other_machines_are_told_what_to_install() {
        let error = route(&Fake::default(), None).unwrap_err();
        assert!(error.to_string().contains("run `rustup target add wasm32-wasip2`"), "{error}");
        let elsewhere = Fake { rustup_works: true, rustup_is_elsewhere: true, ..Fake::default() };
        assert!(matches!(route(&elsewhere, None), Err(RouteError::AddedElsewhere)));
    }

    #[test]
    fn missing_rights_are_reported() {
        let fake = Fake { is_debian: true, ..Fake::default() };
        assert!(matches!(route(&fake, None), Err(RouteError::Debian(DebianError::NeedsRoot { .. }))));
    }

    #[test]
    fn wanted_route_rules_out_the_other() {
        let fake = Fake { has_std: true.into(), is_debian: true, is_root: true, ..Fake::default() };
        assert_eq!(route(&fake, Some(RouteKind::Debian)).unwrap(), debian_route("fresh"));
        let fake = Fake { has_debian: true, is_debian: true, is_root: true, ..Fake::default() };
        assert!(matches!(route(&fake, Some(RouteKind::Installed)), Err(RouteError::NotAdded(_))));
        assert!(matches!(route(&Fake::default(), Some(RouteKind::Debian)), Err(RouteError::NotDebian)));
    }
}
