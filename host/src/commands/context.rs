//! Configuration and places for a command.

use std::path::PathBuf;

use config::{Environment, Loaded, Locations};

use crate::exit::{Code, Failure};
use crate::logging;
use crate::terminal::Output;

/// What nearly every command starts from.
pub struct Context {
    /// Where things are.
    pub locations: Locations,
    /// The configuration.
    pub loaded: Loaded,
}

impl Context {
    /// Places only; the configuration is not read.
    pub(super) fn places(config: Option<PathBuf>, state_dir: Option<PathBuf>) -> Result<Locations, Failure> {
        let overrides = [("CREEL_CONFIG_PATH", config), ("CREEL_STATE_DIR", state_dir)];
        let overrides = overrides.into_iter().filter_map(|(name, path)| Some((name.to_owned(), path?.to_str()?.to_owned())));
        let process = std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
        let directory = std::env::current_dir().map_err(|error| {
            Failure::usage(format!("the working directory cannot be used: {error}")).hint("change to a directory that exists")
        })?;
        let environment = Environment::new(process.chain(overrides), directory);
        Locations::resolve(&environment).map_err(|error| Failure::new(Code::Config, error.to_string()))
    }

    /// Reads the configuration and starts logging.
    pub(super) fn load(
        config: Option<PathBuf>,
        state_dir: Option<PathBuf>,
        verbose: u8,
        output: &Output,
    ) -> Result<Self, Failure> {
        let locations = Self::places(config, state_dir)?;
        let loaded = config::load(&locations).map_err(|errors| {
            Failure::new(Code::Config, errors.to_string()).hint("`creel config schema` prints what the file may hold")
        })?;
        logging::start(verbose, loaded.config.logging.level.as_str());
        for warning in &loaded.warnings {
            output.note(format!("warning: {warning}"));
        }
        Ok(Self { locations, loaded })
    }
}
