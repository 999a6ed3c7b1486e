//! Whether a plugin runs: the decision ladder of plugin-hooks 9 as a pure function. The first rung that matches decides, and says why
//! in a sentence. Rung 8, and what 7 and 9 say about channels, are for parts of the configuration that this host does not have.

use std::fmt;

use crate::discovery::Origin;
use crate::manifest::ExclusiveKind;

/// What the operator says about plugins in general.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Switches {
    /// `plugins.enabled`.
    pub enabled: bool,
    /// `plugins.allow`: if not empty, only these run.
    pub allow: Vec<String>,
    /// `plugins.deny`: these never run.
    pub deny: Vec<String>,
    /// `plugins.slots.memory`. Absent: `memory-core`.
    pub memory_slot: Option<String>,
    /// `plugins.slots.contextEngine`. Absent: `legacy`, the host itself.
    pub context_engine_slot: Option<String>,
}

/// Plugin in the memory slot, if the operator names none.
const DEFAULT_MEMORY: &str = "memory-core";

/// What stands for the host itself in the slot of the context engine.
const DEFAULT_CONTEXT_ENGINE: &str = "legacy";

impl Default for Switches {
    fn default() -> Self {
        Self { enabled: true, allow: Vec::new(), deny: Vec::new(), memory_slot: None, context_engine_slot: None }
    }
}

impl Switches {
    fn slot(&self, kind: ExclusiveKind) -> &str {
        match kind {
            ExclusiveKind::Memory => self.memory_slot.as_deref().unwrap_or(DEFAULT_MEMORY),
            ExclusiveKind::ContextEngine => self.context_engine_slot.as_deref().unwrap_or(DEFAULT_CONTEXT_ENGINE),
        }
    }
}

/// What is asked about: one plugin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Subject<'a> {
    /// Its id.
    pub id: &'a str,
    /// Where it comes from.
    pub origin: Origin,
    /// Its kinds.
    pub kinds: &'a [String],
    /// `enabledByDefault`; counts for bundled plugins.
    pub enabled_by_default: bool,
    /// `plugins.entries.<id>.enabled`.
    pub enabled: Option<bool>,
}

/// The rung that decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rung {
    /// 1: the master switch.
    MasterSwitch,
    /// 2: the deny list.
    Denied,
    /// 3: switched off by its entry.
    EntryOff,
    /// 4: from a workspace, and nobody asked for it.
    WorkspaceUnasked,
    /// 5: selected for a slot.
    SlotSelected,
    /// 6: not on the allow list.
    NotAllowed,
    /// 7: selected by name.
    Selected,
    /// 9: bundled, on by default.
    BundledOn,
    /// 9: bundled, and nobody asked for it.
    BundledOff,
    /// 10: nothing speaks against it.
    Open,
    /// After the ladder: its only kind is exclusive, and another plugin has the slot.
    SlotLost,
}

/// Whether a plugin runs, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// What decided.
    pub rung: Rung,
    /// One sentence, with the remedy if the plugin is off.
    pub reason: String,
}

impl Decision {
    fn new(rung: Rung, reason: impl Into<String>) -> Self {
        Self { rung, reason: reason.into() }
    }

    /// Whether the plugin runs.
    pub fn is_on(&self) -> bool {
        use Rung::{BundledOn, Open, Selected, SlotSelected};
        matches!(self.rung, SlotSelected | Selected | BundledOn | Open)
    }
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

/// Decides about one plugin.
pub fn decide(subject: &Subject<'_>, switches: &Switches) -> Decision {
    let decision = ladder(subject, switches);
    if !decision.is_on() {
        return decision;
    }
    lost_slot(subject, switches).unwrap_or(decision)
}

fn ladder(subject: &Subject<'_>, switches: &Switches) -> Decision {
    use Origin::{Bundled, Workspace};
    let Subject { id, origin, .. } = *subject;
    let listed = |list: &[String]| list.iter().any(|it| it == id);
    let allowed = listed(&switches.allow);
    let context_engine = switches.slot(ExclusiveKind::ContextEngine) == id;

    if !switches.enabled {
        return Decision::new(Rung::MasterSwitch, "plugins.enabled is false");
    }
    if listed(&switches.deny) {
        return Decision::new(Rung::Denied, format!("plugins.deny names `{id}`"));
    }
    if subject.enabled == Some(false) {
        return Decision::new(Rung::EntryOff, format!("plugins.entries.{id}.enabled is false"));
    }
    if origin == Workspace && !allowed && subject.enabled != Some(true) && !context_engine {
        let reason = format!("it comes with a workspace; to run it set plugins.entries.{id}.enabled: true");
        return Decision::new(Rung::WorkspaceUnasked, reason);
    }
    if switches.slot(ExclusiveKind::Memory) == id || context_engine {
        return Decision::new(Rung::SlotSelected, "plugins.slots selects it");
    }
    if !switches.allow.is_empty() && !allowed {
        return Decision::new(Rung::NotAllowed, format!("plugins.allow does not name `{id}`; add it there to run it"));
    }
    if subject.enabled == Some(true) {
        return Decision::new(Rung::Selected, format!("plugins.entries.{id}.enabled is true"));
    }
    if origin != Bundled && allowed {
        return Decision::new(Rung::Selected, "plugins.allow names it");
    }
    match origin {
        Bundled if subject.enabled_by_default => Decision::new(Rung::BundledOn, "it is on by default"),
        Bundled => {
            let reason = format!("it is off unless selected; to run it set plugins.entries.{id}.enabled: true");
            Decision::new(Rung::BundledOff, reason)
        }
        _ => Decision::new(Rung::Open, "nothing in the configuration switches it off"),
    }
}

/// A plugin of one exclusive kind is off if another one has the slot; one of several kinds stays on for its other role.
fn lost_slot(subject: &Subject<'_>, switches: &Switches) -> Option<Decision> {
    let [kind] = subject.kinds else { return None };
    let (exclusive, key) = match ExclusiveKind::from_name(kind)? {
        ExclusiveKind::Memory => (ExclusiveKind::Memory, "memory"),
        ExclusiveKind::ContextEngine => (ExclusiveKind::ContextEngine, "contextEngine"),
    };
    let owner = switches.slot(exclusive);
    if owner == subject.id {
        return None;
    }
    let reason = format!("plugins.slots.{key} is `{owner}`; to run it set plugins.slots.{key}: \"{}\"", subject.id);
    Some(Decision::new(Rung::SlotLost, reason))
}

#[cfg(test)]
mod tests {
    use Origin::{Bundled, Config, Installed, Workspace};

    use super::*;

    /// A subject with the id `p`.
    fn plugin(origin: Origin) -> Subject<'static> {
        Subject { id: "p", origin, kinds: &[], enabled_by_default: false, enabled: None }
    }

    fn on(subject: Subject<'static>) -> Subject<'static> {
        Subject { enabled: Some(true), ..subject }
    }

    fn off(subject: Subject<'static>) -> Subject<'static> {
        Subject { enabled: Some(false), ..subject }
    }

    fn allow(id: &str) -> Switches {
        Switches { allow: vec![id.to_owned()], ..Switches::default() }
    }

    fn memory(id: &str) -> Switches {
        Switches { memory_slot: Some(id.to_owned()), ..Switches::default() }
    }

    fn engine(id: &str) -> Switches {
        Switches { context_engine_slot: Some(id.to_owned()), ..Switches::default() }
    }

    fn denied(switches: Switches) -> Switches {
        Switches { deny: vec!["p".to_owned()], ..switches }
    }

    /// Each rung against the ones above and below it.
    #[test]
    fn the_first_rung_that_matches_decides() {
        let none = Switches::default();
        let master_off = Switches { enabled: false, ..allow("p") };
        let all_on = Subject { enabled_by_default: true, ..on(plugin(Bundled)) };
        let rows = [
            // 1 before all.
            (all_on, master_off, Rung::MasterSwitch),
            // 2 before 3 to 10.
            (on(plugin(Installed)), denied(allow("p")), Rung::Denied),
            (off(plugin(Installed)), denied(none.clone()), Rung::Denied),
            (all_on, denied(memory("p")), Rung::Denied),
            // 3 before 4 to 10.
            (off(plugin(Workspace)), none.clone(), Rung::EntryOff),
            (off(plugin(Installed)), memory("p"), Rung::EntryOff),
            (off(plugin(Installed)), engine("p"), Rung::EntryOff),
            (off(plugin(Installed)), allow("p"), Rung::EntryOff),
            (Subject { enabled_by_default: true, ..off(plugin(Bundled)) }, none.clone(), Rung::EntryOff),
            // 4: only three things bring a workspace plugin in; the memory slot does not.
            (plugin(Workspace), none.clone(), Rung::WorkspaceUnasked),
            (plugin(Workspace), allow("q"), Rung::WorkspaceUnasked),
            (plugin(Workspace), memory("p"), Rung::WorkspaceUnasked),
            (Subject { enabled_by_default: true, ..plugin(Workspace) }, none.clone(), Rung::WorkspaceUnasked),
            (plugin(Workspace), allow("p"), Rung::Selected),
            (on(plugin(Workspace)), none.clone(), Rung::Selected),
            (plugin(Workspace), engine("p"), Rung::SlotSelected),
            // 5 before 6: a slot does not need the allow list.
            (plugin(Installed), Switches { allow: vec!["q".to_owned()], ..memory("p") }, Rung::SlotSelected),
            (plugin(Bundled), Switches { allow: vec!["q".to_owned()], ..engine("p") }, Rung::SlotSelected),
            // 6 before 7 to 10.
            (on(plugin(Installed)), allow("q"), Rung::NotAllowed),
            (on(plugin(Workspace)), allow("q"), Rung::NotAllowed),
            (all_on, allow("q"), Rung::NotAllowed),
            // 7 before 9 and 10.
            (all_on, none.clone(), Rung::Selected),
            (plugin(Config), allow("p"), Rung::Selected),
            // 9; being on the allow list does not select a bundled plugin.
            (Subject { enabled_by_default: true, ..plugin(Bundled) }, none.clone(), Rung::BundledOn),
            (plugin(Bundled), none.clone(), Rung::BundledOff),
            (plugin(Bundled), allow("p"), Rung::BundledOff),
            // 10.
            (plugin(Installed), none.clone(), Rung::Open),
            (plugin(Config), none, Rung::Open),
        ];
        for (index, (subject, switches, rung)) in rows.into_iter().enumerate() {
            let decision = decide(&subject, &switches);
            assert_eq!(decision.rung, rung, "row {index}: {subject:?} {switches:?}");
            let on = matches!(rung, Rung::SlotSelected | Rung::Selected | Rung::BundledOn | Rung::Open);
            assert_eq!(decision.is_on(), on, "row {index}");
        }
    }

    #[test]
    fn losers_of_a_slot_are_off_unless_they_have_another_role() {
        let kinds = |kinds: &[&str]| -> Vec<String> { kinds.iter().map(|kind| (*kind).to_owned()).collect() };
        for (kinds, switches, runs) in [
            (kinds(&["memory"]), memory("p"), true),
            (kinds(&["memory"]), Switches::default(), false),
            (kinds(&["memory"]), memory("q"), false),
            (kinds(&["memory"]), memory("none"), false),
            (kinds(&["context-engine"]), engine("p"), true),
            (kinds(&["context-engine"]), Switches::default(), false),
            (kinds(&["memory", "context-engine"]), engine("p"), true),
            (kinds(&["memory", "context-engine"]), memory("q"), true),
            (kinds(&["channel"]), memory("q"), true),
            (kinds(&[]), memory("q"), true),
        ] {
            for subject in [plugin(Installed), on(plugin(Installed))] {
                let subject = Subject { kinds: &kinds, ..subject };
                assert_eq!(decide(&subject, &switches).is_on(), runs, "{kinds:?} {switches:?}");
            }
        }
    }

    #[test]
    fn a_reason_names_the_key_that_would_change_it() {
        let kinds = ["memory".to_owned()];
        for (subject, switches, text) in [
            (plugin(Workspace), Switches::default(), "to run it set plugins.entries.p.enabled: true"),
            (plugin(Installed), allow("q"), "plugins.allow does not name `p`; add it there to run it"),
            (off(plugin(Installed)), Switches::default(), "plugins.entries.p.enabled is false"),
            (
                Subject { kinds: &kinds, ..plugin(Installed) },
                Switches::default(),
                "plugins.slots.memory is `memory-core`; to run it set plugins.slots.memory: \"p\"",
            ),
        ] {
            let decision = decide(&subject, &switches);
            assert!(decision.reason.contains(text), "{decision}");
        }
    }
}
