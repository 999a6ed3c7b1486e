//! A state directory and workspace that live as long as the demo.

use std::path::{Path, PathBuf};

use config::{Environment, Loaded, Locations};

use super::scene::FILES;
use crate::exit::{Code, Failure};

const CONFIGURATION: &str = include_str!("../../../demo/creel.json5");
const SCRIPT: &str = include_str!("../../../demo/script.json5");

/// A directory of its own; removed when dropped, unless it is kept.
pub(super) struct Scratch {
    path: PathBuf,
    keep: bool,
}

impl Scratch {
    pub(super) fn create(keep: bool) -> Result<Self, Failure> {
        let path = std::env::temp_dir().join(format!("creel-demo-{}", uuid::Uuid::now_v7()));
        let scratch = Self { path, keep };
        scratch.fill().map_err(|error| {
            Failure::new(Code::RunFailed, format!("the scratch directory {} cannot be made: {error}", scratch.path.display()))
                .hint("TMPDIR names where temporary files go")
        })?;
        Ok(scratch)
    }

    fn fill(&self) -> std::io::Result<()> {
        let workspace = self.path.join("workspace");
        std::fs::create_dir_all(&workspace)?;
        std::fs::write(self.path.join("creel.json"), CONFIGURATION)?;
        std::fs::write(self.path.join("script.json5"), SCRIPT)?;
        for (name, text) in FILES {
            std::fs::write(workspace.join(name), text)?;
        }
        Ok(())
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn configuration(&self) -> Result<(Locations, Loaded), Failure> {
        let state = self.path.display().to_string();
        // Nothing of the operator's own set-up reaches the demo.
        let environment = Environment::new([("CREEL_STATE_DIR", state.as_str()), ("HOME", state.as_str())], self.path.clone());
        let locations = Locations::resolve(&environment).map_err(|error| Failure::internal(error.to_string()))?;
        let loaded = config::load(&locations).map_err(|errors| Failure::internal(errors.to_string()))?;
        Ok((locations, loaded))
    }

    /// Compiled components are worth keeping between demos; they are authenticated and hold nothing of the run.
    pub(super) fn shared_cache(&self) -> Option<PathBuf> {
        let directory = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let cache = directory("XDG_CACHE_HOME").or_else(|| Some(directory("HOME")?.join(".cache")))?;
        Some(cache.join("creel"))
    }

    /// Whether a file of the workspace holds a text.
    pub(super) fn file_holds(&self, name: &str, text: &str) -> bool {
        std::fs::read_to_string(self.path.join("workspace").join(name)).is_ok_and(|content| content.contains(text))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if !self.keep {
            let _ = std::fs::remove_dir_all(&self.path);
        }
    }
}
