//! `creel plugins remove`: takes an installed plugin away, with everything that the host keeps for it.

use plugin_host::manifest;

use super::install::failure;
use crate::args::RemoveArgs;
use crate::commands::Context;
use crate::exit::{Code, Failure};
use crate::terminal::Output;
use crate::wiring::installing;

pub(super) async fn run(context: &Context, args: &RemoveArgs, output: &Output) -> Result<Code, Failure> {
    let id = manifest::parse_id(&args.id).map_err(|error| Failure::usage(error.to_string()))?;
    let config = &context.loaded.config;
    let installer = installing::installer(&context.locations, config, super::sources(context, config, Vec::new())?)?;
    let (_, remarks) = installer.remove(&id).await.map_err(failure)?;
    remarks.iter().for_each(|remark| output.warning(remark));
    output.line(format!("removed: plugin `{id}`, its storage and its values in sessions"));
    if config.plugins.entries.contains_key(id.as_str()) {
        output.hint(format!("{} still has plugins.entries.{id}; nothing else refers to it", context.loaded.path.display()));
    }
    Ok(Code::Success)
}
