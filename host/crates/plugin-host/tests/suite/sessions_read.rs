//! `sessions-read` from inside a guest: what the host caps, whatever is asked for, and what a grant covers.

use std::sync::Arc;

use hooks::Scope;
use plugin_host::grant::{Grants, Names};
use plugin_host::{PluginHost, ReadyPlugin};

use crate::guest::{GUARD, block, component, handle, module};
use crate::ports::Memory;
use crate::rig::{call, dispatcher, plugin, run};

/// Blocks with the case of the result and, if it is an error, the case of that.
const SHOW_CASE: &str = "(i32.store8 (i32.const 512) (i32.add (i32.const 48) (i32.load8_u (i32.const 2048))))
    (i32.store8 (i32.const 513) (i32.add (i32.const 48) (i32.load8_u (i32.const 2052))))";

/// A guard that calls a function with a text and further arguments.
fn guest(function: &str, params: &str, text: &str, arguments: &str, granted: Names) -> ReadyPlugin {
    let import = format!(r#"(import "creel:plugin/sessions-read@0.1.0" "{function}" (func $read (param {params})))"#);
    let body = format!(
        "(call $read (i32.const 600) (i32.const {}) {arguments} (i32.const 2048)) {SHOW_CASE} {}",
        text.len(),
        block("(i32.const 512)", "(i32.const 2)")
    );
    let items = format!(r#"{} (data (i32.const 600) "{text}")"#, handle(GUARD, &body));
    let core = module(&items).replacen("(memory", &format!("{import} (memory"), 1);
    let world = "import creel:plugin/sessions-read@0.1.0; export creel:plugin/before-tool-call@0.1.0;";
    let grants = Grants { sessions_read: Some(granted), ..Grants::default() };
    ReadyPlugin { grants, ..plugin("p", component(world, &core)) }
}

fn tail(key: &str, messages: u32, bytes: u32, granted: Names) -> ReadyPlugin {
    let arguments = format!("(i32.const {}) (i32.const {})", messages.cast_signed(), bytes.cast_signed());
    guest("read-tail", "i32 i32 i32 i32 i32", key, &arguments, granted)
}

async fn answer(plugin: ReadyPlugin, scope: &Scope) -> (Arc<Memory>, String) {
    let (memory, ports) = Memory::ports();
    let loaded = PluginHost::start(plugin_host::HostSettings::default(), vec![plugin], &ports).await.unwrap();
    let answer = call(&dispatcher(loaded), scope).await.unwrap().unwrap();
    (memory, answer)
}

fn main_only() -> Names {
    Names::Only(["main".to_owned()].into())
}

#[tokio::test]
async fn the_host_caps_a_tail_whatever_the_guest_asks_for() {
    for (messages, bytes, asked) in [(u32::MAX, u32::MAX, "1000 4194304"), (7, 70, "7 70")] {
        let (memory, answer) = answer(tail("main", messages, bytes, Names::All), &run("r")).await;
        assert!(answer.starts_with('0'), "{answer}");
        assert_eq!(memory.value("tail", "last").unwrap(), asked.as_bytes());
    }
}

#[tokio::test]
async fn refusals_are_answers_and_name_no_file() {
    // host-error: 0 is `denied`, 1 `not-found`, 2 `invalid`, 5 `unavailable`.
    for (key, messages, granted, expected) in [
        ("agent:main:main", 1, main_only(), "00"),
        ("agent:ops:main", 1, main_only(), "10"),
        ("agent:main:gone", 1, main_only(), "11"),
        ("agent:main:main", 0, main_only(), "12"),
        ("agent::", 1, main_only(), "12"),
        ("agent:main:broken", 1, main_only(), "15"),
        ("agent:main:main", 1, Names::Only(Arc::default()), "10"),
    ] {
        let (memory, answer) = answer(tail(key, messages, 1, granted), &run("r")).await;
        assert_eq!(answer.split_at(1).0, expected.split_at(1).0, "{key}");
        if expected.starts_with('1') {
            assert_eq!(answer, expected, "{key}");
            assert_eq!(memory.value("tail", "last"), None);
        }
    }
}

#[tokio::test]
async fn a_session_is_found_also_outside_a_run() {
    let (_, answer) = answer(guest("get-session", "i32 i32 i32", "main", "", main_only()), &Scope::default()).await;
    assert!(answer.starts_with('0'), "{answer}");
}
