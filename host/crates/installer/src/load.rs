//! The lockfile at load: an installed plugin that is not what was installed does not load. What was put into the directory by hand loads as
//! it always did; it has no entry that it could differ from.

use std::path::{Path, PathBuf};

use plugin_host::discovery::Origin;
use plugin_host::plan::{Plan, PlannedPlugin, PluginReport, PluginState};

use crate::layout::Layout;
use crate::lock::{Lock, LockError, Standing};

/// Takes installed plugins out of a plan that are not what was installed, and says so in their reports. Those that were put there by hand
/// are marked in theirs.
pub fn enforce(plan: &mut Plan, layout: &Layout) {
    let lock = Lock::read(layout);
    for report in plan.reports.iter_mut().filter(|report| report.origin == Some(Origin::Installed)) {
        let Some(directory) = report.place.as_deref().and_then(|place| directory(layout, place)) else { continue };
        match judge(&lock, &directory, report) {
            Ok(Standing::Locked) => {}
            Ok(Standing::Unlocked) => report.diagnostics.push(unlocked(report)),
            Err(why) => {
                let refused = report.id.clone();
                plan.plugins.retain(|plugin| !is_refused(plugin, refused.as_ref()));
                report.state = PluginState::Failed(why);
                report.handlers.clear();
            }
        }
    }
}

fn is_refused(plugin: &PlannedPlugin, refused: Option<&domain::PluginId>) -> bool {
    plugin.origin == Origin::Installed && Some(&plugin.id) == refused
}

/// Whether a plugin is what was installed; a sentence if not. A plugin that does not load anyway keeps its own reason.
fn judge(lock: &Result<Lock, LockError>, directory: &Path, report: &PluginReport) -> Result<Standing, String> {
    if report.state != PluginState::Loaded {
        return Ok(Standing::Locked);
    }
    let lock = lock.as_ref().map_err(|error| format!("it cannot be told whether it was changed: {error}"))?;
    let standing = lock.check(directory).map_err(|changed| changed.to_string())?;
    // What was read is what will run; the directory could have changed since.
    match (lock.entry_of(directory), &report.component, &report.id) {
        (Some((id, _)), _, Some(found)) if id != *found => Err(format!("`{id}` was installed into its directory, not `{found}`")),
        (Some((_, entry)), Some(component), _) if entry.component.sha256 != component.digest() => {
            Err(format!("{} changed while it was being loaded", component.path.display()))
        }
        _ => Ok(standing),
    }
}

/// The directory, directly below that of installed plugins, that a place is in. A single file there belongs to nobody's installation.
fn directory(layout: &Layout, place: &Path) -> Option<PathBuf> {
    let plugins = layout.plugins();
    let first = place.strip_prefix(&plugins).ok()?.components().next()?;
    Some(plugins.join(first))
}

fn unlocked(report: &PluginReport) -> String {
    let id = report.id.as_ref().map_or_else(String::new, ToString::to_string);
    format!(
        "plugin `{id}` is unlocked: it was put into its place by hand, so nobody notices a change of its files; `creel plugins install` locks"
    )
}
