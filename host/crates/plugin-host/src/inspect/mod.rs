//! What a component says about itself: the hooks that it exports and the interfaces that it imports, read from its type (plugin-hooks
//! 1.1). Nothing is compiled and nothing runs, so an operator sees the whole truth about a plugin before any of its code does.

mod name;
mod refusal;
mod role;
mod walk;

use std::collections::BTreeSet;

use hooks::HookId;

use crate::grant::{Capability, Grants};

pub use refusal::{Refusal, Refusals};
pub use role::{ExportRole, Need};
pub(crate) use walk::check_start;
pub use walk::{Counts, InspectError, features, validate};

/// Largest component, in bytes. JavaScript components have 12 MB; what is larger is no plugin, and would take minutes to compile.
pub const MAX_COMPONENT_BYTES: usize = 64 << 20;

/// The package of the plugin contract.
pub const CONTRACT: &str = "creel:plugin";

/// The versions of the contract that this host knows: all of 0.1, since its versions only add interfaces.
pub const KNOWN_CONTRACT: &str = "0.1";

/// One exported name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Export {
    /// As it stands in the component.
    pub name: String,
    /// What it is to the host.
    pub role: ExportRole,
}

/// One imported name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Import {
    /// As it stands in the component.
    pub name: String,
    /// What it takes to get it.
    pub need: Need,
}

/// What a component says about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inspection {
    /// Size of the component, in bytes.
    pub bytes: usize,
    /// What is in it.
    pub counts: Counts,
    /// Its exports, in their order.
    pub exports: Vec<Export>,
    /// Its imports, in their order.
    pub imports: Vec<Import>,
}

/// Reads the type of a component.
///
/// The whole structure is validated, function bodies are not: they are when the component is compiled, or by [`validate`].
///
/// # Errors
/// When the bytes are no component, are damaged, or are more than this host looks at. What the component asks for and cannot have is
/// not an error here; see [`Inspection::refusals`].
pub fn inspect(component: &[u8]) -> Result<Inspection, InspectError> {
    let outline = walk::walk(component)?;
    Ok(Inspection {
        bytes: component.len(),
        counts: outline.counts,
        exports: role::exports(outline.exports),
        imports: outline.imports.into_iter().map(|found| Import { need: Need::of(&found), name: found.name }).collect(),
    })
}

impl Inspection {
    /// Hooks that the host can call, each once, in the order of the exports.
    pub fn hooks(&self) -> Vec<HookId> {
        let mut hooks = Vec::new();
        for export in &self.exports {
            match export.role {
                ExportRole::Hook(hook) if !hooks.contains(&hook) => hooks.push(hook),
                _ => {}
            }
        }
        hooks
    }

    /// Whether it registers tools.
    pub fn has_tools(&self) -> bool {
        self.exports.iter().any(|export| export.role == ExportRole::Tools)
    }

    /// Exports of the contract that this host does not call: hooks of a newer version, and older forms of the same hook.
    pub fn left_out(&self) -> impl Iterator<Item = &str> {
        self.exports.iter().filter(|export| export.role == ExportRole::LeftOut).map(|export| export.name.as_str())
    }

    /// Capabilities that it imports.
    pub fn capabilities(&self) -> BTreeSet<Capability> {
        self.imports.iter().filter_map(|import| import.need.capability()).collect()
    }

    /// Everything that keeps the component from loading with these grants, all at once.
    pub fn refusals(&self, plugin: &str, grants: &Grants) -> Refusals {
        refusal::collect(self, plugin, grants)
    }
}

#[cfg(test)]
mod tests;
