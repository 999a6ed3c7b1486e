//! Places on disk, what is found there in which order, and the sentences about the rest.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use std::fs;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;
use crate::manifest::FILE_NAME;

fn manifest(id: &str, component: Option<&str>) -> String {
    json!({ "id": id, "configSchema": { "type": "object" }, "component": component }).to_string()
}

fn packed(id: &str) -> Vec<u8> {
    let component = wat::parse_str("(component)").unwrap();
    crate::embedded::write(&component, manifest(id, None).as_bytes()).unwrap()
}

/// A tree of files under a temporary directory.
struct Tree(TempDir);

impl Tree {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    fn file(&self, path: &str, content: impl AsRef<[u8]>) -> &Self {
        fs::create_dir_all(self.path(path).parent().unwrap()).unwrap();
        fs::write(self.path(path), content).unwrap();
        self
    }

    fn plugin(&self, directory: &str, id: &str) -> &Self {
        self.file(&format!("{directory}/{FILE_NAME}"), manifest(id, Some("plugin.wasm")))
    }

    fn package(&self, directory: &str, declared: &Value) -> &Self {
        self.file(&format!("{directory}/package.json"), json!({ "openclaw": declared }).to_string())
    }

    /// What is found if this path is named.
    fn locate(&self, path: &str) -> Discovery {
        locate(&self.path(path))
    }
}

fn plugins(discovery: &Discovery) -> Vec<(&str, String)> {
    let mut plugins = Vec::new();
    for found in &discovery.found {
        if let Found::Plugin(candidate) = found {
            plugins.push((candidate.manifest.id.as_str(), candidate.component.display().to_string()));
        }
    }
    plugins
}

fn ids(discovery: &Discovery) -> Vec<&str> {
    plugins(discovery).into_iter().map(|(id, _)| id).collect()
}

fn failures(discovery: &Discovery) -> Vec<String> {
    let failure = |found: &Found| match found {
        Found::Failure(failure) => Some(failure.error.to_string()),
        Found::Plugin(_) => None,
    };
    discovery.found.iter().filter_map(failure).collect()
}

/// The one failure of a discovery.
fn failure(discovery: &Discovery) -> String {
    let [failure] = failures(discovery).try_into().unwrap();
    failure
}

#[test]
fn directories_and_single_files_are_found_by_origin_then_name() {
    let tree = Tree::new();
    tree.plugin("paths/z", "z").file("paths/y.wasm", packed("y"));
    tree.plugin("installed/b", "b").file("installed/a.wasm", packed("a")).file("installed/notes.txt", "");
    tree.plugin("installed/.trash", "trash").plugin("installed/node_modules", "dependency");
    tree.plugin("bundled/m", "m").plugin("workspace/c", "c");
    let sources = Sources {
        load_paths: vec![tree.path("paths/z"), tree.path("paths/y.wasm")],
        installed: Some(tree.path("installed")),
        bundled: Some(tree.path("bundled")),
        workspace: Some(tree.path("workspace")),
    };
    let discovery = discover(&sources);
    assert_eq!(ids(&discovery), ["z", "y", "a", "b", "m", "c"]);
    assert_eq!(failures(&discovery), [""; 0]);
    let origins: Vec<Origin> = discovery
        .found
        .iter()
        .map(|found| match found {
            Found::Plugin(candidate) => candidate.origin,
            Found::Failure(failure) => failure.origin,
        })
        .collect();
    use Origin::{Bundled, Config, Installed, Workspace};
    assert_eq!(origins, [Config, Config, Installed, Installed, Bundled, Workspace]);
    assert_eq!(discover(&sources), discovery, "the order is the same each time");
    let nowhere = Sources { installed: Some(tree.path("gone")), ..Sources::default() };
    assert_eq!(discover(&nowhere), Discovery::default());
}

#[test]
fn a_named_path_may_be_a_plugin_a_manifest_a_file_or_a_directory_of_plugins() {
    let tree = Tree::new();
    tree.plugin("all/guard", "guard").file("all/one.wasm", packed("one"));
    assert_eq!(ids(&tree.locate("all/guard")), ["guard"]);
    assert_eq!(ids(&tree.locate("all/guard/creel.plugin.json")), ["guard"]);
    assert_eq!(ids(&tree.locate("all/one.wasm")), ["one"]);
    assert_eq!(ids(&tree.locate("all")), ["guard", "one"]);
}

#[test]
fn places_without_a_plugin_are_told() {
    let tree = Tree::new();
    tree.file("empty/notes.md", "").file("text.md", "").file("half.wasm", &packed("half")[..20]);
    tree.file("bare.wasm", wat::parse_str("(component)").unwrap());
    tree.file("core.wasm", wat::parse_str("(module)").unwrap());
    tree.file("bad/creel.plugin.json", "{").file("none/creel.plugin.json", manifest("none-named", None));
    for (path, expected) in [
        ("gone", "gone does not exist"),
        ("empty", "empty has no creel.plugin.json and declares no `openclaw` resources in package.json"),
        ("text.md", "text.md is neither a component (.wasm) nor a creel.plugin.json"),
        ("half.wasm", "half.wasm is damaged: a section starts at byte 8"),
        ("bare.wasm", "bare.wasm has no manifest in it; put it into a directory with a creel.plugin.json"),
        ("core.wasm", "core.wasm is a core WebAssembly module, not a component"),
        ("bad", "bad/creel.plugin.json: EOF while parsing"),
        ("none", "none/creel.plugin.json: `component` is missing; name the .wasm file"),
    ] {
        let failure = failure(&tree.locate(path));
        assert!(failure.contains(expected), "{failure}\nwanted: {expected}");
    }
}

#[test]
fn of_two_plugins_with_one_id_the_earlier_one_loads_and_both_places_are_named() {
    let tree = Tree::new();
    tree.plugin("installed/guard", "guard").plugin("workspace/guard", "guard").file("workspace/copy.wasm", packed("guard"));
    let discovery = discover(&Sources {
        installed: Some(tree.path("installed")),
        workspace: Some(tree.path("workspace")),
        ..Sources::default()
    });
    assert_eq!(ids(&discovery), ["guard"]);
    let failures = failures(&discovery);
    assert_eq!(failures.len(), 2);
    for (failure, second) in failures.iter().zip(["workspace/copy.wasm", "workspace/guard"]) {
        let first = tree.path("installed/guard");
        let second = tree.path(second);
        let expected =
            format!("two plugins have the id `guard`: {} comes first, so {} is left out", first.display(), second.display());
        assert!(failure.starts_with(&expected), "{failure}");
    }
}

/// Also if it is faulty; but one that is only wrong about its id has none.
#[test]
fn a_faulty_plugin_keeps_its_id() {
    let tree = Tree::new();
    tree.file(&format!("installed/guard/{FILE_NAME}"), manifest("guard", None)).plugin("workspace/guard", "guard");
    tree.file(&format!("installed/kit/{FILE_NAME}"), manifest("kit", None)).package("installed/kit", &json!({}));
    tree.file("installed/kit/extensions/a.wasm", packed("other")).file("installed/kit/extensions/b.wasm", packed("kit/b"));
    tree.plugin("workspace/other", "other");
    let discovery = discover(&Sources {
        installed: Some(tree.path("installed")),
        workspace: Some(tree.path("workspace")),
        ..Sources::default()
    });
    assert_eq!(ids(&discovery), ["kit/b", "other"]);
    assert!(failures(&discovery).iter().any(|it| it.contains("comes first") && it.contains("workspace/guard is left out")));
}

#[test]
fn of_too_many_plugins_the_first_ones_by_name_are_looked_at_and_the_rest_is_told() {
    let tree = Tree::new();
    for number in 0..1_002 {
        tree.plugin(&format!("all/p{number:04}"), &format!("p{number:04}"));
        tree.file(&format!("all/note-{number}.txt"), "");
    }
    let discovery = tree.locate("all");
    let ids = ids(&discovery);
    assert_eq!((ids.len(), ids.first(), ids.last()), (1_000, Some(&"p0000"), Some(&"p0999")));
    assert!(failure(&discovery).contains("all has more than 1000 entries that may be plugins; the last 2 by name are left out"));
}

#[test]
fn pipes_are_not_waited_for() {
    let tree = Tree::new();
    tree.plugin("all/fine", "fine")
        .file("all/manifest/readme", "")
        .file("all/package/readme", "")
        .plugin("all/component", "component");
    let pipe = |path: &str| {
        let made = std::process::Command::new("mkfifo").arg(tree.path(path)).status();
        assert!(made.unwrap().success());
    };
    pipe("all/single.wasm");
    pipe("all/manifest/creel.plugin.json");
    pipe("all/package/package.json");
    pipe("all/component/plugin.wasm");
    let discovery = tree.locate("all");
    assert_eq!(ids(&discovery), ["component", "fine"]);
    let failures = failures(&discovery);
    for expected in ["single.wasm is not a file", "manifest/creel.plugin.json is not a file", "package has no creel.plugin.json"]
    {
        assert!(failures.iter().any(|it| it.contains(expected)), "{failures:?}\nwanted: {expected}");
    }
    let [Found::Plugin(component)] =
        discovery.found.iter().filter(|it| it.id().is_some_and(|id| id.as_str() == "component")).collect::<Vec<_>>()[..]
    else {
        panic!()
    };
    let error = crate::plan::open_component(component).unwrap_err();
    assert!(error.to_string().contains("plugin.wasm is not a file"), "{error}");
}

#[cfg(unix)]
#[test]
fn plugins_that_ship_with_the_host_are_refused_if_others_can_change_them() {
    use std::os::unix::fs::PermissionsExt;

    let protected = || {
        let tree = Tree::new();
        tree.plugin("shipped/guard", "guard").plugin("shipped/other", "other").file("shipped/guard/plugin.wasm", "");
        let files = ["guard", "guard/plugin.wasm", "guard/creel.plugin.json", "other", "other/creel.plugin.json"];
        set(&tree, "shipped", 0o755);
        files.iter().for_each(|file| set(&tree, &format!("shipped/{file}"), 0o755));
        tree
    };
    fn set(tree: &Tree, path: &str, mode: u32) {
        fs::set_permissions(tree.path(path), fs::Permissions::from_mode(mode)).unwrap();
    }
    let shipped = |tree: &Tree| discover(&Sources { bundled: Some(tree.path("shipped")), ..Sources::default() });
    for (path, mode, left) in [
        ("shipped", 0o775, vec![]),
        ("shipped", 0o757, vec![]),
        ("shipped/guard", 0o775, vec!["other"]),
        ("shipped/guard/plugin.wasm", 0o666, vec!["other"]),
        ("shipped/guard", 0o700, vec!["guard", "other"]),
    ] {
        let tree = protected();
        set(&tree, path, mode);
        let discovery = shipped(&tree);
        assert_eq!(ids(&discovery), left, "{path} {mode:o}");
        for told in failures(&discovery) {
            assert!(told.contains(&format!("{path} can be changed by others")) && told.contains("chmod -R go-w"), "{told}");
        }
        let named = discover(&Sources { installed: Some(tree.path("shipped")), ..Sources::default() });
        assert_eq!(ids(&named), ["guard", "other"], "only what is trusted unasked must be protected");
    }
}

#[test]
fn one_plugin_named_twice_is_one_plugin() {
    let tree = Tree::new();
    tree.plugin("installed/guard", "guard");
    let discovery = discover(&Sources {
        load_paths: vec![tree.path("installed/guard"), tree.path("installed/../installed/guard")],
        installed: Some(tree.path("installed")),
        ..Sources::default()
    });
    assert_eq!((ids(&discovery), failures(&discovery).len()), (vec!["guard"], 0));
}

#[test]
fn a_package_with_one_extension_lends_it_its_manifest() {
    let tree = Tree::new();
    tree.file(&format!("kit/{FILE_NAME}"), manifest("kit", None)).package("kit", &json!({ "extensions": ["./dist/kit.wasm"] }));
    tree.file("kit/dist/kit.wasm", packed("kit"));
    assert_eq!(plugins(&tree.locate("kit")), [("kit", "dist/kit.wasm".to_owned())]);

    tree.file(&format!("kit/{FILE_NAME}"), manifest("kit", Some("./dist/../dist/kit.wasm")));
    assert_eq!(ids(&tree.locate("kit")), ["kit"]);
    tree.file(&format!("kit/{FILE_NAME}"), manifest("kit", Some("other.wasm")));
    assert!(failure(&tree.locate("kit")).contains("names the component other.wasm, package.json the extension dist/kit.wasm"));
}

#[test]
fn several_extensions_of_a_package_have_ids_of_two_parts() {
    let tree = Tree::new();
    tree.file(&format!("kit/{FILE_NAME}"), manifest("kit", None)).package("kit", &json!({}));
    tree.file("kit/extensions/a.wasm", wat::parse_str("(component)").unwrap());
    tree.file("kit/extensions/b.wasm", packed("kit/b"));
    tree.plugin("kit/extensions/c", "kit/c");
    tree.file("kit/extensions/d.wasm", packed("other"));
    tree.file("kit/extensions/E.wasm", packed("kit/e"));
    let discovery = tree.locate("kit");
    assert_eq!(ids(&discovery), ["kit/a", "kit/b", "kit/c"]);
    let failures = failures(&discovery);
    assert!(failures[0].contains("`kit/E` is not a plugin id"), "{failures:?}");
    assert!(failures[1].contains("says that its id is `other`; as an entry of this package it must be `kit/d`"), "{failures:?}");
}

#[test]
fn a_package_without_a_manifest_holds_plugins_with_their_own() {
    let tree = Tree::new();
    tree.package("kit", &json!({ "extensions": ["a", "b.wasm", "c.wasm", "readme.txt"], "skills": ["s.md"] }));
    tree.plugin("kit/a", "a").file("kit/b.wasm", packed("b")).file("kit/c.wasm", wat::parse_str("(component)").unwrap());
    tree.file("kit/readme.txt", "").file("kit/s.md", "");
    let discovery = tree.locate("kit");
    assert_eq!(ids(&discovery), ["a", "b"]);
    assert_eq!(discovery.packages[0].skills, [PathBuf::from("s.md")]);
    let failures = failures(&discovery);
    assert!(failures.iter().any(|it| it.contains("readme.txt is neither a component")), "{failures:?}");
    assert!(failures.iter().any(|it| it.contains("c.wasm has no manifest in it")), "{failures:?}");
}

#[test]
fn scripts_are_reported_and_the_rest_of_the_package_loads() {
    let tree = Tree::new();
    tree.package("kit", &json!({ "extensions": ["index.ts", "old", "good.wasm"] }));
    tree.file("kit/index.ts", "").file("kit/old/index.mjs", "").file("kit/good.wasm", packed("good")).file("kit/skills/s.md", "");
    let discovery = tree.locate("kit");
    assert_eq!(ids(&discovery), ["good"]);
    assert_eq!(discovery.packages.len(), 1);
    let failures = failures(&discovery);
    assert!(failures[0].contains("index.ts is a script; this host runs WebAssembly components"), "{failures:?}");
    assert!(failures[1].contains("old is a script"), "{failures:?}");
    assert_eq!(failures.len(), 2);
}

#[test]
fn a_package_of_resources_alone_is_no_failure() {
    let tree = Tree::new();
    tree.package("kit", &json!({ "themes": [] })).file("kit/prompts/p.md", "").file("kit/themes/t.json", "{}");
    let discovery = tree.locate("kit");
    assert_eq!(discovery.found, []);
    let package = &discovery.packages[0];
    assert_eq!((package.prompts.len(), package.themes.len()), (1, 0));
}

#[cfg(unix)]
#[test]
fn a_linked_plugin_is_found_and_a_link_out_of_a_plugin_is_not() {
    use std::os::unix::fs::symlink;

    let tree = Tree::new();
    tree.plugin("dev/guard", "guard").file("dev/one.wasm", packed("one")).file("secret.json", manifest("secret", Some("x.wasm")));
    fs::create_dir_all(tree.path("installed/thief")).unwrap();
    symlink(tree.path("dev/guard"), tree.path("installed/guard")).unwrap();
    symlink(tree.path("dev/one.wasm"), tree.path("installed/one.wasm")).unwrap();
    symlink(tree.path("secret.json"), tree.path("installed/thief/creel.plugin.json")).unwrap();
    let discovery = tree.locate("installed");
    assert_eq!(ids(&discovery), ["guard", "one"]);
    assert!(failure(&discovery).contains("leads out of"), "{:?}", failures(&discovery));
}
