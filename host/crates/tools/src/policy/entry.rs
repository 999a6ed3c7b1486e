//! One entry of a tool policy: a name, a pattern, a group or a plugin id, and which tools it means. Pure.

use domain::tool::{ToolOwner, ToolSpec};

use super::names::{group, in_openclaw, matches_pattern, normalise};

/// One entry of an allow or deny list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Entry {
    /// Every tool.
    All,
    /// Tools of plugins.
    Plugins,
    /// Built-in tools that neither touch files nor run commands.
    OpenClaw,
    /// A group of names; one that does not exist has none.
    Group(&'static [&'static str]),
    /// A tool's name, a pattern of such names, or a plugin id.
    Name(String),
}

impl Entry {
    pub(super) fn parse(text: &str) -> Self {
        let name = normalise(text);
        match (name.as_str(), name.strip_prefix("group:")) {
            ("*", _) => Self::All,
            (_, Some("plugins")) => Self::Plugins,
            (_, Some("openclaw")) => Self::OpenClaw,
            (_, Some(other)) => Self::Group(group(other).unwrap_or_default()),
            _ => Self::Name(name),
        }
    }

    /// Whether it means this tool.
    pub(super) fn means(&self, tool: &ToolSpec) -> bool {
        let name = normalise(&tool.name);
        match (self, &tool.owner) {
            (Self::All, _) | (Self::Plugins, ToolOwner::Plugin(_)) => true,
            (Self::Plugins, ToolOwner::Host) | (Self::OpenClaw, ToolOwner::Plugin(_)) => false,
            (Self::OpenClaw, ToolOwner::Host) => in_openclaw(&name),
            (Self::Group(names), _) => names.contains(&name.as_str()),
            (Self::Name(wanted), owner) => matches_pattern(wanted, &name) || is_plugin(wanted, owner),
        }
    }

    /// Whether it allows this tool; beyond what an entry means, `write` also allows `apply_patch`.
    pub(super) fn allows(&self, tool: &ToolSpec) -> bool {
        self.means(tool) || (*self == Self::Name("write".to_owned()) && normalise(&tool.name) == "apply_patch")
    }

    /// Whether it names this tool so clearly that an optional one becomes visible: by its name, its plugin or `group:plugins`. A
    /// pattern does not: it may have been written before the plugin was there.
    pub(super) fn singles_out(&self, tool: &ToolSpec) -> bool {
        match self {
            Self::Plugins => self.means(tool),
            Self::Name(name) => !name.contains('*') && self.means(tool),
            Self::All | Self::OpenClaw | Self::Group(_) => false,
        }
    }
}

fn is_plugin(wanted: &str, owner: &ToolOwner) -> bool {
    matches!(owner, ToolOwner::Plugin(id) if normalise(id.as_str()) == wanted)
}
