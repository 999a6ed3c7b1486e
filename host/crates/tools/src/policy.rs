//! Which tools an agent has: profile, allow and deny lists in steps (agent-loop 14.1, runtime-and-config 11.3, plugin-hooks 8). Pure
//! functions over the list of tools, so that what is offered to a model, what `/tools` shows and what a call may reach are one
//! answer. Deny wins everywhere; a step can only remove.

mod entry;
mod names;
#[cfg(test)]
mod tests;

use domain::tool::{ToolOwner, ToolSpec};

use entry::Entry;
pub use names::{Profile, is_core_name, normalise};

/// One step of a policy, for example the global lists or those of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Step {
    /// Only these; none: no limit. An empty list allows nothing.
    pub allow: Option<Vec<String>>,
    /// These as well: they widen what this step's own limit lets through, and bring back nothing that an earlier step removed.
    pub also_allow: Vec<String>,
    /// Never these.
    pub deny: Vec<String>,
}

impl Step {
    /// The step of a profile; `also_allow` is that of the scope which chose it.
    pub fn profile(profile: Profile, also_allow: Vec<String>) -> Self {
        let allow = profile.entries().map(|entries| entries.iter().map(|entry| (*entry).to_owned()).collect());
        Self { allow, also_allow, deny: Vec::new() }
    }

    fn parsed(&self) -> ParsedStep {
        ParsedStep { allow: self.allow.as_deref().map(parse), also_allow: parse(&self.also_allow), deny: parse(&self.deny) }
    }
}

struct ParsedStep {
    allow: Option<Vec<Entry>>,
    also_allow: Vec<Entry>,
    deny: Vec<Entry>,
}

impl ParsedStep {
    fn lets_through(&self, tool: &ToolSpec, tools: &[ToolSpec]) -> bool {
        let listed = |entries: &[Entry]| entries.iter().any(|entry| entry.allows(tool));
        let allowed = match &self.allow {
            None => true,
            Some(allow) if listed(allow) => true,
            // A list that names only plugin tools adds to the core tools and does not replace them (plugin-hooks 8).
            Some(allow) => tool.owner == ToolOwner::Host && names_only_plugins(allow, tools),
        };
        (allowed || listed(&self.also_allow)) && !self.deny.iter().any(|entry| entry.means(tool))
    }

    fn singles_out(&self, tool: &ToolSpec) -> bool {
        self.allow.iter().flatten().chain(&self.also_allow).any(|entry| entry.singles_out(tool))
    }
}

/// Every entry means tools of plugins and none of the host. An entry that means nothing counts as neither: a misspelt name must not
/// open everything.
fn names_only_plugins(allow: &[Entry], tools: &[ToolSpec]) -> bool {
    let of_plugins = |entry: &Entry| {
        let mut meant = tools.iter().filter(|tool| entry.means(tool)).peekable();
        let any = *entry == Entry::Plugins || meant.peek().is_some();
        any && meant.all(|tool| tool.owner != ToolOwner::Host)
    };
    !allow.is_empty() && allow.iter().all(of_plugins)
}

fn parse(entries: &[String]) -> Vec<Entry> {
    entries.iter().map(|entry| Entry::parse(entry)).collect()
}

/// The tools that all steps leave, in their order. An optional tool stays hidden until an allow list singles it out.
pub fn select<'a>(tools: &'a [ToolSpec], steps: &[Step]) -> Vec<&'a ToolSpec> {
    let steps: Vec<ParsedStep> = steps.iter().map(Step::parsed).collect();
    let visible = |tool: &ToolSpec| !tool.optional || steps.iter().any(|step| step.singles_out(tool));
    let allowed = |tool: &ToolSpec| steps.iter().all(|step| step.lets_through(tool, tools));
    tools.iter().filter(|tool| visible(tool) && allowed(tool)).collect()
}

/// The names that every list allows, in the order of `tools`: how `toolsAllow` of several handlers folds (plugin-hooks 4.2). Groups
/// are expanded, names normalised, `*` is neutral, an empty list leaves nothing; it can only name tools that are there.
pub fn intersect_allow(tools: &[ToolSpec], lists: &[Vec<String>]) -> Vec<String> {
    let lists: Vec<Vec<Entry>> = lists.iter().map(|list| parse(list)).collect();
    let in_every = |tool: &&ToolSpec| lists.iter().all(|list| list.iter().any(|entry| entry.allows(tool)));
    tools.iter().filter(in_every).map(|tool| tool.name.clone()).collect()
}

/// Entries that mean no tool at all, for a warning: most likely a misspelt name or a plugin that is not loaded.
pub fn entries_without_tools(tools: &[ToolSpec], steps: &[Step]) -> Vec<String> {
    let entries = steps.iter().flat_map(|step| step.allow.iter().flatten().chain(&step.also_allow).chain(&step.deny));
    let unknown = |entry: &&String| {
        let parsed = Entry::parse(entry);
        !tools.iter().any(|tool| parsed.means(tool)) && !known_without_tools(&parsed, entry)
    };
    let mut unknown: Vec<String> = entries.filter(unknown).cloned().collect();
    unknown.sort_unstable();
    unknown.dedup();
    unknown
}

/// Groups and built-in names are no mistake, even when this host has no such tool.
fn known_without_tools(parsed: &Entry, text: &str) -> bool {
    match parsed {
        Entry::All | Entry::Plugins | Entry::OpenClaw => true,
        Entry::Group(names) => !names.is_empty(),
        Entry::Name(_) => is_core_name(text),
    }
}
