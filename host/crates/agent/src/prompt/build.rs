//! Runs the hooks of the prompt phase in their order (plugin-hooks 3a, step 7) and joins what they gave.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use domain::model::ModelRef;
use domain::tool::ToolSpec;
use hooks::HookId;
use hooks::catalogue::{AgentTurnPrepare, BeforeAgentStart, BeforePromptBuild};
use hooks::events::{Messages, agent_turn_prepare, before_agent_start, before_prompt_build};

use super::assemble::{Assembled, assemble};
use super::base::{BaseInput, render};
use crate::ports::ProjectContext;
use crate::request_view;
use crate::run::RunState;

/// A prompt that is ready for the last gate.
pub(crate) struct BuiltPrompt {
    /// System prompt and texts of the turn.
    pub(crate) assembled: Assembled,
    /// Tools that go to the model.
    pub(crate) tools: Vec<ToolSpec>,
}

/// What the prompt is built from.
pub(crate) struct PromptInput<'a> {
    pub(crate) prompt: &'a str,
    pub(crate) prompt_id: &'a str,
    pub(crate) project: &'a ProjectContext,
    pub(crate) model: &'a ModelRef,
    pub(crate) thinking: Option<&'a str>,
    /// What `before_agent_start` said in the model phase.
    pub(crate) legacy: Option<before_agent_start::Decision>,
}

/// Builds the prompt of a run.
pub(crate) async fn build(run: &RunState, input: PromptInput<'_>) -> BuiltPrompt {
    let messages: Messages = run.with_rows(|rows| request_view::history(rows).iter().map(|message| message.to_json()).collect());
    let turn = prepare_turn(run, input.prompt, &messages).await;
    let first_phase = ask_build(run, event(&input, &messages, None)).await;
    let legacy = match input.legacy.clone() {
        Some(said) => said.prompt,
        None => ask_legacy(run, input.prompt, &messages).await,
    };
    let mut decision = first_phase.followed_by(legacy);
    let tools = final_tools(run, &decision.tools_allow);
    let authority = fingerprint(&tools);
    let second_phase = ask_build(run, event(&input, &messages, Some(authority))).await;
    decision = decision.followed_by(before_prompt_build::Decision {
        prepend_context: second_phase.prepend_context,
        append_context: second_phase.append_context,
        ..Default::default()
    });
    let settings = run.settings();
    let base = render(&BaseInput {
        agent_id: settings.agent_id.as_str(),
        tools: &tools,
        workspace_dir: &settings.workspace_dir,
        time_zone: &settings.time_zone,
        project: input.project,
        os: std::env::consts::OS,
        model: &input.model.to_string(),
        thinking: input.thinking,
    });
    BuiltPrompt { assembled: assemble(&base, &turn, &decision), tools }
}

fn event(input: &PromptInput<'_>, messages: &Messages, tool_authority: Option<String>) -> before_prompt_build::Event {
    before_prompt_build::Event {
        prompt: input.prompt.to_owned(),
        messages: messages.clone(),
        current_user_message: Some(input.prompt.to_owned()),
        current_user_message_id: Some(input.prompt_id.to_owned()),
        tool_authority,
    }
}

async fn prepare_turn(run: &RunState, prompt: &str, messages: &Messages) -> agent_turn_prepare::Answer {
    if !run.hooks().has(HookId::AgentTurnPrepare) {
        return agent_turn_prepare::Answer::default();
    }
    let event =
        agent_turn_prepare::Event { prompt: prompt.to_owned(), messages: messages.clone(), queued_injections: Vec::new() };
    let decided = run.hooks().decide::<AgentTurnPrepare>(&event, &run.agent_context(), run.scope()).await;
    decided.map(|dispatched| dispatched.decision).unwrap_or_default()
}

async fn ask_build(run: &RunState, event: before_prompt_build::Event) -> before_prompt_build::Decision {
    if !run.hooks().has(HookId::BeforePromptBuild) {
        return before_prompt_build::Decision::default();
    }
    let decided = run.hooks().decide::<BeforePromptBuild>(&event, &run.agent_context(), run.scope()).await;
    decided.map(|dispatched| dispatched.decision).unwrap_or_default()
}

async fn ask_legacy(run: &RunState, prompt: &str, messages: &Messages) -> before_prompt_build::Decision {
    if !run.hooks().has(HookId::BeforeAgentStart) {
        return before_prompt_build::Decision::default();
    }
    let event = before_agent_start::Event { prompt: prompt.to_owned(), messages: Some(messages.clone()) };
    let decided = run.hooks().decide::<BeforeAgentStart>(&event, &run.agent_context(), run.scope()).await;
    decided.map(|dispatched| dispatched.decision.prompt).unwrap_or_default()
}

/// Policy first, then what hooks narrowed; a hook never adds a tool.
fn final_tools(run: &RunState, lists: &[Vec<String>]) -> Vec<ToolSpec> {
    let all = run.permitted_tools();
    if lists.is_empty() {
        return all;
    }
    let kept: BTreeSet<String> = run.ports().tool_support.narrow(&all, lists).into_iter().collect();
    all.into_iter().filter(|tool| kept.contains(&tool.name)).collect()
}

/// Stands for the final set of tools; the same set gives the same text within this process.
fn fingerprint(tools: &[ToolSpec]) -> String {
    let names: BTreeSet<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
    let mut hasher = DefaultHasher::new();
    names.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}
