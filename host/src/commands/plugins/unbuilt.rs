//! What to do about a plugin that is there as source only: how its component is built. Looks at names of files; builds nothing.

use std::path::Path;

use plugin_host::discovery::{Candidate, Discovery, Found};

/// A hint, if the component of a plugin is missing and its source is not.
pub(super) fn hint(discovered: &Discovery) -> Option<String> {
    discovered.found.iter().find_map(|found| match found {
        Found::Plugin(candidate) => of_candidate(candidate),
        Found::Failure(_) => None,
    })
}

fn of_candidate(candidate: &Candidate) -> Option<String> {
    let Candidate { root, component, manifest, .. } = candidate;
    if root.join(component).exists() {
        return None;
    }
    // Cargo writes the names of libraries with underscores.
    let file = component.file_name()?.to_str()?;
    let underscored = file.replace('-', "_");
    if underscored != file && root.join(component.with_file_name(&underscored)).exists() {
        return Some(format!("{underscored} is there: rename it, or write \"component\": \"{underscored}\" into the manifest"));
    }
    if !root.join("Cargo.toml").is_file() {
        return None;
    }
    if let Some(repository) = repository(root) {
        let built = repository.join("target/guests/plugins").join(manifest.id.as_str());
        return Some(format!(
            "this is the source of an example, which is not built here; `cargo xtask guests` builds it into {}",
            built.display()
        ));
    }
    Some(format!(
        "build it with `cargo build --release --target wasm32-wasip2`, then copy target/wasm32-wasip2/release/{underscored} to {}",
        root.join(component).display()
    ))
}

/// The repository of Creel, if the plugin is one of its examples.
fn repository(root: &Path) -> Option<&Path> {
    let examples = root.parent().filter(|parent| parent.ends_with("example-plugins"))?;
    examples.parent().filter(|repository| repository.join("xtask/Cargo.toml").is_file())
}
