//! Contexts for tests: the ids that a host always gives, and nothing else. Their fields are public; set what a test needs.
//!
//! ```
//! use creel_plugin::testing::context;
//! use creel_plugin::{AgentContext, Trigger};
//!
//! let ctx = AgentContext { trigger: Some(Trigger::User), ..context::agent() };
//! assert_eq!(ctx.session_key, "agent:main:main");
//! ```

use crate::event::{
    AgentContext, GatewayContext, InstallContext, MessageContext, SessionContext, ToolContext, TranscriptContext,
};

const AGENT: &str = "main";
const SESSION_KEY: &str = "agent:main:main";
const SESSION_ID: &str = "s1";
const RUN_ID: &str = "r1";

/// Of a run of the agent `main`.
#[must_use]
pub fn agent() -> AgentContext {
    AgentContext {
        agent_id: AGENT.to_owned(),
        session_key: SESSION_KEY.to_owned(),
        session_id: SESSION_ID.to_owned(),
        run_id: Some(RUN_ID.to_owned()),
        job_id: None,
        trigger: None,
        workspace_dir: None,
        model_provider_id: None,
        model_id: None,
        message_provider: None,
        channel: None,
        channel_id: None,
        account_id: None,
        chat_id: None,
        sender_id: None,
        input_provenance: None,
        context_window: None,
        channel_context: None,
        active_project_keys: Vec::new(),
        sandboxed: None,
        memory_audience: None,
        extra: Vec::new(),
    }
}

/// Of a tool call in a run of the agent `main`; nobody is proven to have caused it.
#[must_use]
pub fn tool() -> ToolContext {
    ToolContext {
        agent_id: AGENT.to_owned(),
        session_key: SESSION_KEY.to_owned(),
        session_id: SESSION_ID.to_owned(),
        run_id: RUN_ID.to_owned(),
        channel_id: None,
        requester: None,
        policy_phase: None,
        extra: Vec::new(),
    }
}

/// Of a message in the channel `terminal`.
#[must_use]
pub fn message() -> MessageContext {
    MessageContext {
        channel_id: "terminal".to_owned(),
        account_id: None,
        conversation_id: None,
        session_key: Some(SESSION_KEY.to_owned()),
        run_id: None,
        message_id: None,
        sender_id: None,
        reply_to: None,
        extra: Vec::new(),
    }
}

/// Of a session of the agent `main`.
#[must_use]
pub fn session() -> SessionContext {
    SessionContext {
        agent_id: AGENT.to_owned(),
        session_key: SESSION_KEY.to_owned(),
        session_id: SESSION_ID.to_owned(),
        extra: Vec::new(),
    }
}

/// Of a transcript of the agent `main`.
#[must_use]
pub fn transcript() -> TranscriptContext {
    TranscriptContext { agent_id: AGENT.to_owned(), session_key: SESSION_KEY.to_owned() }
}

/// Of a gateway that does not listen.
#[must_use]
pub fn gateway() -> GatewayContext {
    GatewayContext { port: None, config: None, workspace_dir: None, extra: Vec::new() }
}

/// Of an installation.
#[must_use]
pub fn install() -> InstallContext {
    InstallContext { extra: Vec::new() }
}
