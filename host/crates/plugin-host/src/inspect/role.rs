//! What each exported and imported name means to the host.

use hooks::HookId;

use super::Export;
use super::name::InterfaceName;
use super::walk::{Found, Sort};
use crate::grant::Capability;

/// Interfaces of the contract that need no grant.
const FREE: &[&str] = &["types", "log", "config", "invocation", "tool-progress", "tool-authority", "ended-transcript"];

/// Standard packages that are linked for the sake of language runtimes: empty, or refusing.
const STANDARD: &[&str] = &["wasi:cli", "wasi:io", "wasi:clocks", "wasi:random", "wasi:filesystem", "wasi:sockets"];

/// The line of the standard interfaces that the host links.
pub(super) const STANDARD_LINE: &str = "0.2";

/// What an export is to the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportRole {
    /// A hook.
    Hook(HookId),
    /// Tools that the plugin registers.
    Tools,
    /// Part of the contract, and not called: a hook that only a newer host knows, or a hook that is there in a known version too.
    LeftOut,
    /// Part of a version of the contract that this host does not know.
    UnknownContract,
    /// Named like a part of the contract, and not an instance.
    NotAnInstance,
    /// Not of the contract; language runtimes add some.
    Foreign,
}

/// What it takes to get an import.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// Nothing: it is part of the contract and harmless.
    Free,
    /// Nothing: it is a standard interface, and linked so that it gives nothing away.
    Standard,
    /// A grant of the operator.
    Grant(Capability),
    /// It is known, and this version of the host does not offer it.
    NotOffered(Capability),
    /// It is part of a version of the contract that this host does not know.
    UnknownContract,
    /// It is a standard interface of another line than the host's.
    OtherStandard,
    /// Nobody knows it.
    Unknown,
}

impl Need {
    /// What an import needs.
    pub(super) fn of(found: &Found) -> Self {
        let Some(name) = InterfaceName::parse(&found.name) else {
            return Self::Unknown;
        };
        if name.is_contract() && !name.is_known_contract() {
            return Self::UnknownContract;
        }
        if found.sort != Sort::Instance {
            return Self::Unknown;
        }
        let capability = match (name.is_contract(), name.package) {
            (true, _) if FREE.contains(&name.interface) => return Self::Free,
            (true, _) => Capability::of_interface(name.interface),
            (false, package) if STANDARD.contains(&package) && name.is_release_of(STANDARD_LINE) => return Self::Standard,
            (false, package) if STANDARD.contains(&package) => return Self::OtherStandard,
            (false, package) => match Capability::of_interface(package) {
                Some(_) if !name.is_release_of(STANDARD_LINE) => return Self::OtherStandard,
                capability => capability,
            },
        };
        match capability {
            Some(capability) if capability.offered() => Self::Grant(capability),
            Some(capability) => Self::NotOffered(capability),
            None => Self::Unknown,
        }
    }

    /// The capability behind it.
    pub fn capability(self) -> Option<Capability> {
        match self {
            Self::Grant(capability) | Self::NotOffered(capability) => Some(capability),
            _ => None,
        }
    }
}

/// The roles of all exports. Of one interface in a known and in an unknown version the known one is called, the other is left out.
pub(super) fn exports(found: Vec<Found>) -> Vec<Export> {
    let known: Vec<String> = found
        .iter()
        .filter_map(|it| InterfaceName::parse(&it.name))
        .filter(InterfaceName::is_known_contract)
        .map(|name| name.interface.to_owned())
        .collect();
    found.into_iter().map(|it| Export { role: role(&it, &known), name: it.name }).collect()
}

fn role(found: &Found, known: &[String]) -> ExportRole {
    let Some(name) = InterfaceName::parse(&found.name).filter(InterfaceName::is_contract) else {
        return ExportRole::Foreign;
    };
    if !name.is_known_contract() {
        let also_known = known.iter().any(|interface| interface == name.interface);
        return if also_known { ExportRole::LeftOut } else { ExportRole::UnknownContract };
    }
    match (found.sort, name.interface) {
        (Sort::Other, _) => ExportRole::NotAnInstance,
        (Sort::Instance, "tools") => ExportRole::Tools,
        (Sort::Instance, interface) => hook_of(interface).map_or(ExportRole::LeftOut, ExportRole::Hook),
    }
}

/// The hook of an interface: `before-tool-call` is `before_tool_call`.
fn hook_of(interface: &str) -> Option<HookId> {
    HookId::from_name(&interface.replace('-', "_"))
}
