//! What the last complete build was made of, and what it made. A stamp that cannot be read, or that does not fit the files on disk,
//! is no stamp: the build then runs and writes a new one.

use std::fs;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::evidence::Evidence;
use crate::publish;
use crate::toolchain::{Route, RouteKind};
use crate::{GuestBuildError, Guests};

/// Written after a complete build, removed before the next one changes anything.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Stamp {
    inputs: String,
    route: Route,
    toolchain: Vec<Evidence>,
    outputs: Vec<Evidence>,
    pub(crate) guests: Guests,
}

impl Stamp {
    pub(crate) fn of(inputs: String, route: Route, guests: Guests) -> Self {
        // A file that is missing here makes the next call build again, which is right.
        let toolchain = Evidence::of_all(route.evidence()).unwrap_or_default();
        let outputs = guests.components().filter_map(|(_, component)| Evidence::of(component));
        let manifests = guests.plugins.iter().filter_map(|plugin| Evidence::of(&publish::manifest_in(&plugin.folder)));
        let outputs = outputs.chain(manifests).collect();
        Self { inputs, route, toolchain, outputs, guests }
    }

    pub(crate) fn read(path: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(path).ok()?).ok()
    }

    pub(crate) fn write(&self, path: &Path) -> Result<(), GuestBuildError> {
        let text = serde_json::to_vec_pretty(self).map_err(|error| GuestBuildError::file("write", path)(error.into()))?;
        publish::write(path, &text)
    }

    /// Whether a build of these inputs by this route would make the very files that are there.
    pub(crate) fn is_fresh(&self, inputs: &str, route: Option<RouteKind>) -> bool {
        let complete = self.outputs.len() == self.guests.plugins.len() * 2 + self.guests.tests.len();
        complete
            && self.inputs == inputs
            && route.is_none_or(|kind| kind == self.route.kind())
            && !self.toolchain.is_empty()
            && self.toolchain.iter().all(Evidence::holds)
            && self.outputs.iter().all(Evidence::holds)
    }
}

/// Removes the stamp if there is one.
pub(crate) fn remove(path: &Path) -> Result<(), GuestBuildError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(GuestBuildError::file("remove", path)(error)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use std::path::PathBuf;

    use tempfile::TempDir;

    use super::*;
    use crate::BuiltPlugin;

    struct Case {
        folder: TempDir,
        stamp: PathBuf,
    }

    /// A complete build of one plugin and one test guest from inputs `in`, read back from disk.
    fn built() -> Case {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["libstd-1.rlib", "p.wasm", "t.wasm", publish::MANIFEST] {
            fs::write(at(name), name).unwrap();
        }
        let plugin = BuiltPlugin { id: "p".into(), folder: folder.path().into(), component: at("p.wasm") };
        let guests = Guests { plugins: vec![plugin], tests: [("t".to_owned(), at("t.wasm"))].into() };
        let stamp = at("stamp.json");
        Stamp::of("in".into(), Route::Installed { std: at("libstd-1.rlib") }, guests).write(&stamp).unwrap();
        Case { folder, stamp }
    }

    impl Case {
        fn is_fresh(&self, inputs: &str, route: Option<RouteKind>) -> bool {
            Stamp::read(&self.stamp).is_some_and(|stamp| stamp.is_fresh(inputs, route))
        }
    }

    #[test]
    fn unchanged_build_is_fresh_by_any_route_or_its_own() {
        let case = built();
        assert!(case.is_fresh("in", None));
        assert!(case.is_fresh("in", Some(RouteKind::Installed)));
        assert!(!case.is_fresh("in", Some(RouteKind::Debian)));
        assert!(!case.is_fresh("other", None));
    }

    #[test]
    fn a_file_that_is_gone_or_changed_makes_it_stale() {
        for name in ["libstd-1.rlib", "p.wasm", "t.wasm", publish::MANIFEST] {
            let case = built();
            fs::write(case.folder.path().join(name), "something else").unwrap();
            assert!(!case.is_fresh("in", None), "{name} was changed");
            fs::remove_file(case.folder.path().join(name)).unwrap();
            assert!(!case.is_fresh("in", None), "{name} is gone");
        }
    }

    #[test]
    fn damaged_stamp_is_no_stamp() {
        let case = built();
        let text = fs::read(&case.stamp).unwrap();
        fs::write(&case.stamp, &text[..text.len() / 2]).unwrap();
        assert!(!case.is_fresh("in", None));
        remove(&case.stamp).unwrap();
        assert!(!case.is_fresh("in", None));
        remove(&case.stamp).unwrap();
    }
}
