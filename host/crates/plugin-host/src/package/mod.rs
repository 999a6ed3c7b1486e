//! Resource packages: `openclaw.{extensions, skills, prompts, themes}` in `package.json` (runtime-and-config 7.1). Finds the files of
//! a package; it does not look into them.

mod glob;

use std::path::{Path, PathBuf};

use domain::json::kind_of;
use serde_json::{Map, Value};

use crate::discovery::{FileError, FileKind, Root};

/// Name of the package file.
pub const FILE_NAME: &str = "package.json";

/// Longest package file, in bytes. It may be that of a whole JavaScript project.
const MAX_BYTES: usize = 1 << 20;

/// Most entries that one list of the package file may have.
const MAX_LISTED: usize = 256;

/// What a package brings, as paths relative to its directory, in order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Package {
    /// Components, directories with a component and its manifest, and whatever else was listed as an extension.
    pub extensions: Vec<PathBuf>,
    /// Skills: Markdown files, or what the package lists.
    pub skills: Vec<PathBuf>,
    /// Prompt templates: Markdown files, or what the package lists.
    pub prompts: Vec<PathBuf>,
    /// Themes: JSON files, or what the package lists.
    pub themes: Vec<PathBuf>,
    /// What could not be used. The rest of the package is.
    pub problems: Vec<PackageError>,
}

/// Why a package, or an entry of it, cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PackageError {
    /// The package file cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// The package file is not what it should be.
    #[error("{}: {problem}", place.display())]
    Shape {
        /// The package file.
        place: PathBuf,
        /// What, with the key.
        problem: String,
    },
    /// An entry cannot be used.
    #[error("{}: `{key}`: {cause}", place.display())]
    Entry {
        /// The package file.
        place: PathBuf,
        /// Key of the entry.
        key: String,
        /// Why.
        cause: FileError,
    },
    /// A pattern finds nothing.
    #[error("{}: `{key}`: the pattern `{pattern}` finds no file", place.display())]
    NoMatch {
        /// The package file.
        place: PathBuf,
        /// Key of the entry.
        key: String,
        /// The pattern.
        pattern: String,
    },
}

/// A kind of resource: its key, which is also its conventional directory, and what is found there without being listed.
struct Resource {
    key: &'static str,
    conventional: &'static [&'static str],
}

const EXTENSIONS: Resource = Resource { key: "extensions", conventional: &["extensions/*"] };
const SKILLS: Resource = Resource { key: "skills", conventional: &["skills/*.md", "skills/*/SKILL.md"] };
const PROMPTS: Resource = Resource { key: "prompts", conventional: &["prompts/*.md"] };
const THEMES: Resource = Resource { key: "themes", conventional: &["themes/*.json"] };

/// Ends of the names of programs that this host does not run.
const SCRIPTS: &[&str] = &["js", "mjs", "cjs", "jsx", "ts", "mts", "cts", "tsx", "py"];

/// Whether a file is a program in a scripting language.
pub fn is_script(path: &Path) -> bool {
    has_extension(path, SCRIPTS)
}

/// Whether a file is named like a component.
pub fn is_component(path: &Path) -> bool {
    has_extension(path, &["wasm"])
}

fn has_extension(path: &Path, extensions: &[&str]) -> bool {
    path.extension().and_then(|it| it.to_str()).is_some_and(|it| extensions.contains(&it.to_ascii_lowercase().as_str()))
}

/// Reads the package in a directory. `None`: there is no package file, or it declares no resource package.
///
/// # Errors
/// When the package file is there and cannot be read, or `openclaw` in it is not an object.
pub(crate) fn read(root: &Root) -> Result<Option<Package>, PackageError> {
    if !root.has_file(Path::new(FILE_NAME)) {
        return Ok(None);
    }
    let Some(declared) = declaration(root)? else {
        return Ok(None);
    };
    let mut reader = Reader { root, place: root.path().join(FILE_NAME), declared, problems: Vec::new() };
    let package = Package {
        extensions: reader.resources(&EXTENSIONS),
        skills: reader.resources(&SKILLS),
        prompts: reader.resources(&PROMPTS),
        themes: reader.resources(&THEMES),
        problems: Vec::new(),
    };
    Ok(Some(Package { problems: reader.problems, ..package }))
}

/// The object under `openclaw`.
fn declaration(root: &Root) -> Result<Option<Map<String, Value>>, PackageError> {
    let shape = |problem| PackageError::Shape { place: root.path().join(FILE_NAME), problem };
    let text = root.read(Path::new(FILE_NAME), MAX_BYTES)?;
    let value: Value = serde_json::from_slice(&text).map_err(|error| shape(format!("is not JSON: {error}")))?;
    match value.get("openclaw") {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Object(declared)) => Ok(Some(declared.clone())),
        Some(other) => Err(shape(format!("`openclaw`: expected an object, found {}", kind_of(other)))),
    }
}

/// Finds the files of one package.
struct Reader<'a> {
    root: &'a Root,
    place: PathBuf,
    declared: Map<String, Value>,
    problems: Vec<PackageError>,
}

impl Reader<'_> {
    /// The files of one kind, in order, each once: those that are listed, else those in the conventional directory. An empty list is
    /// a list (7.1.5).
    fn resources(&mut self, resource: &Resource) -> Vec<PathBuf> {
        let mut found = Vec::new();
        match self.declared.get(resource.key) {
            None | Some(Value::Null) => self.conventional(resource, &mut found),
            Some(Value::Array(entries)) if entries.len() <= MAX_LISTED => {
                let entries = entries.clone();
                for (index, entry) in entries.iter().enumerate() {
                    let key = format!("openclaw.{}[{index}]", resource.key);
                    match entry.as_str() {
                        Some(entry) => self.entry(entry, &key, &mut found),
                        None => self.shape(format!("`{key}`: expected text in quotes, found {}", kind_of(entry))),
                    }
                }
            }
            Some(Value::Array(entries)) => {
                let problem = format!("`openclaw.{}` has {} entries; it may have {MAX_LISTED}", resource.key, entries.len());
                self.shape(problem);
            }
            Some(other) => {
                let problem = format!("`openclaw.{}`: expected a list of paths, found {}", resource.key, kind_of(other));
                self.shape(problem);
            }
        }
        found
    }

    fn conventional(&mut self, resource: &Resource, found: &mut Vec<PathBuf>) {
        for pattern in resource.conventional {
            match glob::expand(self.root, pattern) {
                Ok(paths) => {
                    for path in paths {
                        let counts = resource.key != EXTENSIONS.key || self.is_extension(&path);
                        if counts {
                            self.add(&path, resource.key, found);
                        }
                    }
                }
                Err(glob::GlobError::File(cause)) => self.entry_problem(resource.key, cause),
                Err(glob::GlobError::Pattern(problem)) => self.shape(problem),
            }
        }
    }

    /// One entry file or directory per extension; other files there are nobody's business.
    fn is_extension(&self, path: &Path) -> bool {
        is_component(path) || is_script(path) || !matches!(self.root.kind(path), Ok(FileKind::File | FileKind::Other))
    }

    fn entry(&mut self, entry: &str, key: &str, found: &mut Vec<PathBuf>) {
        if !glob::is_pattern(entry) {
            return self.add(Path::new(entry), key, found);
        }
        match glob::expand(self.root, entry) {
            Ok(paths) if paths.is_empty() => {
                let (place, key, pattern) = (self.place.clone(), key.to_owned(), entry.to_owned());
                self.problems.push(PackageError::NoMatch { place, key, pattern });
            }
            Ok(paths) => paths.iter().for_each(|path| self.add(path, key, found)),
            Err(glob::GlobError::File(cause)) => self.entry_problem(key, cause),
            Err(glob::GlobError::Pattern(problem)) => self.shape(format!("`{key}`: {problem}")),
        }
    }

    /// Adds a path if it stays inside after links are resolved, and is not there yet.
    fn add(&mut self, path: &Path, key: &str, found: &mut Vec<PathBuf>) {
        match self.root.resolve(path) {
            Ok(path) if found.contains(&path) => {}
            Ok(path) => found.push(path),
            Err(cause) => self.entry_problem(key, cause),
        }
    }

    fn entry_problem(&mut self, key: &str, cause: FileError) {
        self.problems.push(PackageError::Entry { place: self.place.clone(), key: key.to_owned(), cause });
    }

    fn shape(&mut self, problem: String) {
        self.problems.push(PackageError::Shape { place: self.place.clone(), problem });
    }
}

#[cfg(test)]
mod tests;
