//! Plugins for the tests: the example plugins as they are built, and some that cannot work.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use guest_builder::{Guests, Options};
use serde_json::{Value, json};

use super::bed::binary;

/// The start of a core module: WebAssembly, but no component.
pub(crate) const CORE_MODULE: &[u8] = b"\0asm\x01\0\0\0";

/// All guests of this repository. Built here if that was not done before, which takes a while the first time.
fn guests() -> &'static Guests {
    static GUESTS: OnceLock<Guests> = OnceLock::new();
    GUESTS.get_or_init(|| {
        let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        guest_builder::build(&Options::new(workspace)).expect("`cargo xtask guests` builds the guests and says more")
    })
}

/// The folder of an example plugin.
pub(crate) fn example(id: &str) -> &'static Path {
    let found = guests().plugins.iter().find(|plugin| plugin.id == id);
    &found.unwrap_or_else(|| panic!("there is no example plugin `{id}`")).folder
}

/// The folder with all example plugins.
pub(crate) fn examples() -> &'static Path {
    example("tool-guard").parent().unwrap()
}

/// The component of a test guest.
pub(crate) fn test_guest(name: &str) -> &'static Path {
    &guests().tests[name]
}

/// A component that exports an interface without anything in it.
pub(crate) fn component_exporting(interface: &str) -> Vec<u8> {
    wat::parse_str(format!(r#"(component (instance $i) (export "{interface}" (instance $i)))"#)).unwrap()
}

/// Writes the folder of a plugin whose component is `plugin.wasm`; without bytes there is no such file. Keys of `manifest` are added to
/// the least that a manifest needs.
pub(crate) fn write_plugin(plugins: &Path, id: &str, manifest: Value, component: Option<&[u8]>) -> PathBuf {
    let folder = plugins.join(id);
    fs::create_dir_all(&folder).unwrap();
    let mut text = json!({ "id": id, "component": "plugin.wasm", "configSchema": { "type": "object" } });
    for (key, value) in manifest.as_object().unwrap() {
        text[key] = value.clone();
    }
    fs::write(folder.join("creel.plugin.json"), text.to_string()).unwrap();
    if let Some(component) = component {
        fs::write(folder.join("plugin.wasm"), component).unwrap();
    }
    folder
}

/// Fills a cache of compiled plugins with the example plugins. They are compiled once per build of the binary, by the binary itself.
pub(super) fn copy_compiled(cache: &Path) {
    static COMPILED: OnceLock<PathBuf> = OnceLock::new();
    let compiled = COMPILED.get_or_init(|| {
        let state = Path::new(env!("CARGO_TARGET_TMPDIR")).join("compiled-examples");
        fs::create_dir_all(&state).unwrap();
        let validated = Command::new(binary())
            .args(["plugins", "validate"])
            .arg(examples())
            .env_clear()
            .env("CREEL_STATE_DIR", &state)
            .output()
            .unwrap();
        assert!(validated.status.success(), "{}", String::from_utf8_lossy(&validated.stderr));
        state.join("cache")
    });
    fs::create_dir_all(cache).unwrap();
    for entry in fs::read_dir(compiled).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, cache.join(path.file_name().unwrap())).unwrap();
    }
}
