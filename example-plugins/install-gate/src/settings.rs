//! The operator's rules.

use serde::Deserialize;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Settings {
    pub(crate) refuse_kinds: Vec<String>,
    pub(crate) refuse_names: Vec<String>,
    pub(crate) refuse_origins: Vec<String>,
    pub(crate) unpinned_downloads: Treatment,
    pub(crate) unpinned_packages: Treatment,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            refuse_kinds: Vec::new(),
            refuse_names: Vec::new(),
            refuse_origins: Vec::new(),
            unpinned_downloads: Treatment::Refuse,
            unpinned_packages: Treatment::Report,
        }
    }
}

/// What happens to something that a rule notices.
#[derive(Deserialize, Clone, Copy, PartialEq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Treatment {
    Refuse,
    Report,
    Allow,
}
