//! A component that the build script made, or the reason why it could not.

use std::path::Path;

/// A guest: the component of a test guest, or the folder of an example plugin.
#[derive(Debug, Clone, Copy)]
pub struct Guest {
    name: &'static str,
    built: Result<&'static str, &'static str>,
}

impl Guest {
    /// What the build script knows.
    pub const fn new(name: &'static str, built: Result<&'static str, &'static str>) -> Self {
        Self { name, built }
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Where it is.
    ///
    /// # Panics
    /// With the reason, if it could not be built.
    pub fn path(&self) -> &'static Path {
        match self.built {
            Ok(path) => Path::new(path),
            Err(reason) => panic!("this test needs the guest `{}`, which could not be built: {reason}", self.name),
        }
    }
}
