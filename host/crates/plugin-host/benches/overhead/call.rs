//! The call that is measured: a tool call of about 1 kB, with everything that a chat run fills in.

use domain::{AgentId, CallId, JsonText, RunId, SessionId, SessionKey};
use hooks::context::{Requester, ToolContext};
use hooks::events::before_tool_call::Event;

/// A call of the tool `tool`.
pub(crate) fn of(tool: &str) -> (Event, ToolContext) {
    let event = Event {
        tool_name: tool.to_owned(),
        params: JsonText::parse(format!(r#"{{"command":"{}"}}"#, "x".repeat(1000))).unwrap(),
        tool_call_id: CallId::new("call_0123456789abcdef"),
        tool_kind: None,
        tool_input_kind: None,
        derived_paths: vec!["src/main.rs".to_owned(), "Cargo.toml".to_owned()],
        vetoed: None,
    };
    let context = ToolContext {
        agent_id: AgentId::main(),
        session_key: session(),
        session_id: SessionId::new("0198c0de-0000-7000-8000-000000000001"),
        run_id: RunId::new("0198c0de-0000-7000-8000-000000000002"),
        channel_id: Some("C0123456789".to_owned()),
        requester: Some(Requester {
            channel: Some("chat".to_owned()),
            account_id: Some("main".to_owned()),
            sender_id: Some("U0123456789".to_owned()),
            sender_is_owner: Some(true),
            role_ids: None,
        }),
        is_preflight: false,
        extra: Vec::new(),
    };
    (event, context)
}

/// The session of the call.
pub(crate) fn session() -> SessionKey {
    SessionKey::parse("agent:main:chat:group:42", None, &AgentId::main()).unwrap()
}
