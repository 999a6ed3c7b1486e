//! The fake host as plugins meet it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use super::{Host, Level, Message};
use crate::{HostError, ToolOutcome, ToolResult};
use crate::{config, ended_transcript, invocation, kv, log, messages, progress, session, sessions, tool_authority, tools};
use serde_json::json;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::time::Duration;

#[test]
fn without_a_host_the_message_says_what_to_do() {
    let panic = catch_unwind(|| kv::get::<u32>("k")).unwrap_err();
    let text = panic.downcast_ref::<String>().unwrap();
    assert!(text.contains("`kv::get`"), "{text}");
    assert!(text.contains("testing::Host::new().run"), "{text}");
}

#[test]
fn a_panic_inside_leaves_no_host_behind() {
    let host = Host::new();
    catch_unwind(AssertUnwindSafe(|| host.run(|| panic!("handler")))).unwrap_err();
    assert!(catch_unwind(invocation::depth).is_err());
}

#[test]
fn hosts_nest() {
    let (outer, inner) = (Host::new().depth(1), Host::new().depth(2));
    outer.run(|| {
        assert_eq!(inner.run(invocation::depth), 2);
        assert_eq!(invocation::depth(), 1);
    });
}

#[test]
fn settings_are_parsed_once_per_host() {
    let host = Host::new().config(json!(["a"]));
    host.run(|| {
        let first = config::<Vec<String>>().unwrap();
        assert!(Rc::ptr_eq(&first, &config::<Vec<String>>().unwrap()));
    });
    let other = Host::new().config(json!(["b"]));
    assert_eq!(*other.run(config::<Vec<String>>).unwrap(), ["b"]);
}

#[test]
fn settings_of_another_shape_are_an_error() {
    let error = Host::new().run(config::<Vec<String>>).unwrap_err();
    assert!(error.to_string().starts_with("settings of the plugin: invalid type"), "{error}");
}

#[test]
fn records_keep_level_text_and_fields() {
    let host = Host::new();
    host.run(|| {
        log::trace!("plain");
        log::error!(tool = "exec", code = 2; "failed after {} s", 3);
    });
    let logs = host.logs();
    assert_eq!((logs[0].level, logs[0].message.as_str()), (Level::Trace, "plain"));
    assert_eq!(logs[1].message, "failed after 3 s");
    let fields = [("tool".to_owned(), "exec".to_owned()), ("code".to_owned(), "2".to_owned())];
    assert_eq!(logs[1].fields, fields);
}

#[test]
fn a_call_knows_its_time_and_its_end() {
    let host = Host::new().remaining(Duration::from_millis(250));
    assert_eq!(host.run(invocation::remaining), Duration::from_millis(250));
    assert!(!host.run(invocation::is_cancelled));
    host.cancel();
    assert!(host.run(invocation::is_cancelled));
}

#[test]
fn session_values_live_in_a_session_only() {
    let host = Host::new();
    host.run(|| session::set("ns", &7)).unwrap();
    assert_eq!(host.session_value::<u32>("ns"), Some(7));
    assert_eq!(host.run(|| session::get::<u32>("ns")), Ok(Some(7)));
    host.run(|| session::remove("ns")).unwrap();
    assert_eq!(host.session_value::<u32>("ns"), None);
    let outside = Host::new().without_session();
    assert!(matches!(outside.run(|| session::get::<u32>("ns")), Err(HostError::NotFound(_))));
}

#[test]
fn partial_results_are_kept_in_order() {
    let host = Host::new();
    host.run(|| {
        progress::update(&ToolResult::text("1"));
        progress::update(&ToolResult::text("2"));
    });
    assert_eq!(host.progress(), [ToolResult::text("1"), ToolResult::text("2")]);
}

#[test]
fn authority_answers_in_its_phase_only() {
    let host = Host::new();
    assert!(matches!(host.run(|| tool_authority::allows("exec")), Err(HostError::Unavailable(_))));
    assert!(!host.run(tool_authority::is_active));
    let host = Host::new().allowed_tools(["read"]);
    assert_eq!(host.run(|| tool_authority::allows("exec")), Ok(false));
    assert_eq!(host.run(tool_authority::tools), Ok(vec!["read".to_owned()]));
}

#[test]
fn messages_are_kept_and_need_text() {
    let host = Host::new();
    host.run(|| {
        messages::send(Message::text("one").to("ops")).unwrap();
        assert!(matches!(messages::send(Message::text(" ")), Err(HostError::Invalid(_))));
    });
    assert_eq!(host.messages(), [Message::text("one").to("ops")]);
    let refused = Host::new().without_messages().run(|| messages::send(Message::text("one")));
    assert!(matches!(refused, Err(HostError::Denied(_))));
}

#[test]
fn sessions_are_listed_found_and_read() {
    let message = json!({ "role": "user", "content": "hi" });
    let host = Host::new().session("agent:main:main", &[message.clone(), message]).session("agent:ops:a", &[]);
    host.run(|| {
        let of = |agent: &str| sessions::Filter { agent_id: Some(agent.to_owned()), ..sessions::Filter::default() };
        assert_eq!(sessions::list(&sessions::Filter::default()).unwrap().len(), 2);
        assert_eq!(sessions::list(&of("ops")).unwrap()[0].session_key, "agent:ops:a");
        assert_eq!(sessions::get("agent:main:main").unwrap().unwrap().agent_id, "main");
        assert_eq!(sessions::get("agent:main:other"), Ok(None));
        let tail = sessions::read_tail("agent:main:main", 1, 1000).unwrap();
        assert_eq!((tail.messages.len(), tail.total_messages, tail.truncated), (1, 2, true));
        assert!(matches!(sessions::read_tail("agent:main:other", 1, 1), Err(HostError::NotFound(_))));
    });
}

#[test]
fn tools_answer_if_they_are_granted() {
    let host = Host::new().tool("read", ToolResult::text("text"));
    host.run(|| {
        assert_eq!(tools::names(), ["read"]);
        let invoked = tools::invoke("read", &json!({ "path": "a" })).unwrap();
        assert_eq!((invoked.outcome, invoked.text().as_str()), (ToolOutcome::Ok, "text"));
        assert!(matches!(tools::invoke("exec", &json!({})), Err(HostError::Denied(_))));
        assert!(matches!(tools::invoke("read", &json!(["a"])), Err(HostError::Invalid(_))));
    });
    assert_eq!(host.invoked(), [("read".to_owned(), json!({ "path": "a" }))]);
}

#[test]
fn the_tail_is_cut_by_number_and_by_size() {
    let message = |text: &str| json!({ "role": "user", "content": text });
    let host = Host::new().ended_transcript(&[message("a"), message("b"), message("c")]);
    let tail = host.run(|| ended_transcript::read_tail(2, 1000)).unwrap();
    let texts: Vec<_> = tail.messages.iter().map(crate::Message::text).collect();
    assert_eq!(texts, ["b", "c"]);
    assert_eq!((tail.total_messages, tail.truncated), (3, true));
    let size = u32::try_from(message("c").to_string().len()).unwrap();
    let tail = host.run(|| ended_transcript::read_tail(10, size)).unwrap();
    assert_eq!(tail.messages.len(), 1);
    assert!(matches!(host.run(|| ended_transcript::read_tail(0, 1)), Err(HostError::Invalid(_))));
    let elsewhere = Host::new().run(|| ended_transcript::read_tail(1, 1));
    assert!(matches!(elsewhere, Err(HostError::Unavailable(_))));
}
