//! One dispatch without guests: returned values are converted, checked, described and merged one after another, and what must hold
//! whatever they are is asserted.

use domain::message::{AgentMessage, ContentBlock, ToolResultMessage};
use domain::payload::{HOST_TRUST_KEYS, PayloadKind, ReplyPayload};
use domain::{CallId, JsonText, PluginId};
use hooks::catalogue as point;
use hooks::events::{before_agent_run, before_message_write, reply_payload_sending, tool_result_persist};
use hooks::point::Claim;
use hooks::{Fold, HandlerOptions, HookId, Who};
use serde_json::Value;

use super::answer::Scripted;
use super::assert_fault_is_one_bounded_line;
use super::lines::Lines;
use crate::bindings::creel::plugin::types as wit;
use crate::bindings::exports::creel::plugin as exports;
use crate::convert::{Arena, FromAnswer, ToRecord, result, tools};
use crate::export::decided;
use crate::schema;

/// Most handlers of one dispatch.
const HANDLERS: usize = 4;

/// Plays what the first line names.
pub(super) fn play(lines: &mut Lines<'_>) {
    use HookId as Id;
    match lines.line() {
        "tool" => tool(lines),
        "tool-result" => tool_result(lines),
        name => match HookId::from_name(name) {
            Some(Id::BeforeModelResolve) => merge::<point::BeforeModelResolve>(lines),
            Some(Id::AgentTurnPrepare) => merge::<point::AgentTurnPrepare>(lines),
            Some(Id::BeforePromptBuild) => merge::<point::BeforePromptBuild>(lines),
            Some(Id::BeforeAgentStart) => merge::<point::BeforeAgentStart>(lines),
            Some(Id::BeforeAgentReply) => claim(lines),
            Some(Id::BeforeAgentRun) => before_agent_run(lines),
            Some(Id::BeforeAgentFinalize) => merge::<point::BeforeAgentFinalize>(lines),
            Some(Id::BeforeToolCall) => merge::<point::BeforeToolCall>(lines),
            Some(Id::ResolveExecEnv) => merge::<point::ResolveExecEnv>(lines),
            Some(Id::ToolResultPersist) => tool_result_persist(lines),
            Some(Id::ReplyPayloadSending) => reply_payload_sending(lines),
            Some(Id::MessageSending) => merge::<point::MessageSending>(lines),
            Some(Id::BeforeMessageWrite) => before_message_write(lines),
            Some(Id::BeforeInstall) => merge::<point::BeforeInstall>(lines),
            // The others only watch.
            _ => {}
        },
    }
}

/// What the next handler of a script returns; the faults of those before it are looked at.
fn next<A>(lines: &mut Lines<'_>) -> Option<Box<A>>
where
    A: FromAnswer,
    A::Wit: Scripted,
{
    for _ in 0..HANDLERS {
        if lines.are_used_up() {
            return None;
        }
        match decided(lines.returned(A::Wit::read)) {
            Ok(Some(answer)) => return Some(answer),
            Ok(None) => {}
            Err(fault) => assert_fault_is_one_bounded_line(&fault),
        }
    }
    None
}

/// Merges answers of a hook whose event is not looked at.
fn merge<P>(lines: &mut Lines<'_>)
where
    P: Fold<Answer: FromAnswer<Wit: Scripted>>,
{
    let plugin = PluginId::new("fuzzed");
    let mut decision = P::Decision::default();
    for handler in 0..HANDLERS {
        let Some(answer) = next::<P::Answer>(lines) else { return };
        let _ = P::describe(&answer);
        let options = HandlerOptions { requires_tool_authority: handler % 2 == 1, ..HandlerOptions::default() };
        let was_terminal = P::is_terminal(&decision);
        decision = P::fold(decision, *answer, Who { plugin: &plugin, handler: "h", options: &options });
        assert!(!was_terminal || P::is_terminal(&decision), "{}: a later answer took a block or a cancel back", P::ID.name());
    }
}

/// Merges answers of a hook that looks at its event. `newest` sees each event that a further handler would get.
fn merge_with<P>(lines: &mut Lines<'_>, mut event: P::Event, mut newest: impl FnMut(&P::Event)) -> P::Decision
where
    P: Fold<Answer: FromAnswer<Wit: Scripted>>,
{
    let plugin = PluginId::new("fuzzed");
    let mut decision = P::Decision::default();
    for _ in 0..HANDLERS {
        newest(&event);
        let Some(answer) = next::<P::Answer>(lines) else { break };
        let _ = P::describe(&answer);
        if let Err(fault) = P::check(&event, &answer) {
            assert_fault_is_one_bounded_line(&fault);
            continue;
        }
        decision = P::fold(decision, *answer, Who { plugin: &plugin, handler: "h", options: &HandlerOptions::default() });
        if P::is_terminal(&decision) {
            break;
        }
        if let Some(next) = P::refresh(&event, &decision) {
            event = next;
        }
    }
    decision
}

fn claim(lines: &mut Lines<'_>) {
    while let Some(answer) = next::<<point::BeforeAgentReply as hooks::HookPoint>::Answer>(lines) {
        let _ = <point::BeforeAgentReply as Claim>::describe(&answer);
        assert!(answer.handled || answer.reply.is_none(), "an answer that does not claim has a reply");
    }
}

fn before_agent_run(lines: &mut Lines<'_>) {
    let event =
        before_agent_run::Event { prompt: String::new(), messages: [].into(), system_prompt: None, sender_is_owner: None };
    let decision = merge_with::<point::BeforeAgentRun>(lines, event, |_| {});
    if let Some((_, block)) = decision.blocked {
        assert!(!block.reason.trim().is_empty(), "a block without a reason got through");
        assert!(block.metadata.is_none_or(|metadata| metadata.to_value().is_object()), "the metadata is no object");
    }
}

fn before_message_write(lines: &mut Lines<'_>) {
    let message = serde_json::from_str(lines.line()).ok().and_then(|value: Value| AgentMessage::from_value(value).ok());
    let message = message.unwrap_or_else(|| AgentMessage::user("hello", 1));
    let role = message.role().to_owned();
    merge_with::<point::BeforeMessageWrite>(lines, before_message_write::Event { message }, |event| {
        assert_eq!(event.message.role(), role, "a row changed its role");
        let arena = Arena::new();
        assert_is_stored_as_shown(&event.message, event.to_record(&arena).message);
    });
}

fn tool_result_persist(lines: &mut Lines<'_>) {
    let id = CallId::new("call");
    let message = ToolResultMessage {
        tool_call_id: id.clone(),
        tool_name: "read".to_owned(),
        content: vec![ContentBlock::text("text")],
        details: None,
        is_error: false,
        timestamp: 1,
        extra: serde_json::Map::new(),
    };
    let event =
        tool_result_persist::Event { message, tool_name: "read".to_owned(), tool_call_id: id.clone(), is_synthetic: false };
    merge_with::<point::ToolResultPersist>(lines, event, |event| {
        assert_eq!(event.message.tool_call_id, id, "a result changed its call");
        let arena = Arena::new();
        assert_is_stored_as_shown(&AgentMessage::ToolResult(event.message.clone()), event.to_record(&arena).message);
    });
}

/// What a handler is shown is what is stored, and what is stored can be read again.
fn assert_is_stored_as_shown(message: &AgentMessage, shown: &str) {
    assert_eq!(shown, message.to_json().as_str(), "a handler is shown something else than what is stored");
    let read = serde_json::from_str(shown).map(AgentMessage::from_value);
    assert!(matches!(&read, Ok(Ok(_))), "a row cannot be read again: {read:?}: {shown}");
}

fn reply_payload_sending(lines: &mut Lines<'_>) {
    let event = reply_payload_sending::Event::new(ReplyPayload::text("hello"), PayloadKind::Final);
    let decision = merge_with::<point::ReplyPayloadSending>(lines, event, |event| {
        let arena = Arena::new();
        assert!(JsonText::parse(event.to_record(&arena).payload).is_ok(), "a payload is not rendered as JSON");
    });
    let sent = decision.apply(ReplyPayload::text("hello"));
    assert!(HOST_TRUST_KEYS.iter().all(|key| !sent.extra.contains_key(*key)), "a guest set a mark of the host: {sent:?}");
}

fn tool(lines: &mut Lines<'_>) {
    match tools::spec(exports::tools::Tool::read(lines), &PluginId::new("fuzzed")) {
        Ok(spec) => {
            assert!(!spec.name.is_empty() && !spec.label.trim().is_empty(), "a tool without a name: {spec:?}");
            let _ = schema::problem_of_tool_schema(&spec.parameters);
        }
        Err(fault) => assert_fault_is_one_bounded_line(&fault),
    }
}

fn tool_result(lines: &mut Lines<'_>) {
    match result::from_wit(wit::ToolResult::read(lines)) {
        Ok(taken) => {
            let again = result::from_wit(result::to_wit(taken.clone()));
            assert!(again.is_ok_and(|again| again.content == taken.content), "a result changes on the way to a guest and back");
        }
        Err(fault) => assert_fault_is_one_bounded_line(&fault),
    }
}
