//! Where an installer keeps things below the state directory. Creates nothing.
//!
//! ```text
//! creel.lock                    what is installed, with digests
//! trust/<key id>.pub            public keys that may sign plugins
//! plugins/<directory>/          installed plugins, one directory each
//! plugins/.install/             private: guards, and one directory per change that is under way
//! ```

use std::path::{Path, PathBuf};

use domain::PluginId;

/// Name of the directory of changes, below that of the plugins so that it is on the same file system. Hidden names are no plugins.
const WORK_DIR: &str = ".install";

/// Places below one state directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    state: PathBuf,
}

impl Layout {
    /// Places below this state directory.
    pub fn new(state: impl Into<PathBuf>) -> Self {
        Self { state: state.into() }
    }

    /// The state directory.
    pub fn state(&self) -> &Path {
        &self.state
    }

    /// The directory of installed plugins.
    pub fn plugins(&self) -> PathBuf {
        self.state.join("plugins")
    }

    /// Name of the directory of a plugin. The entry of a package has two names, which a directory cannot hold as they are; no id holds
    /// a dot, so no two ids share a directory.
    pub fn directory_name(id: &PluginId) -> String {
        id.as_str().replace('/', ".")
    }

    /// The directory of an installed plugin.
    pub fn plugin(&self, id: &PluginId) -> PathBuf {
        self.plugins().join(Self::directory_name(id))
    }

    /// The lockfile.
    pub fn lock(&self) -> PathBuf {
        self.state.join("creel.lock")
    }

    /// The lockfile before it takes its place.
    pub(crate) fn new_lock(&self) -> PathBuf {
        self.state.join(".creel.lock.new")
    }

    /// The directory of trusted public keys.
    pub fn trust(&self) -> PathBuf {
        self.state.join("trust")
    }

    /// The directory of changes that are under way.
    pub(crate) fn work(&self) -> PathBuf {
        self.plugins().join(WORK_DIR)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_with_two_names_have_directories_of_their_own() {
        let layout = Layout::new("/s");
        assert_eq!(layout.plugin(&PluginId::new("kit/guard")), Path::new("/s/plugins/kit.guard"));
        assert_eq!(layout.plugin(&PluginId::new("kit-guard")), Path::new("/s/plugins/kit-guard"));
    }
}
