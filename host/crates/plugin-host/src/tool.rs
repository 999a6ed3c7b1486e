//! Tools that a plugin registers, as [`Tool`]s. The list is asked for once, when the plugin is loaded; a bad entry is left out with a
//! diagnostic, the others stay (plugin-hooks 8). Whoever holds a tool reaches it through the agent's one executor.

use std::collections::BTreeSet;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use domain::cancel::Cancel;
use domain::tool::{Invocation, Progress, Tool, ToolFailure, ToolResult, ToolSpec};
use hooks::{Fault, FaultKind};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::bindings::creel::plugin::types as wit_types;
use crate::bindings::exports::creel::plugin::tools as wit;
use crate::convert::{Arena, result, tools};
use crate::instance::{Live, Plugin, at_the_edge};
use crate::limits::LIST_BUDGET;
use crate::schema::{cost_of_tool_schema, problem_of_tool_schema};
use crate::state::CallFacts;

/// Most tools of one plugin: a model reads the whole list in every request.
const MAX_TOOLS: usize = 128;

/// A tool of a plugin.
struct PluginTool {
    plugin: Arc<Plugin>,
    indices: wit::GuestIndices,
    spec: ToolSpec,
}

/// What the manifest says about tools.
pub(crate) struct Declared {
    /// `contracts.tools`.
    pub(crate) tools: Vec<String>,
    /// Tools that it hides until an operator allows them.
    pub(crate) optional: BTreeSet<String>,
    /// Whether the list depends on the run.
    pub(crate) per_run: bool,
}

/// What a plugin offers, and what was left out of it.
#[derive(Default)]
pub(crate) struct Offered {
    pub(crate) tools: Vec<Arc<dyn Tool>>,
    pub(crate) diagnostics: Vec<String>,
}

/// Asks a plugin for its tools. `taken`: names of built-in tools and of other plugins' tools.
pub(crate) async fn offered(plugin: &Arc<Plugin>, declared: &Declared, taken: &mut BTreeSet<String>) -> Offered {
    let mut offered = Offered::default();
    if declared.per_run {
        offered.diagnostics.push("its list of tools depends on the run; this version of the host asks for it once".to_owned());
    }
    let listed = match list(plugin).await {
        Ok(listed) => listed,
        Err(fault) => {
            offered.diagnostics.push(format!("its tools are left out, because listing them failed ({fault})"));
            return offered;
        }
    };
    let (indices, mut entries) = listed;
    if entries.len() > MAX_TOOLS {
        offered.diagnostics.push(format!("it lists {} tools; those after the first {MAX_TOOLS} are left out", entries.len()));
        entries.truncate(MAX_TOOLS);
    }
    for entry in entries {
        let name = entry.name.clone();
        match admit(entry, plugin, declared, taken) {
            Ok(spec) => {
                taken.insert(spec.name.clone());
                let tool = PluginTool { plugin: Arc::clone(plugin), indices: indices.clone(), spec };
                offered.tools.push(Arc::new(tool));
            }
            Err(problem) => {
                let name = hooks::fault::one_line(&name, 64);
                offered.diagnostics.push(format!("its tool `{name}` is left out: {problem}"));
            }
        }
    }
    offered
}

fn admit(entry: wit::Tool, plugin: &Plugin, declared: &Declared, taken: &BTreeSet<String>) -> Result<ToolSpec, String> {
    let mut spec = tools::spec(entry, &plugin.facts.id).map_err(|fault| fault.text().to_owned())?;
    if !declared.tools.contains(&spec.name) {
        return Err("the manifest does not declare it; add it to contracts.tools".to_owned());
    }
    if taken.contains(&spec.name) {
        return Err("a built-in tool or a plugin that was loaded before has that name".to_owned());
    }
    if let Some(problem) = problem_of_tool_schema(&spec.parameters) {
        return Err(format!("parameters {}", hooks::fault::one_line(&problem, 200)));
    }
    // A bad output schema refuses calls, not the tool (plugin-hooks 8); one that is too costly must not be kept at all.
    if let Some(problem) = spec.output_schema.as_ref().and_then(cost_of_tool_schema) {
        return Err(format!("outputSchema {}", hooks::fault::one_line(&problem, 200)));
    }
    spec.optional |= declared.optional.contains(&spec.name);
    Ok(spec)
}

async fn list(plugin: &Arc<Plugin>) -> Result<(wit::GuestIndices, Vec<wit::Tool>), Fault> {
    let indices = wit::GuestIndices::new(plugin.pre()).map_err(|error| Fault::new(FaultKind::Host, format!("BUG: {error:#}")))?;
    let facts = CallFacts::until("list-tools", Instant::now() + LIST_BUDGET, LIST_BUDGET);
    let work = async {
        let mut live = plugin.take(&facts).await?;
        let guest = load(&indices, &mut live)?;
        let listed = guest.call_list_tools(&mut live.store, None).await;
        listed.map_err(|error| live.fault(&error))?.map_err(|text| Fault::new(FaultKind::Guest, text))
    };
    let listed = at_the_edge(&facts, work).await?;
    Ok((indices, listed))
}

fn load(indices: &wit::GuestIndices, live: &mut Live) -> Result<wit::Guest, Fault> {
    indices.load(&mut live.store, &live.instance).map_err(|error| live.fault(&error))
}

#[async_trait]
impl Tool for PluginTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn execute(&self, call: Invocation<'_>) -> Result<ToolResult, ToolFailure> {
        let budget = self.plugin.facts.limits.tool_budget();
        let (sender, receiver) = watch::channel(None);
        let facts = CallFacts {
            run: Some(call.run),
            session: Some(&call.scope.session_key),
            chain: call.chain,
            ..CallFacts::until("tool", Instant::now() + budget, budget)
        };
        let facts = facts.cancelled_by(call.cancel);
        let work = pin!(self.run(&call, &facts, sender));
        let work = at_the_edge(&facts, work);
        match with_progress(work, receiver, call.progress).await {
            Ok(Ok(result)) => Ok(result),
            Ok(Err(text)) => Err(ToolFailure::Failed(hooks::fault::one_line(&text, hooks::fault::MAX_FAULT_BYTES))),
            Err(fault) => Err(self.failure(&fault, facts.cancel, budget)),
        }
    }
}

impl PluginTool {
    /// Runs the tool. The inner error is what the guest reported.
    async fn run(
        &self,
        call: &Invocation<'_>,
        facts: &CallFacts<'_>,
        progress: watch::Sender<Option<ToolResult>>,
    ) -> Result<Result<ToolResult, String>, Fault> {
        let mut live = self.plugin.take(facts).await?;
        live.store.data_mut().call.progress = Some(progress);
        let returned = self.ask(&mut live, call).await?;
        live.store.data_mut().call.progress = None;
        self.plugin.give_back(facts.run, live);
        match returned {
            Ok(result) => result::from_wit(result).map(Ok),
            Err(text) => Ok(Err(text)),
        }
    }

    async fn ask(&self, live: &mut Live, call: &Invocation<'_>) -> Result<Result<wit_types::ToolResult, String>, Fault> {
        let guest = load(&self.indices, live)?;
        let arena = Arena::new();
        let (wit_call, context) = (tools::call(&self.spec.name, call, &arena), tools::context(call.scope));
        let returned = guest.call_execute(&mut live.store, wit_call, context).await;
        returned.map_err(|error| live.fault(&error))
    }

    /// A fault as the model hears of it; the log has the rest.
    fn failure(&self, fault: &Fault, cancel: Option<&Cancel>, budget: Duration) -> ToolFailure {
        let plugin = &self.plugin.facts.id;
        if cancel.is_some_and(Cancel::is_cancelled) {
            return ToolFailure::Aborted;
        }
        tracing::warn!(%plugin, tool = self.spec.name, cause = fault.kind().as_str(), "plugin tool failed: {}", fault.text());
        match fault.kind() {
            FaultKind::Timeout => ToolFailure::TimedOut(format!("the tool gave no result within {} ms", budget.as_millis())),
            _ => ToolFailure::Failed(format!("the plugin `{plugin}` failed: {fault}")),
        }
    }
}

/// Shows partial results while the work goes on, the newest one only, and the last one before the end.
async fn with_progress<T>(
    work: impl Future<Output = T>,
    mut partial: watch::Receiver<Option<ToolResult>>,
    progress: &dyn Progress,
) -> T {
    tokio::pin!(work);
    let show = |partial: &mut watch::Receiver<Option<ToolResult>>| {
        let newest = partial.borrow_and_update();
        if let Some(result) = newest.as_ref().filter(|_| newest.has_changed()) {
            progress.update(result);
        }
    };
    let mut open = true;
    loop {
        tokio::select! {
            biased;
            done = &mut work => {
                show(&mut partial);
                return done;
            }
            changed = partial.changed(), if open => {
                open = changed.is_ok();
                show(&mut partial);
            }
        }
    }
}
