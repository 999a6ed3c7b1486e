//! Why a component does not load with what it was granted: all reasons at once, each with its remedy.

use std::fmt;

use super::role::{ExportRole, Need, STANDARD_LINE};
use super::{CONTRACT, Inspection, KNOWN_CONTRACT};
use crate::grant::{Capability, Grants};

/// One reason.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// It was built for another contract.
    #[error("was built for {} (it names `{example}`); this host knows {KNOWN_CONTRACT}", contract(version.as_deref()))]
    Contract {
        /// Version in its names; none: the names have none.
        version: Option<String>,
        /// One of the names.
        example: String,
    },
    /// It imports what the operator did not grant.
    #[error("imports `{import}`, which is not granted; to grant it set plugins.entries.{plugin}.capabilities.{}: true", capability.key())]
    Ungranted {
        /// The plugin.
        plugin: String,
        /// The import.
        import: String,
        /// What it needs.
        capability: Capability,
    },
    /// It imports what this host does not have yet.
    #[error("imports `{import}`, which this version of the host does not offer; build the plugin without it")]
    NotOffered {
        /// The import.
        import: String,
    },
    /// It imports a standard interface that is not linked.
    #[error(
        "imports `{import}`; of the standard interfaces this host links those of {STANDARD_LINE}; build the plugin for wasm32-wasip2"
    )]
    OtherStandard {
        /// The import.
        import: String,
    },
    /// It imports what nobody knows.
    #[error("has the unknown import `{import}`; build the plugin against the interfaces of {CONTRACT} {KNOWN_CONTRACT} only")]
    Unknown {
        /// The import.
        import: String,
    },
    /// A name of the contract stands for something else than an interface.
    #[error("exports `{export}`, but not as an interface; build the plugin against {CONTRACT} {KNOWN_CONTRACT}")]
    NotAnInstance {
        /// The export.
        export: String,
    },
}

/// All reasons; empty: none. Shown as one sentence.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Refusals(pub Vec<Refusal>);

impl fmt::Display for Refusals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, refusal) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { "; " };
            write!(f, "{separator}{refusal}")?;
        }
        Ok(())
    }
}

fn contract(version: Option<&str>) -> String {
    version.map_or_else(|| format!("{CONTRACT} without a version"), |version| format!("{CONTRACT} {version}"))
}

/// Finds all reasons: unknown contracts first, then exports, then imports in their order.
pub(super) fn collect(inspection: &Inspection, plugin: &str, grants: &Grants) -> Refusals {
    let mut refusals = contracts(inspection);
    for export in inspection.exports.iter().filter(|export| export.role == ExportRole::NotAnInstance) {
        refusals.push(Refusal::NotAnInstance { export: export.name.clone() });
    }
    for import in &inspection.imports {
        let name = import.name.clone();
        match import.need {
            Need::Grant(capability) if !grants.covers(capability) && !capability.links_ungranted() => {
                refusals.push(Refusal::Ungranted { plugin: plugin.to_owned(), import: name, capability });
            }
            Need::NotOffered(_) => refusals.push(Refusal::NotOffered { import: name }),
            Need::OtherStandard => refusals.push(Refusal::OtherStandard { import: name }),
            Need::Unknown => refusals.push(Refusal::Unknown { import: name }),
            Need::Free | Need::Standard | Need::Grant(_) | Need::UnknownContract => {}
        }
    }
    Refusals(refusals)
}

/// One reason per unknown version of the contract, however many names have it.
fn contracts(inspection: &Inspection) -> Vec<Refusal> {
    let exports = inspection.exports.iter().filter(|it| it.role == ExportRole::UnknownContract).map(|it| &it.name);
    let imports = inspection.imports.iter().filter(|it| it.need == Need::UnknownContract).map(|it| &it.name);
    let mut refusals: Vec<Refusal> = Vec::new();
    for name in exports.chain(imports) {
        let version = name.split_once('@').map(|(_, version)| version.to_owned());
        let same = |refusal: &Refusal| matches!(refusal, Refusal::Contract { version: known, .. } if *known == version);
        if !refusals.iter().any(same) {
            refusals.push(Refusal::Contract { version, example: name.clone() });
        }
    }
    refusals
}
