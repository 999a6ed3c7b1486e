//! `creel plugins sign`: signs a plugin where it lies.

use installer::signature::SigningKey;
use installer::{Disk, Source, SystemDisk};

use crate::args::SignArgs;
use crate::commands::Context;
use crate::exit::{Code, Failure};
use crate::terminal::Output;
use crate::wiring::{installing, plugins};

pub(super) fn run(context: &Context, args: &SignArgs, output: &Output) -> Result<Code, Failure> {
    let source = Source::find(&args.plugin).map_err(|error| Failure::usage(error.to_string()))?;
    let key = SigningKey::read(&args.key).map_err(|error| Failure::usage(error.to_string()))?;
    let settings = plugins::settings(&context.loaded.config, context.locations.environment());
    let scratch = std::env::temp_dir().join(format!("creel-sign-{}", uuid::Uuid::now_v7()));
    let signed = tokio::task::block_in_place(|| installer::sign(&source, &key, &installing::component_bytes(settings), &scratch));
    let _ = SystemDisk.remove(&scratch);
    let (id, file) = signed.map_err(|error| Failure::new(Code::Plugin, error.to_string()))?;
    output.line(format!("{}: plugin `{id}`, signed by the key {}", file.display(), key.public().id()));
    Ok(Code::Success)
}
