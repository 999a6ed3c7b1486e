//! `creel config check|schema`.

use config::Locations;
use serde_json::json;

use crate::args::ConfigCommand;
use crate::exit::{Code, Failure};
use crate::terminal::Output;
use crate::wiring;

pub(super) fn run(locations: &Locations, command: &ConfigCommand, output: &Output) -> Result<Code, Failure> {
    match command {
        ConfigCommand::Schema => output.value(&config::Config::schema()),
        ConfigCommand::Check { json } => check(locations, *json, output)?,
    }
    Ok(Code::Success)
}

fn check(locations: &Locations, as_json: bool, output: &Output) -> Result<(), Failure> {
    let loaded = config::load(locations).map_err(|errors| Failure::new(Code::Config, errors.to_string()))?;
    wiring::check(&loaded)?;
    let warnings: Vec<String> = loaded.warnings.iter().map(ToString::to_string).collect();
    if as_json {
        output.value(&json!({ "path": loaded.path, "existed": loaded.existed, "valid": true, "warnings": warnings }));
        return Ok(());
    }
    warnings.iter().for_each(|warning| output.warning(warning));
    let path = loaded.path.display();
    match loaded.existed {
        true => output.line(format!("{path} is valid.")),
        false => output.line(format!("There is no {path}; the defaults apply.")),
    }
    Ok(())
}
