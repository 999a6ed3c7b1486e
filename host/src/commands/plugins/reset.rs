//! `creel plugins reset`: closes circuits, so that a plugin that failed too often is called again at once. Changes nothing else of it.

use domain::circuit::CircuitStore as _;
use hooks::HookId;
use plugin_host::manifest;

use super::{circuits, switch};
use crate::commands::Context;
use crate::exit::{Code, Failure};
use crate::terminal::Output;

pub(super) async fn run(context: &Context, id: &str, hook: Option<&str>, output: &Output) -> Result<Code, Failure> {
    let id = manifest::parse_id(id).map_err(|error| Failure::usage(error.to_string()))?;
    let hook = hook.map(parse_hook).transpose()?;
    let store = circuits::store(context);
    let forgotten = store.forget(&id, hook.map(HookId::name)).await;
    store.close().await;
    let forgotten = forgotten.map_err(|error| Failure::new(Code::RunFailed, format!("no circuit was reset: {error}")))?;
    if forgotten == 0 {
        switch::require_known(context, &id).await?;
    }
    let at = hook.map_or_else(String::new, |hook| format!(" at {hook}"));
    output.line(match forgotten {
        0 => format!("plugin `{id}` has counted no fault{at}, so there is nothing to reset"),
        1 => format!("1 circuit of plugin `{id}`{at} is reset; its next call is made as usual"),
        more => format!("{more} circuits of plugin `{id}` are reset; its next calls are made as usual"),
    });
    Ok(Code::Success)
}

fn parse_hook(name: &str) -> Result<HookId, Failure> {
    let unknown =
        || Failure::usage(format!("there is no hook {name:?}")).hint(format!("did you mean `{}`?", HookId::nearest(name)));
    HookId::from_name(name).ok_or_else(unknown)
}
