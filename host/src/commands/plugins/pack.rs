//! `creel plugins pack`: puts the manifest into the component, so that the plugin is one file. Never overwrites one.

use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use plugin_host::discovery::{self, Candidate, Found, ManifestSource};
use plugin_host::{embedded, manifest, plan};

use crate::exit::{Code, Failure};
use crate::terminal::{self, Output};

pub(super) fn run(dir: &Path, file: Option<PathBuf>, output: &Output) -> Result<Code, Failure> {
    let candidate = candidate(dir)?;
    let manifest_path = candidate.root.join(manifest::FILE_NAME);
    let text = std::fs::read(&manifest_path).map_err(|error| cannot("read", &manifest_path, &error))?;
    let component = plan::open_component(&candidate).map_err(|error| Failure::new(Code::Plugin, error.to_string()))?;
    let packed = embedded::write(&component.bytes, &text)
        .map_err(|error| Failure::new(Code::Plugin, format!("{} {error}", component.path.display())))?;
    let id = &candidate.manifest.id;
    let target = file.unwrap_or_else(|| PathBuf::from(format!("{}.wasm", id.as_str().replace('/', "-"))));
    write_new(&target, &packed)?;
    output.line(format!("{}: {}, with the manifest of `{id}`", target.display(), terminal::bytes(packed.len())));
    Ok(Code::Success)
}

/// The one plugin of a directory with a manifest.
fn candidate(dir: &Path) -> Result<Candidate, Failure> {
    let manifest_path = dir.join(manifest::FILE_NAME);
    if !manifest_path.is_file() {
        return Err(Failure::usage(format!("{} does not exist", manifest_path.display()))
            .hint("name the directory of one plugin, with its manifest and its component"));
    }
    let dir = std::path::absolute(dir).map_err(|error| cannot("use", dir, &error))?;
    for found in discovery::locate(&dir).found {
        match found {
            Found::Plugin(candidate) if candidate.source == ManifestSource::File && candidate.root == dir => {
                return Ok(*candidate);
            }
            Found::Plugin(_) => {}
            Found::Failure(failure) => return Err(Failure::new(Code::Plugin, failure.error.to_string())),
        }
    }
    Err(Failure::usage(format!("{} is a package of several plugins; pack each of them", dir.display())))
}

fn write_new(target: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let mut file = std::fs::File::create_new(target).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => {
            Failure::usage(format!("{} exists already", target.display())).hint("name another file with --output")
        }
        _ => cannot("create", target, &error),
    })?;
    file.write_all(bytes).map_err(|error| {
        // Half a component is worse than none.
        let _ = std::fs::remove_file(target);
        cannot("write", target, &error)
    })
}

fn cannot(verb: &str, path: &Path, error: &std::io::Error) -> Failure {
    Failure::usage(format!("cannot {verb} {}: {error}", path.display()))
}
