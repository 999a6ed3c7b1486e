//! A changed configuration and changed plugins, taken over by a host that runs. Runs that begin from then on have what is new; those that
//! are under way keep what they began with. A configuration that cannot be served changes nothing.

use std::fmt;

use config::Loaded;
use hooks::HookId;
use hooks::fault::one_line;
use plugin_host::plan::PluginState;
use plugin_host::{Serves, manifest, package};
use serde::{Deserialize, Serialize};

use super::{PluginStatus, Running, plugins};
use crate::control::Place;
use crate::exit::Failure;

/// Longest word of a plugin about itself, in bytes.
const MAX_WORD_BYTES: usize = 100;

/// Longest reason, in bytes.
const MAX_WHY_BYTES: usize = 1024;

/// Most directories below one place whose changes are noticed; as many as plugins are looked for in.
const MAX_WATCHED: usize = 1000;

/// What a reload made of one plugin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// Its id, or its place if it has not got as far as that.
    pub plugin: String,
    /// The version that serves or would.
    pub version: Option<String>,
    /// What became of it.
    pub what: Changed,
    /// Why it does not load.
    pub why: Option<String>,
}

/// What became of a plugin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Changed {
    /// It serves now and did not before.
    Added,
    /// It serves in another version, or with other settings, grants or limits.
    Replaced,
    /// As before.
    Unchanged,
    /// It does not load, so the one before goes on.
    Kept,
    /// It does not load, and nothing goes on in its place.
    Failed,
    /// It served before and does not any more: it is gone, or switched off.
    Ended,
}

/// One line for people.
impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { plugin, version, what, why } = self;
        write!(f, "{}", one_line(plugin, MAX_WORD_BYTES))?;
        if let Some(version) = version {
            write!(f, " {}", one_line(version, MAX_WORD_BYTES))?;
        }
        f.write_str(match what {
            Changed::Added => " is loaded",
            Changed::Replaced => " is loaded in place of the one before",
            Changed::Unchanged => " is as before",
            Changed::Kept => " does not load, so the one before goes on",
            Changed::Failed => " does not load",
            Changed::Ended => " has ended",
        })?;
        match why {
            Some(why) => write!(f, ": {}", one_line(why, MAX_WHY_BYTES)),
            None => Ok(()),
        }
    }
}

impl Running {
    /// Where a change of files means that plugins should be loaded again.
    pub fn places(&self, loaded: &Loaded) -> Vec<Place> {
        let mut places = vec![Place::File(loaded.path.clone())];
        for root in self.base.plugins.roots() {
            let is_plugin = [manifest::FILE_NAME, package::FILE_NAME].iter().any(|name| root.join(name).is_file());
            let plugins = root.read_dir().into_iter().flatten().flatten().filter(|_| !is_plugin).take(MAX_WATCHED);
            places.extend(plugins.map(|entry| entry.path()).filter(|path| path.is_dir()).map(Place::Directory));
            places.push(if root.is_file() { Place::File(root) } else { Place::Directory(root) });
        }
        for report in self.plugins.iter().map(|status| &status.report) {
            let component = report.manifest.as_ref().and_then(|manifest| manifest.component.as_ref());
            if let (Some(place), Some(component)) = (&report.place, component) {
                places.push(Place::File(place.join(component)));
            }
        }
        places
    }

    /// Takes over a configuration, and the plugins as they are on disk now. What `plugins.engine` and `logging` say counts from the next
    /// start on.
    ///
    /// # Errors
    /// When it cannot be served, as for [`prepare`](super::prepare). Nothing has changed then.
    pub async fn reload(&mut self, loaded: &Loaded) -> Result<Vec<Change>, Failure> {
        let snapshot = self.base.snapshot(loaded).await?;
        self.earlier.push(std::mem::replace(&mut self.agent, self.base.agent(&snapshot, &self.ends)));
        self.earlier.retain(|agent| !agent.is_over());
        let changes = snapshot.statuses.iter().filter_map(change);
        let ended = snapshot.ended.iter().filter(|id| !is_told(&snapshot.statuses, id.as_str()));
        let ended = ended.map(|id| Change { plugin: id.to_string(), version: None, what: Changed::Ended, why: None });
        let changes = changes.chain(ended).collect();
        (self.plugins, self.diagnostics) = (snapshot.statuses, snapshot.diagnostics);
        Ok(changes)
    }

    /// Whether any plugin handles a hook in runs that begin now.
    pub fn has_handlers(&self, hook: HookId) -> bool {
        self.agent.hooks().has(hook)
    }
}

/// None: it is off and was before, or it is told as one that ended.
fn change(status: &PluginStatus) -> Option<Change> {
    let why = match &status.report.state {
        PluginState::Loaded | PluginState::Disabled(_) => None,
        PluginState::Failed(why) => Some(why.clone()),
    };
    let what = match (status.serves, &why) {
        (Serves::Added, _) => Changed::Added,
        (Serves::Replaced, _) => Changed::Replaced,
        (Serves::Unchanged, _) => Changed::Unchanged,
        (Serves::Before, _) => Changed::Kept,
        (Serves::Not, Some(_)) => Changed::Failed,
        (Serves::Not, None) => return None,
    };
    let id = status.report.id.as_ref();
    let version = status.report.manifest.as_ref().and_then(|manifest| manifest.version.clone());
    Some(Change { plugin: id.map_or_else(|| plugins::name(&status.report), ToString::to_string), version, what, why })
}

fn is_told(statuses: &[PluginStatus], plugin: &str) -> bool {
    statuses.iter().filter_map(change).any(|change| change.plugin == plugin)
}
