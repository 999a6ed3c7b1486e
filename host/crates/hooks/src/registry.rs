//! All handlers, by hook, in the order in which they run (plugin-hooks 1.1, 1.2). Built once, then read only; a reload builds a new
//! one. Gates act while it is built.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use domain::PluginId;

use crate::access::{Access, Admission, Diagnostic};
use crate::allowance::{Allowance, DispatchBudgets};
use crate::budget::{self, Ceilings};
use crate::catalogue::{CATALOGUE, HookId};
use crate::circuit::{Circuit, Circuits, Pass};
use crate::fault::Fault;
use crate::fields::FieldSet;
use crate::handler::Handler;

/// What a manifest entry says about one handler (1.1).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct HandlerOptions {
    /// Larger runs earlier.
    pub priority: f64,
    /// Budget that the plugin asks for, in milliseconds.
    pub timeout_ms: Option<u64>,
    /// Tools that it is for; none: all.
    pub matcher: Option<Vec<String>>,
    /// Triggers that it is for; none: all.
    pub eligible_triggers: Option<Vec<String>>,
    /// Whether it runs in the second phase of `before_prompt_build`.
    pub requires_tool_authority: bool,
    /// Whether the prompt fields of its answers are dropped; set by the access gate.
    pub strip_prompt_fields: bool,
    /// Fields of event and context that it gets; none: all.
    pub fields: Option<FieldSet>,
}

impl HandlerOptions {
    /// Whether the handler is for this tool.
    pub fn matches_tool(&self, tool: &str) -> bool {
        self.matcher.as_ref().is_none_or(|matcher| matcher.iter().any(|name| name == tool))
    }
}

/// One handler of one plugin for one hook.
#[derive(Clone)]
pub struct Registration {
    /// The hook.
    pub hook: HookId,
    /// Name in the manifest; empty: the entry has none.
    pub handler_name: String,
    /// Options.
    pub options: HandlerOptions,
    /// The way to the guest.
    pub handler: Arc<dyn Handler>,
}

/// A stored registration.
pub(crate) struct Entry {
    pub(crate) plugin: PluginId,
    pub(crate) required: bool,
    pub(crate) handler_name: String,
    pub(crate) options: HandlerOptions,
    pub(crate) budget: Duration,
    pub(crate) handler: Arc<dyn Handler>,
    /// None: faults have no consequences for later calls.
    circuit: Option<Arc<Circuit>>,
    /// Calls of it that only watch and have not ended.
    watching: AtomicUsize,
}

impl Entry {
    /// Asks for leave to call it.
    ///
    /// # Errors
    /// A fault while its circuit is open.
    pub(crate) fn admit(&self) -> Result<Option<Pass<'_>>, Fault> {
        self.circuit.as_deref().map(Circuit::admit).transpose()
    }

    /// Counts a call that only watches, until the guard is dropped.
    pub(crate) fn watch(&self) -> Watching<'_> {
        self.watching.fetch_add(1, Ordering::Relaxed);
        Watching(&self.watching)
    }
}

/// A call that only watches and has not ended.
pub(crate) struct Watching<'e>(&'e AtomicUsize);

impl Drop for Watching<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// All handlers.
#[derive(Default)]
pub struct Registry {
    by_hook: Vec<Vec<Entry>>,
    dispatch_budgets: DispatchBudgets,
    required: Vec<PluginId>,
    unguarded: Vec<Diagnostic>,
}

impl Registry {
    /// No handlers.
    pub fn empty() -> Self {
        Self::default()
    }

    pub(crate) fn entries(&self, hook: HookId) -> &[Entry] {
        self.by_hook.get(hook as usize).map_or(&[], Vec::as_slice)
    }

    /// The time that a dispatch which begins now has in all.
    pub(crate) fn allowance(&self, hook: HookId) -> Allowance<'_> {
        Allowance::of(self.dispatch_budgets.of(hook))
    }

    /// Whether any handler is registered for a hook.
    pub fn has(&self, hook: HookId) -> bool {
        !self.entries(hook).is_empty()
    }

    /// Plugins and handler names of a hook, in the order in which they run.
    pub fn handlers(&self, hook: HookId) -> impl Iterator<Item = (&PluginId, &str)> {
        self.entries(hook).iter().map(|entry| (&entry.plugin, entry.handler_name.as_str()))
    }

    /// Hooks that only watch, with plugins whose handlers of them have not ended yet.
    pub fn watching(&self) -> impl Iterator<Item = (HookId, &PluginId)> {
        let busy = |entry: &&Entry| entry.watching.load(Ordering::Relaxed) > 0;
        CATALOGUE.iter().flat_map(move |row| self.entries(row.id).iter().filter(busy).map(|entry| (row.id, &entry.plugin)))
    }

    /// Registrations of required plugins that were refused. A host with one must not serve: it would run without a guard that its
    /// operator relies on.
    pub fn unguarded(&self) -> &[Diagnostic] {
        &self.unguarded
    }

    /// Plugins that the operator marked as required.
    pub fn required(&self) -> &[PluginId] {
        &self.required
    }
}

/// Builds a registry. Plugins are added in load order, which is the order of ties.
#[derive(Default)]
pub struct RegistryBuilder {
    by_hook: Vec<Vec<Entry>>,
    required: Vec<PluginId>,
    ceilings: Ceilings,
    dispatch_budgets: DispatchBudgets,
    circuits: Option<Circuits>,
    diagnostics: Vec<Diagnostic>,
    unguarded: Vec<Diagnostic>,
}

impl RegistryBuilder {
    /// Starts with the host's protection against handlers without a budget.
    pub fn new(ceilings: Ceilings) -> Self {
        Self { by_hook: CATALOGUE.iter().map(|_| Vec::new()).collect(), ceilings, ..Self::default() }
    }

    /// Bounds whole dispatches too.
    #[must_use]
    pub fn with_dispatch_budgets(self, dispatch_budgets: DispatchBudgets) -> Self {
        Self { dispatch_budgets, ..self }
    }

    /// Leaves plugins alone for a while that fail again and again.
    #[must_use]
    pub fn with_circuits(self, circuits: Circuits) -> Self {
        Self { circuits: Some(circuits), ..self }
    }

    /// Adds the handlers of one plugin in their order; what a gate refuses, or an option makes invalid, is left out with a
    /// diagnostic, the rest is stored.
    pub fn add_plugin(&mut self, plugin: &PluginId, access: &Access, registrations: Vec<Registration>) {
        if access.required {
            self.required.push(plugin.clone());
        }
        for registration in registrations {
            self.add(plugin, access, registration);
        }
    }

    fn add(&mut self, plugin: &PluginId, access: &Access, registration: Registration) {
        let Registration { hook, handler_name, mut options, handler } = registration;
        match access.admit(hook) {
            Admission::Denied(key) => {
                let text = format!(
                    "the {hook} handler of plugin `{plugin}` was not registered; to allow it set plugins.entries.{plugin}.hooks.{key}: true"
                );
                return self.refuse(plugin, access, text);
            }
            Admission::PromptStripped => options.strip_prompt_fields = true,
            Admission::Granted => {}
        }
        if let Some(problem) = matcher_problem(&options) {
            let text = format!("the {hook} handler of plugin `{plugin}` was not registered: {problem}");
            return self.refuse(plugin, access, text);
        }
        // Adding zero makes a negative zero an ordinary one, so that the two are a tie.
        options.priority = if options.priority.is_finite() { options.priority + 0.0 } else { 0.0 };
        if hook == HookId::BeforeAgentStart {
            let text = format!(
                "plugin `{plugin}` uses before_agent_start, which is deprecated; use before_model_resolve and before_prompt_build"
            );
            self.warn(plugin, text);
        }
        let budget = budget::resolve(hook, &access.budgets, options.timeout_ms, &self.ceilings);
        options.fields = FieldSet::narrowed(options.fields, access.fields.get(&hook).copied());
        let circuit = self.circuits.as_ref().map(|circuits| circuits.circuit(plugin, hook, access));
        let (plugin, required) = (plugin.clone(), access.required);
        let entry = Entry { plugin, required, handler_name, options, budget, handler, circuit, watching: AtomicUsize::new(0) };
        self.by_hook[hook as usize].push(entry);
    }

    fn refuse(&mut self, plugin: &PluginId, access: &Access, text: String) {
        if access.required {
            self.unguarded.push(Diagnostic { plugin: plugin.clone(), text: text.clone() });
        }
        self.warn(plugin, text);
    }

    fn warn(&mut self, plugin: &PluginId, text: String) {
        self.diagnostics.push(Diagnostic { plugin: plugin.clone(), text });
    }

    /// Sorts by priority, larger first; ties keep their order.
    pub fn build(mut self) -> (Registry, Vec<Diagnostic>) {
        for entries in &mut self.by_hook {
            entries.sort_by(|a, b| b.options.priority.total_cmp(&a.options.priority));
        }
        let Self { by_hook, dispatch_budgets, required, unguarded, diagnostics, .. } = self;
        (Registry { by_hook, dispatch_budgets, required, unguarded }, diagnostics)
    }
}

/// An empty list, a blank name or a wildcard would match nothing or everything by accident (1.1).
fn matcher_problem(options: &HandlerOptions) -> Option<&'static str> {
    let matcher = options.matcher.as_ref()?;
    if matcher.is_empty() {
        return Some("its matcher is empty; name at least one tool, or leave the matcher out");
    }
    if matcher.iter().any(|name| name.trim().is_empty() || name.contains('*')) {
        return Some("its matcher holds a blank name or a wildcard; name tools exactly, or leave the matcher out");
    }
    None
}
