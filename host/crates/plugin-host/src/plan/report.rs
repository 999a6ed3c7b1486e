//! What became of one plugin, for `creel plugins list`, `inspect` and `validate`.

use std::fmt;
use std::path::PathBuf;

use domain::PluginId;
use hooks::fault::one_line;

use super::OpenedComponent;
use super::load::note;
use crate::discovery::{Candidate, Failure, Origin};
use crate::grant::Resolution;
use crate::manifest::{HandlerEntry, Manifest};

/// Longest sentence about a plugin, in bytes: one that lacks many grants is told of all of them.
pub(super) const MAX_TOLD_BYTES: usize = 4096;

/// Whether a plugin loads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PluginState {
    /// It does. (It can still fail when it is compiled; that is told by whoever compiles it.)
    Loaded,
    /// It is switched off, for this reason.
    Disabled(String),
    /// It cannot, for this reason.
    Failed(String),
}

impl PluginState {
    /// It cannot load because of an error. Errors hold words of manifests and names of files, so what is kept is one bounded line.
    pub fn failed(error: &impl fmt::Display) -> Self {
        Self::Failed(one_line(&error.to_string(), MAX_TOLD_BYTES))
    }
}

/// What became of one plugin.
#[derive(Debug, Clone)]
pub struct PluginReport {
    /// Its id, if it got as far as that.
    pub id: Option<PluginId>,
    /// Where it comes from. Absent: it was not found.
    pub origin: Option<Origin>,
    /// Its directory or file. Absent: it was not found.
    pub place: Option<PathBuf>,
    /// Whether the host does not serve without it: the operator marked its id as required, and nothing else is loaded under this id.
    pub required: bool,
    /// Whether it loads.
    pub state: PluginState,
    /// Its manifest. Absent: it could not be read.
    pub manifest: Option<Manifest>,
    /// Its component. Absent: it was not read, or could not be.
    pub component: Option<OpenedComponent>,
    /// What it asks for and gets. Absent: as for the component.
    pub resolution: Option<Resolution>,
    /// Its handlers, if it loads.
    pub handlers: Vec<HandlerEntry>,
    /// What the operator should know; one sentence each.
    pub diagnostics: Vec<String>,
}

impl PluginReport {
    /// A report with nothing in it but a place.
    fn blank(id: Option<PluginId>, required: bool, state: PluginState) -> Self {
        Self {
            id,
            origin: None,
            place: None,
            required,
            state,
            manifest: None,
            component: None,
            resolution: None,
            handlers: Vec::new(),
            diagnostics: Vec::new(),
        }
    }

    pub(super) fn of(candidate: &Candidate, required: bool) -> Self {
        Self {
            origin: Some(candidate.origin),
            place: Some(candidate.place()),
            diagnostics: candidate.manifest.diagnostics.iter().map(|text| note(&candidate.manifest.id, text)).collect(),
            manifest: Some(candidate.manifest.clone()),
            ..Self::blank(Some(candidate.manifest.id.clone()), required, PluginState::Loaded)
        }
    }

    pub(super) fn of_failure(failure: Failure, required: bool) -> Self {
        Self {
            origin: Some(failure.origin),
            place: Some(failure.place),
            ..Self::blank(failure.id, required, PluginState::failed(&failure.error))
        }
    }

    pub(super) fn of_missing(id: PluginId, state: PluginState) -> Self {
        Self::blank(Some(id), true, state)
    }
}
