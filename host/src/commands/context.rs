//! Configuration and places for a command.

use std::ffi::OsString;
use std::path::PathBuf;

use config::{Environment, Loaded, Locations, Warning};

use crate::exit::{Code, Failure};
use crate::logging;
use crate::terminal::Output;
use crate::wiring::grants;

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
        let overrides = [("CREEL_CONFIG_PATH", "--config", config), ("CREEL_STATE_DIR", "--state-dir", state_dir)];
        let mut variables = variables(std::env::vars_os())?;
        for (name, option, path) in overrides {
            let Some(path) = path else { continue };
            variables.push((name.to_owned(), path.into_os_string().into_string().map_err(|path| not_utf8(option, &path))?));
        }
        let directory = std::env::current_dir().map_err(|error| {
            Failure::usage(format!("the working directory cannot be used: {error}")).hint("change to a directory that exists")
        })?;
        let environment = Environment::new(variables, directory);
        Locations::resolve(&environment).map_err(|error| Failure::new(Code::Config, error.to_string()))
    }

    /// Reads the configuration and starts logging.
    pub(super) fn load(
        config: Option<PathBuf>,
        state_dir: Option<PathBuf>,
        verbose: u8,
        may_be_missing: bool,
        output: &Output,
    ) -> Result<Self, Failure> {
        let locations = Self::places(config, state_dir)?;
        let loaded = read(&locations, may_be_missing)?;
        logging::start(verbose, loaded.config.logging.level);
        for warning in &loaded.warnings {
            output.warning(warning.to_string());
        }
        Ok(Self { locations, loaded })
    }

    /// Reads the configuration again; what is in this context stays as it is.
    pub(super) fn read_again(&self) -> Result<Loaded, Failure> {
        read(&self.locations, false)
    }
}

/// Reads the configuration. A file that was named and does not exist is an error, unless it may be missing: the defaults have none of the
/// guards that the file would have.
fn read(locations: &Locations, may_be_missing: bool) -> Result<Loaded, Failure> {
    let loaded = config::load(locations).map_err(|errors| {
        Failure::new(Code::Config, errors.to_string()).hint("`creel config schema` prints what the file may hold")
    })?;
    if let Some(errors) = loaded.errors(grants::problems(&loaded.config)) {
        return Err(Failure::new(Code::Config, errors.to_string()));
    }
    if !may_be_missing && loaded.warnings.contains(&Warning::NamedFileMissing) {
        let message = format!("{} does not exist", loaded.path.display());
        return Err(
            Failure::new(Code::Config, message).hint("--config or CREEL_CONFIG_PATH names it; leave both out for the defaults")
        );
    }
    Ok(loaded)
}

/// The environment. Foreign variables that are not UTF-8 are nobody's here; one of Creel's own must not be passed over, because the
/// default would be used in its place.
fn variables(process: impl Iterator<Item = (OsString, OsString)>) -> Result<Vec<(String, String)>, Failure> {
    let mut variables = Vec::new();
    for (name, value) in process {
        let Ok(name) = name.into_string() else { continue };
        match value.into_string() {
            Ok(value) => variables.push((name, value)),
            Err(value) if name.starts_with("CREEL_") || name == "HOME" => return Err(not_utf8(&name, &value)),
            Err(_) => {}
        }
    }
    Ok(variables)
}

fn not_utf8(name: &str, value: &OsString) -> Failure {
    Failure::usage(format!("{name} is {value:?}, which is not UTF-8")).hint("use a path whose name is UTF-8")
}
