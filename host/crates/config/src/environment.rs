//! The environment as a value. The binary takes it from the process once; nothing in this crate reads the process.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Environment variables and the working directory. Cheap to clone. Values may be secrets, so `Debug` shows names only.
#[derive(Clone, PartialEq, Eq)]
pub struct Environment {
    variables: Arc<BTreeMap<String, String>>,
    working_directory: PathBuf,
}

impl Environment {
    /// Takes variables and the directory against which their relative paths are resolved. Variables that are not UTF-8 are to be
    /// left out by the caller.
    pub fn new<K, V>(variables: impl IntoIterator<Item = (K, V)>, working_directory: impl Into<PathBuf>) -> Self
    where
        K: Into<String>,
        V: Into<String>,
    {
        let variables = variables.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
        Self { variables: Arc::new(variables), working_directory: working_directory.into() }
    }

    /// The value of a variable. An empty value counts as not set.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// Where relative paths of variables start.
    pub fn working_directory(&self) -> &Path {
        &self.working_directory
    }

    /// The user's home directory, from `HOME`.
    pub fn home(&self) -> Option<&Path> {
        self.get("HOME").map(Path::new)
    }

    /// Turns a path of the operator into an absolute one: `~` is the home directory, a relative path starts at `base`.
    pub(crate) fn absolute(&self, path: &str, base: &Path) -> PathBuf {
        match (path.strip_prefix('~'), self.home()) {
            (Some(""), Some(home)) => home.to_owned(),
            (Some(rest), Some(home)) if rest.starts_with('/') => home.join(rest.trim_start_matches('/')),
            _ => base.join(path),
        }
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Environment")
            .field("variables", &self.variables.keys())
            .field("working_directory", &self.working_directory)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_absolute() {
        let environment = Environment::new([("HOME", "/home/op")], "/cwd");
        let base = Path::new("/etc/creel");
        let rows = [
            ("~", "/home/op"),
            ("~/x", "/home/op/x"),
            ("~//x", "/home/op/x"),
            ("~other/x", "/etc/creel/~other/x"),
            ("plugins", "/etc/creel/plugins"),
            ("/srv/plugins", "/srv/plugins"),
        ];
        for (path, expected) in rows {
            assert_eq!(environment.absolute(path, base), Path::new(expected), "{path}");
        }
    }

    #[test]
    fn debug_shows_names_only() {
        let shown = format!("{:?}", Environment::new([("OPENAI_API_KEY", "sk-hidden")], "/"));
        assert!(shown.contains("OPENAI_API_KEY") && !shown.contains("hidden"), "{shown}");
    }
}
