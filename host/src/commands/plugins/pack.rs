//! `creel plugins pack`: puts the manifest into the component, so that the plugin is one file. Overwrites a file only where that is asked
//! for.

use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use domain::PluginId;
use plugin_host::discovery::{Candidate, Found, ManifestSource};
use plugin_host::manifest::{self, Manifest};
use plugin_host::plan::{self, OpenedComponent};
use plugin_host::{discovery, embedded};

use super::replace::replace;
use super::unbuilt;
use crate::exit::{Code, Failure};
use crate::terminal::{self, Output};

/// What to pack, and where to.
pub(super) struct Request {
    /// Directory of the manifest.
    pub(super) dir: PathBuf,
    /// The component; the one that the manifest names if left out.
    pub(super) component: Option<PathBuf>,
    /// File to write; made from the id if left out.
    pub(super) file: Option<PathBuf>,
    /// Whether that file may exist.
    pub(super) force: bool,
}

pub(super) fn run(request: &Request, output: &Output) -> Result<Code, Failure> {
    let manifest_path = request.dir.join(manifest::FILE_NAME);
    if !manifest_path.is_file() {
        return Err(Failure::usage(format!("{} does not exist", manifest_path.display()))
            .hint("name the directory of one plugin, with its manifest and its component"));
    }
    let text = std::fs::read(&manifest_path).map_err(|error| cannot("read", &manifest_path, &error))?;
    let (id, component) = match &request.component {
        Some(file) => (named_id(&text, &manifest_path)?, open(file)?),
        None => of_directory(&request.dir)?,
    };
    let packed = embedded::write(&component.bytes, &text)
        .map_err(|error| Failure::new(Code::Plugin, format!("{} {error}", component.path.display())))?;
    let target = request.file.clone().unwrap_or_else(|| PathBuf::from(format!("{}.wasm", id.as_str().replace('/', "-"))));
    match request.force {
        true => replace(&target, &packed).map_err(|error| cannot("write", &target, &error))?,
        false => write_new(&target, &packed)?,
    }
    output.line(format!("{}: {}, with the manifest of `{id}`", target.display(), terminal::bytes(packed.len())));
    Ok(Code::Success)
}

/// The id in a manifest whose component is named elsewhere.
fn named_id(text: &[u8], path: &Path) -> Result<PluginId, Failure> {
    let manifest = Manifest::parse(text, &path.display().to_string());
    manifest.map(|manifest| manifest.id).map_err(|error| Failure::new(Code::Plugin, error.to_string()))
}

/// A component that was named on the command line.
fn open(file: &Path) -> Result<OpenedComponent, Failure> {
    let file = std::path::absolute(file).map_err(|error| cannot("use", file, &error))?;
    let (Some(directory), Some(name)) = (file.parent(), file.file_name()) else {
        return Err(Failure::usage(format!("--component: {} is no file", file.display())));
    };
    if !file.exists() {
        return Err(Failure::usage(format!("--component: {} does not exist", file.display()))
            .hint("`cargo build --release --target wasm32-wasip2` writes it below target/wasm32-wasip2/release"));
    }
    plan::open_file(directory, Path::new(name)).map_err(|error| Failure::new(Code::Plugin, error.to_string()))
}

/// The one plugin of a directory with a manifest.
fn of_directory(dir: &Path) -> Result<(PluginId, OpenedComponent), Failure> {
    let dir = std::path::absolute(dir).map_err(|error| cannot("use", dir, &error))?;
    let discovered = discovery::locate(&dir);
    let hint = unbuilt::hint(&discovered);
    for found in discovered.found {
        match found {
            Found::Plugin(candidate) if candidate.source == ManifestSource::File && candidate.root == dir => {
                return open_candidate(*candidate, hint);
            }
            Found::Plugin(_) => {}
            Found::Failure(failure) => return Err(Failure::new(Code::Plugin, failure.error.to_string())),
        }
    }
    Err(Failure::usage(format!("{} is a package of several plugins; pack each of them", dir.display())))
}

fn open_candidate(candidate: Candidate, hint: Option<String>) -> Result<(PluginId, OpenedComponent), Failure> {
    let opened = plan::open_component(&candidate).map_err(|error| {
        let failure = Failure::new(Code::Plugin, format!("plugin `{}`: {error}", candidate.manifest.id));
        match hint {
            Some(hint) => failure.hint(hint).hint("or name the component with --component"),
            None => failure,
        }
    })?;
    Ok((candidate.manifest.id, opened))
}

fn write_new(target: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let mut file = std::fs::File::create_new(target).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => Failure::usage(format!("{} exists already", target.display()))
            .hint("name another file with --output, or replace this one with --force"),
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
