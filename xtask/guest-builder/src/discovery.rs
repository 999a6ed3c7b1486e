//! Which guests there are, and whether each follows the rules for guests. Builds nothing.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::command::{self, CommandError, Stdout};
use crate::environment;
use crate::fingerprint::INPUTS;
use crate::plugin_manifest::PluginManifest;
use crate::progress::Report;
use crate::publish::MANIFEST;
use cargo_metadata::{CrateType, DependencyKind, Metadata, MetadataCommand, Package, Target};

const PLUGINS: &str = "example-plugins";
const SDK: &str = "plugins-sdk";
const TESTS: &str = "tests/guests";

/// Cargo only reads manifests for this, but it may wait for another cargo.
const METADATA_LIMIT: Duration = Duration::from_secs(300);

/// Everything that there is to build.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Sources {
    /// The example plugins, ordered by id.
    pub(crate) plugins: Vec<PluginSource>,
    /// The package of the test guests, if there is one.
    pub(crate) tests: Option<TestSource>,
}

impl Sources {
    pub(crate) fn is_empty(&self) -> bool {
        self.plugins.is_empty() && self.tests.is_none()
    }
}

/// One example plugin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PluginSource {
    pub(crate) id: String,
    /// Name of the package.
    pub(crate) package: String,
    /// The manifest of the plugin.
    pub(crate) manifest: PathBuf,
    /// File name that the manifest gives to the component.
    pub(crate) component: String,
}

/// The package of the test guests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TestSource {
    /// Name of the package.
    pub(crate) package: String,
    /// Names of its examples; each is a guest.
    pub(crate) examples: Vec<String>,
}

/// Which rule for guests is broken, and where.
#[derive(Debug, thiserror::Error)]
pub enum DiscoveryError {
    /// Cargo cannot read the workspace.
    #[error("cargo cannot read the workspace")]
    Workspace(#[from] CommandError),
    /// Cargo answered something that we do not understand.
    #[error("cannot read the answer of `cargo metadata`")]
    Answer(#[from] cargo_metadata::Error),
    /// A package that the workspace does not list.
    #[error("{manifest} is not a member of the workspace: add its folder to `members` in Cargo.toml", manifest = manifest.display())]
    NotAMember {
        /// Cargo.toml of the package.
        manifest: PathBuf,
    },
    /// An example plugin without library.
    #[error("example plugin `{package}` has no library: add src/lib.rs")]
    NoLibrary {
        /// The package.
        package: String,
    },
    /// A plugin manifest that cannot be read.
    #[error("cannot read the plugin manifest {manifest}", manifest = manifest.display())]
    ManifestUnreadable {
        /// The file.
        manifest: PathBuf,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
    /// A plugin manifest that is not JSON or lacks a key.
    #[error("the plugin manifest {manifest} needs the keys `id` and `component`", manifest = manifest.display())]
    ManifestInvalid {
        /// The file.
        manifest: PathBuf,
        /// The cause.
        #[source]
        source: serde_json::Error,
    },
    /// A plugin manifest that names a place instead of a file beside it.
    #[error("`{key}` in {manifest} must be a plain file name, not `{value}`", manifest = manifest.display())]
    NotAFileName {
        /// The file.
        manifest: PathBuf,
        /// The key in it.
        key: &'static str,
        /// Its value.
        value: String,
    },
    /// Two plugins that call themselves the same.
    #[error("{first} and {second} have the same plugin id: rename one", first = first.display(), second = second.display())]
    DuplicateId {
        /// One manifest.
        first: PathBuf,
        /// The other.
        second: PathBuf,
    },
    /// A test guest that cargo would build as a program.
    #[error("test guest `{example}` is not a library: add `[[example]]` with its name and `crate-type = [\"cdylib\"]` to {manifest}", manifest = manifest.display())]
    NotACdylib {
        /// The example.
        example: String,
        /// Cargo.toml of the package.
        manifest: PathBuf,
    },
    /// A guest that is made of something whose changes we would not see.
    #[error(
        "guest package `{package}` depends on `{dependency}`, which is not watched for changes: guests may use plugins-sdk only"
    )]
    ForeignDependency {
        /// The package.
        package: String,
        /// What it depends on.
        dependency: String,
    },
}

/// Finds all guests of the workspace. A folder that is absent holds none.
pub(crate) fn find(workspace: &Path, report: Report<'_>) -> Result<Sources, DiscoveryError> {
    let folders = package_folders(workspace);
    if folders.is_empty() {
        return Ok(Sources::default());
    }
    let metadata = metadata(workspace, report)?;
    refuse_foreign_dependencies(workspace, &metadata)?;
    let mut plugins = BTreeMap::new();
    let mut tests = None;
    for folder in folders {
        let package = member(&metadata, &folder.join("Cargo.toml"))?;
        if folder == workspace.join(TESTS) {
            tests = Some(test_source(package)?);
            continue;
        }
        let plugin = plugin_source(package, &folder)?;
        let second = plugin.manifest.clone();
        if let Some(first) = plugins.insert(plugin.id.clone(), plugin) {
            return Err(DiscoveryError::DuplicateId { first: first.manifest, second });
        }
    }
    Ok(Sources { plugins: plugins.into_values().collect(), tests })
}

/// The folders with a Cargo.toml where guests live, in the order of their names.
fn package_folders(workspace: &Path) -> Vec<PathBuf> {
    let plugins = fs::read_dir(workspace.join(PLUGINS)).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut folders: Vec<_> =
        plugins.chain([workspace.join(TESTS)]).filter(|folder| folder.join("Cargo.toml").is_file()).collect();
    folders.sort();
    folders
}

/// Asks the cargo on the PATH: reading manifests needs no wasm toolchain.
fn metadata(workspace: &Path, report: Report<'_>) -> Result<Metadata, DiscoveryError> {
    let mut cargo = Command::new("cargo");
    environment::clean(&mut cargo);
    cargo.current_dir(workspace).args(["metadata", "--no-deps", "--format-version", "1"]);
    let answer = command::run(cargo, Stdout::Answer, METADATA_LIMIT, report)?;
    Ok(MetadataCommand::parse(answer)?)
}

fn member<'a>(metadata: &'a Metadata, manifest: &Path) -> Result<&'a Package, DiscoveryError> {
    let found = metadata.packages.iter().find(|package| package.manifest_path == manifest);
    found.ok_or_else(|| DiscoveryError::NotAMember { manifest: manifest.to_owned() })
}

/// What guests share may depend on nothing else either.
fn refuse_foreign_dependencies(workspace: &Path, metadata: &Metadata) -> Result<(), DiscoveryError> {
    let tests = workspace.join(TESTS);
    let is_watched = |path: &Path| INPUTS.iter().any(|input| path.starts_with(workspace.join(input)));
    let reaches_guests = |path: &Path| [PLUGINS, SDK, TESTS].iter().any(|folder| path.starts_with(workspace.join(folder)));
    for package in metadata.packages.iter().filter(|package| reaches_guests(package.manifest_path.as_std_path())) {
        // What native tests use does not reach a component; but test guests are examples, and those use it.
        let counts = |kind| kind != DependencyKind::Development || package.manifest_path.starts_with(&tests);
        let foreign = package.dependencies.iter().find(|dependency| {
            counts(dependency.kind) && dependency.path.as_ref().is_some_and(|path| !is_watched(path.as_std_path()))
        });
        if let Some(foreign) = foreign {
            let (package, dependency) = (package.name.to_string(), foreign.name.clone());
            return Err(DiscoveryError::ForeignDependency { package, dependency });
        }
    }
    Ok(())
}

fn plugin_source(package: &Package, folder: &Path) -> Result<PluginSource, DiscoveryError> {
    let name = package.name.to_string();
    if !package.targets.iter().any(is_library) {
        return Err(DiscoveryError::NoLibrary { package: name });
    }
    let path = folder.join(MANIFEST);
    let text = fs::read(&path).map_err(|source| DiscoveryError::ManifestUnreadable { manifest: path.clone(), source })?;
    let manifest = PluginManifest::parse(&text, &path)?;
    Ok(PluginSource { id: manifest.id, package: name, manifest: path, component: manifest.component })
}

fn is_library(target: &Target) -> bool {
    target.crate_types.iter().any(|kind| matches!(kind, CrateType::Lib | CrateType::RLib | CrateType::CDyLib))
        && !target.is_example()
}

fn test_source(package: &Package) -> Result<TestSource, DiscoveryError> {
    let mut examples = Vec::new();
    for target in package.targets.iter().filter(|target| target.is_example()) {
        if !target.crate_types.contains(&CrateType::CDyLib) {
            let manifest = package.manifest_path.clone().into_std_path_buf();
            return Err(DiscoveryError::NotACdylib { example: target.name.clone(), manifest });
        }
        examples.push(target.name.clone());
    }
    examples.sort();
    Ok(TestSource { package: package.name.to_string(), examples })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use tempfile::TempDir;

    use super::*;

    /// A workspace with these files, one member for each Cargo.toml among them.
    fn workspace(files: &[(&str, &str)]) -> TempDir {
        let root = tempfile::tempdir().unwrap();
        let members: Vec<_> = files.iter().filter_map(|(name, _)| name.strip_suffix("/Cargo.toml")).collect();
        let manifest = format!("[workspace]\nresolver = \"3\"\nmembers = {members:?}\n");
        for (name, text) in files.iter().copied().chain([("Cargo.toml", manifest.as_str())]) {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    fn find_in(root: &TempDir) -> Result<Sources, DiscoveryError> {
        find(&fs::canonicalize(root.path()).unwrap(), &|_| {})
    }

    fn refusal(files: &[(&str, &str)]) -> String {
        find_in(&workspace(files)).unwrap_err().to_string()
    }

    const GUARD: (&str, &str) = ("example-plugins/guard/Cargo.toml", "[package]\nname = \"guard\"\nedition = \"2024\"");
    const GUARD_LIB: (&str, &str) = ("example-plugins/guard/src/lib.rs", "");
    const GUARD_MANIFEST: (&str, &str) =
        ("example-plugins/guard/creel.plugin.json", r#"{"id": "the-guard", "component": "guard.wasm", "hooks": []}"#);
    const TEST_LIB: (&str, &str) = ("tests/guests/src/lib.rs", "");

    #[test]
    fn absent_folders_hold_no_guests() {
        assert_eq!(find_in(&tempfile::tempdir().unwrap()).unwrap(), Sources::default());
        let readme = workspace(&[("example-plugins/README.md", "text")]);
        assert_eq!(find_in(&readme).unwrap(), Sources::default());
    }

    #[test]
    fn plugins_and_test_guests_are_found() {
        let manifest = "[package]\nname = \"test-guests\"\nedition = \"2024\"\n\
            [[example]]\nname = \"trap_b\"\ncrate-type = [\"cdylib\"]\n[[example]]\nname = \"hook_a\"\ncrate-type = [\"cdylib\"]\n";
        let files = [("tests/guests/examples/trap_b.rs", ""), ("tests/guests/examples/hook_a.rs", ""), TEST_LIB];
        let root = workspace(&[&files[..], &[GUARD, GUARD_LIB, GUARD_MANIFEST, ("tests/guests/Cargo.toml", manifest)]].concat());
        let found = find_in(&root).unwrap();

        let [plugin] = &found.plugins[..] else { unreachable!("{found:?}") };
        assert_eq!(
            (plugin.id.as_str(), plugin.package.as_str(), plugin.component.as_str()),
            ("the-guard", "guard", "guard.wasm")
        );
        let tests = TestSource { package: "test-guests".into(), examples: vec!["hook_a".into(), "trap_b".into()] };
        assert_eq!(found.tests, Some(tests));
    }

    #[test]
    fn plugin_without_manifest_or_library_is_refused() {
        let text = refusal(&[GUARD, GUARD_LIB]);
        assert!(text.starts_with("cannot read the plugin manifest") && text.ends_with("guard/creel.plugin.json"), "{text}");
        let text = refusal(&[GUARD, GUARD_MANIFEST, ("example-plugins/guard/src/main.rs", "fn main() {}")]);
        assert_eq!(text, "example plugin `guard` has no library: add src/lib.rs");
    }

    #[test]
    fn package_outside_the_workspace_is_refused() {
        let root = workspace(&[GUARD, GUARD_LIB, GUARD_MANIFEST]);
        fs::write(root.path().join("Cargo.toml"), "[workspace]\nresolver = \"3\"\nmembers = []\n").unwrap();
        assert!(find_in(&root).unwrap_err().to_string().contains("is not a member of the workspace"));
    }

    #[test]
    fn two_plugins_with_one_id_are_refused() {
        let second = ("example-plugins/other/Cargo.toml", "[package]\nname = \"other\"\nedition = \"2024\"");
        let files = [("example-plugins/other/src/lib.rs", ""), ("example-plugins/other/creel.plugin.json", GUARD_MANIFEST.1)];
        let text = refusal(&[&files[..], &[second, GUARD, GUARD_LIB, GUARD_MANIFEST]].concat());
        assert!(text.ends_with("have the same plugin id: rename one"), "{text}");
    }

    #[test]
    fn test_guest_that_is_a_program_is_refused() {
        let manifest = ("tests/guests/Cargo.toml", "[package]\nname = \"test-guests\"\nedition = \"2024\"");
        let text = refusal(&[manifest, TEST_LIB, ("tests/guests/examples/hook_a.rs", "fn main() {}")]);
        assert!(text.starts_with("test guest `hook_a` is not a library"), "{text}");
    }

    /// The guard depends on the SDK; one of the two packages depends on a crate of the host, by this table.
    fn with_host_crate(package: &str, table: &str) -> Result<Sources, DiscoveryError> {
        let manifest = |name: &str, sdk: &str| {
            let mut text = format!("[package]\nname = {name:?}\nedition = \"2024\"\n{sdk}");
            if name == package {
                text.push_str(&format!(
                    "[{table}.domain]\npath = \"{}\"\n",
                    if sdk.is_empty() { "../host/domain" } else { "../../host/domain" }
                ));
            }
            text
        };
        let (guard, sdk) = (manifest("guard", "[dependencies.sdk]\npath = \"../../plugins-sdk\"\n"), manifest("sdk", ""));
        find_in(&workspace(&[
            (GUARD.0, &guard),
            GUARD_LIB,
            GUARD_MANIFEST,
            ("plugins-sdk/Cargo.toml", &sdk),
            ("plugins-sdk/src/lib.rs", ""),
            ("host/domain/Cargo.toml", "[package]\nname = \"domain\"\nedition = \"2024\""),
            ("host/domain/src/lib.rs", ""),
        ]))
    }

    #[test]
    fn dependency_that_is_not_watched_is_refused() {
        for package in ["guard", "sdk"] {
            let text = with_host_crate(package, "dependencies").unwrap_err().to_string();
            assert!(text.starts_with(&format!("guest package `{package}` depends on `domain`, which is not watched")), "{text}");
        }
    }

    #[test]
    fn native_tests_of_a_plugin_may_depend_on_anything() {
        assert_eq!(with_host_crate("guard", "dev-dependencies").unwrap().plugins.len(), 1);
        assert_eq!(with_host_crate("nobody", "dependencies").unwrap().plugins.len(), 1);
    }
}
