//! From the command line to a request: which agent, which conversation, which model. Refuses what makes no sense before anything is
//! loaded or stored.

use std::time::Duration;

use agent::RunRequest;
use config::Loaded;
use domain::{AgentId, SessionKey};

use crate::args::ConversationArgs;
use crate::exit::Failure;
use crate::wiring;

/// The agent that is meant: the one named, the one in the session key, or the default agent.
pub(in crate::commands) fn choose_agent(loaded: &Loaded, args: &ConversationArgs) -> Result<AgentId, Failure> {
    let named = args.agent.as_deref().map(AgentId::parse).transpose().map_err(|error| Failure::usage(error.to_string()))?;
    let default = loaded.config.default_agent();
    let Some(key) = &args.session_key else { return Ok(named.unwrap_or(default)) };
    let key = SessionKey::parse(key, named.as_ref(), &default).map_err(|error| Failure::usage(error.to_string()))?;
    Ok(key.agent().clone())
}

/// The request of one run.
pub(in crate::commands) fn build(
    loaded: &Loaded,
    args: &ConversationArgs,
    agent: &AgentId,
    message: String,
) -> Result<RunRequest, Failure> {
    loaded.config.agent(agent).map_err(|error| Failure::usage(error.to_string()))?;
    let model = args.model.as_deref().map(|text| wiring::model_named(loaded, text)).transpose();
    Ok(RunRequest {
        model: model.map_err(|error| Failure::usage(error.to_string()).hint("an alias of agents.defaults.models will do too"))?,
        thinking: args.thinking.map(|level| level.as_str().to_owned()),
        timeout: args.timeout.map(Duration::from_secs),
        fresh_session: args.new_session,
        sender_is_owner: Some(true),
        ..RunRequest::new(message, session_key(args, agent, &loaded.config.default_agent())?)
    })
}

/// `global` and `unknown` stay as they are only if no agent is named (agent-loop 2.1.2).
fn session_key(args: &ConversationArgs, agent: &AgentId, default: &AgentId) -> Result<SessionKey, Failure> {
    let Some(text) = &args.session_key else { return Ok(SessionKey::main(agent)) };
    let named = args.agent.is_some().then_some(agent);
    SessionKey::parse(text, named, default).map_err(|error| Failure::usage(error.to_string()))
}
