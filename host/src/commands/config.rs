//! `creel config check|schema`.

use config::Locations;
use serde_json::json;

use crate::args::ConfigCommand;
use crate::exit::{Code, Failure};
use crate::terminal::Output;
use crate::wiring::{self, entries};

pub(super) async fn run(locations: &Locations, command: &ConfigCommand, output: &Output) -> Result<Code, Failure> {
    match command {
        ConfigCommand::Schema { markdown: false } => output.value(&config::Config::schema()),
        ConfigCommand::Schema { markdown: true } => output.text(config::Config::reference()),
        ConfigCommand::Check { json } => check(locations, *json, output).await?,
    }
    Ok(Code::Success)
}

async fn check(locations: &Locations, as_json: bool, output: &Output) -> Result<(), Failure> {
    let loaded = config::load(locations).map_err(|errors| Failure::new(Code::Config, errors.to_string()))?;
    wiring::check(&loaded)?;
    // Manifests are read here.
    let (places, of_file) = (locations.clone(), loaded.clone());
    let checked = tokio::task::spawn_blocking(move || entries::check(&places, &of_file)).await;
    let checked = checked.map_err(|error| Failure::internal(format!("looking for plugins failed: {error}")))??;
    let warnings: Vec<String> = loaded.warnings.iter().map(ToString::to_string).chain(checked.warnings).collect();
    if !as_json {
        warnings.iter().for_each(|warning| output.warning(warning));
    }
    if let Some(errors) = checked.errors {
        return Err(Failure::new(Code::Config, errors.to_string()));
    }
    let path = loaded.path.display();
    match loaded.existed {
        _ if as_json => {
            output.value(&json!({ "path": loaded.path, "existed": loaded.existed, "valid": true, "warnings": warnings }));
        }
        true => output.line(format!("{path} is valid.")),
        false => output.line(format!("There is no {path}; the defaults apply.")),
    }
    Ok(())
}
