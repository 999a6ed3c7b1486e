//! Host functions from inside a guest: what they answer, and that they keep to the call's deadline.

use std::sync::Arc;
use std::time::Duration;

use domain::PluginId;
use hooks::{Dispatcher, FaultKind, HookId, Scope};
use plugin_host::grant::{Grants, KvGrant, SessionExtensionGrant};
use plugin_host::limits::Limits;
use plugin_host::{PluginHost, ReadyPlugin};

use crate::guest::{GUARD, answer, block, component, component_with, handle, module};
use crate::ports::Memory;
use crate::rig::{SHORT, call, dispatcher, entry, plugin, run, session};

const LOG: &str = r#"(import "creel:plugin/log@0.1.0" "write" (func $write (param i32 i32 i32 i32 i32)))"#;

/// A guard with one more import; `result` is where host functions put what they return.
fn guest(interface: &str, imports: &str, body: &str, items: &str) -> Vec<u8> {
    let world = format!("import creel:plugin/{interface}@0.1.0; export creel:plugin/before-tool-call@0.1.0;");
    let core = module(&format!("{} {items}", handle(GUARD, body))).replacen("(memory", &format!("{imports} (memory"), 1);
    component(&world, &core)
}

fn kv(function: &str, params: &str, body: &str, items: &str) -> ReadyPlugin {
    let imports = format!(r#"(import "creel:plugin/kv@0.1.0" "{function}" (func ${function} (param {params})))"#);
    let grants = Grants { kv: Some(KvGrant { max_bytes: 4, max_keys: 10 }), ..Grants::default() };
    ReadyPlugin { grants, ..plugin("p", guest("kv", &imports, body, items)) }
}

async fn with_memory(plugin: ReadyPlugin) -> (Arc<Memory>, Dispatcher) {
    let (memory, ports) = Memory::ports();
    let loaded = PluginHost::start(plugin_host::HostSettings::default(), vec![plugin], &ports).await.unwrap();
    (memory, dispatcher(loaded))
}

/// Blocks with the first byte of a result: its case. `0`: ok, `1`: an error; behind it, the case of the error.
const SHOW_CASE: &str = "(i32.store8 (i32.const 512) (i32.add (i32.const 48) (i32.load8_u (i32.const 2048))))
    (i32.store8 (i32.const 513) (i32.add (i32.const 48) (i32.load8_u (i32.const 2052))))";

#[tokio::test]
async fn storage_is_written_for_the_plugin_that_calls() {
    let body = format!(
        "(call $set (i32.const 600) (i32.const 3) (i32.const 610) (i32.const 4) (i32.const 0) (i64.const 0) (i32.const 2048))
         {SHOW_CASE} {}",
        block("(i32.const 512)", "(i32.const 1)")
    );
    let data = r#"(data (i32.const 600) "key") (data (i32.const 610) "data")"#;
    let (memory, dispatcher) = with_memory(kv("set", "i32 i32 i32 i32 i32 i64 i32", &body, data)).await;
    assert_eq!(call(&dispatcher, &Scope::default()).await.unwrap().unwrap(), "0");
    assert_eq!(memory.value("p", "key").unwrap(), b"data");
    assert_eq!(memory.value("q", "key"), None);
    assert_eq!(PluginId::new("p").as_str(), "p");
}

#[tokio::test]
async fn a_quota_and_an_empty_key_are_answers() {
    let attempt = |key: u32, value: u32| {
        let body = format!(
            "(call $set (i32.const 600) (i32.const {key}) (i32.const 600) (i32.const {value}) (i32.const 0) (i64.const 0)
                (i32.const 2048))
             {SHOW_CASE} {}",
            block("(i32.const 512)", "(i32.const 2)")
        );
        kv("set", "i32 i32 i32 i32 i32 i64 i32", &body, "")
    };
    // host-error: 2 is `invalid`, 3 is `limit`.
    for (key, value, expected) in [(3, 5, "13"), (0, 1, "12"), (513, 1, "12"), (512, 4, "00")] {
        let (_, dispatcher) = with_memory(attempt(key, value)).await;
        assert_eq!(call(&dispatcher, &Scope::default()).await.unwrap().unwrap(), expected, "{key} {value}");
    }
}

fn get(key: &str) -> ReadyPlugin {
    let length = key.len();
    let body = format!(
        "(call $get (i32.const 600) (i32.const {length}) (i32.const 2048)) {SHOW_CASE} {}",
        block("(i32.const 512)", "(i32.const 2)")
    );
    let mut plugin = kv("get", "i32 i32 i32", &body, &format!(r#"(data (i32.const 600) "{key}")"#));
    plugin.handlers = vec![entry(HookId::BeforeToolCall, SHORT)];
    plugin
}

#[tokio::test]
async fn a_store_that_fails_is_an_answer() {
    let (_, dispatcher) = with_memory(get("fail")).await;
    // host-error: 5 is `unavailable`.
    assert_eq!(call(&dispatcher, &Scope::default()).await.unwrap().unwrap(), "15");
}

#[tokio::test(start_paused = true)]
async fn waiting_for_a_store_ends_with_the_call() {
    let (_, dispatcher) = with_memory(get("wait")).await;
    let fault = call(&dispatcher, &run("r")).await.unwrap_err();
    assert_eq!(fault.kind(), FaultKind::Timeout);
}

#[tokio::test]
async fn a_panic_of_the_host_is_a_fault_and_not_the_end() {
    let (_, dispatcher) = with_memory(get("panic")).await;
    let run = run("r");
    for _ in 0..2 {
        let fault = call(&dispatcher, &run).await.unwrap_err();
        assert_eq!((fault.kind(), fault.text()), (FaultKind::Host, "BUG: the host panicked: the store is broken"));
    }
}

#[tokio::test]
async fn settings_are_the_plugins_own() {
    let import = r#"(import "creel:plugin/config@0.1.0" "get" (func $get (param i32)))"#;
    let body = format!("(call $get (i32.const 2048)) {}", block("(i32.load (i32.const 2048))", "(i32.load (i32.const 2052))"));
    let config = r#"{"deep":{"list":[1]}}"#.to_owned();
    let plugin = ReadyPlugin { config: config.clone(), ..plugin("p", guest("config", import, &body, "")) };
    let (_, dispatcher) = with_memory(plugin).await;
    assert_eq!(call(&dispatcher, &Scope::default()).await.unwrap().unwrap(), config);
}

#[tokio::test]
async fn a_guest_can_ask_for_its_depth_and_the_time_left() {
    let imports = r#"(import "creel:plugin/invocation@0.1.0" "depth" (func $depth (result i32)))
        (import "creel:plugin/invocation@0.1.0" "remaining-ms" (func $left (result i32)))
        (import "creel:plugin/invocation@0.1.0" "is-cancelled" (func $cancelled (result i32)))"#;
    let body = format!(
        "(i32.store8 (i32.const 512) (i32.add (i32.const 48) (call $depth)))
         (i32.store8 (i32.const 513) (i32.add (i32.const 48)
            (i32.and (i32.gt_u (call $left) (i32.const 1000)) (i32.le_u (call $left) (i32.const 60000)))))
         (i32.store8 (i32.const 514) (i32.add (i32.const 48) (call $cancelled)))
         {}",
        block("(i32.const 512)", "(i32.const 3)")
    );
    let mut plugin = plugin("p", guest("invocation", imports, &body, ""));
    plugin.handlers = vec![entry(HookId::BeforeToolCall, Duration::from_secs(60))];
    let (_, dispatcher) = with_memory(plugin).await;
    let scope = Scope { chain: vec![PluginId::new("x"), PluginId::new("y")], ..Scope::default() };
    assert_eq!(call(&dispatcher, &scope).await.unwrap().unwrap(), "210");
}

#[tokio::test]
async fn a_flood_of_log_records_is_cut_and_the_answer_counts() {
    let body = format!(
        "(loop $more
            (call $write (i32.const 2) (i32.const 600) (i32.const 4) (i32.const 0) (i32.const 0))
            (local.set $i (i32.add (local.get $i) (i32.const 1)))
            (br_if $more (i32.lt_u (local.get $i) (i32.const 1000))))
         {}",
        answer(&[])
    );
    let (_, dispatcher) = with_memory(plugin("p", guest("log", LOG, &body, r#"(data (i32.const 600) "spam")"#))).await;
    let captured = crate::logs::Captured::default();
    let _guard = tracing::subscriber::set_default(captured.subscriber());
    assert_eq!(call(&dispatcher, &run("r")).await, Ok(None));
    assert_eq!(call(&dispatcher, &run("r")).await, Ok(None));
    let text = captured.text();
    assert_eq!(text.lines().filter(|line| line.contains("spam")).count(), 128, "64 records for each call");
    // Told once a minute, so that a plugin that floods does not flood by that.
    assert_eq!(text.matches("936 records, 3744 bytes were dropped").count(), 1, "{text}");
    assert!(
        text.contains("plugin=p") && text.contains("hook=\"before_tool_call\"") && text.contains("agent:main:main"),
        "{text}"
    );
}

/// A guard that calls one function of `session-extension` for the namespace `n`.
fn extension(function: &str, params: &str, arguments: &str, data: &str) -> ReadyPlugin {
    let imports = format!(r#"(import "creel:plugin/session-extension@0.1.0" "{function}" (func ${function} (param {params})))"#);
    let body = format!(
        "(call ${function} (i32.const 600) (i32.const 1) {arguments} (i32.const 2048)) {SHOW_CASE} {}",
        block("(i32.const 512)", "(i32.const 2)")
    );
    let data = format!(r#"(data (i32.const 600) "n") (data (i32.const 610) "{data}")"#);
    let grants = Grants { session_extension: Some(SessionExtensionGrant { max_bytes: 8 }), ..Grants::default() };
    ReadyPlugin { grants, ..plugin("p", guest("session-extension", &imports, &body, &data)) }
}

/// Sets a value of `length` bytes.
fn set_extension(data: &str, length: u32) -> ReadyPlugin {
    extension("set", "i32 i32 i32 i32 i32 i32", &format!("(i32.const 1) (i32.const 610) (i32.const {length})"), data)
}

#[tokio::test]
async fn session_values_belong_to_the_session_of_the_call() {
    let (memory, dispatcher) = with_memory(set_extension("[1,2]", 5)).await;
    let other = Scope { session_key: Some(session("other")), ..run("r") };
    assert_eq!(call(&dispatcher, &other).await.unwrap().unwrap(), "00");
    assert_eq!(memory.value("agent:main:other", "n").unwrap(), b"[1,2]");
    assert_eq!(memory.value("agent:main:main", "n"), None);
}

#[tokio::test]
async fn session_values_are_json_bounded_and_need_a_session() {
    // host-error: 1 is `not-found`, 2 `invalid`, 3 `limit`.
    for (data, length, scope, expected) in
        [("[1,2]", 4, run("r"), "12"), ("[1,2,3,4]", 9, run("r"), "13"), ("[1,2]", 5, Scope::default(), "11")]
    {
        let (memory, dispatcher) = with_memory(set_extension(data, length)).await;
        assert_eq!(call(&dispatcher, &scope).await.unwrap().unwrap(), expected, "{data}");
        assert_eq!(memory.value("agent:main:main", "n"), None);
    }
    let (_, dispatcher) = with_memory(extension("get", "i32 i32 i32", "", "")).await;
    assert_eq!(call(&dispatcher, &run("r")).await.unwrap().unwrap(), "00");
}

#[tokio::test]
async fn interfaces_of_other_hooks_answer_unavailable() {
    for (interface, function, params, arguments) in [
        ("tool-authority", "allows", "i32 i32 i32", "(i32.const 600) (i32.const 1) (i32.const 2048)"),
        ("tool-authority", "list-tools", "i32", "(i32.const 2048)"),
        ("ended-transcript", "read-tail", "i32 i32 i32", "(i32.const 1) (i32.const 1) (i32.const 2048)"),
    ] {
        let imports = format!(r#"(import "creel:plugin/{interface}@0.1.0" "{function}" (func $ask (param {params})))"#);
        let body = format!("(call $ask {arguments}) {SHOW_CASE} {}", block("(i32.const 512)", "(i32.const 1)"));
        let (_, dispatcher) = with_memory(plugin("p", guest(interface, &imports, &body, ""))).await;
        assert_eq!(call(&dispatcher, &run("r")).await.unwrap().unwrap(), "1", "{function}");
    }
}

/// The parts of WASI that the guest below imports.
const WASI: &str = "package test:other;
    package wasi:cli@0.2.0 {
        interface environment {
            get-environment: func() -> list<tuple<string, string>>;
            get-arguments: func() -> list<string>;
            initial-cwd: func() -> option<string>;
        }
    }
    package wasi:io@0.2.0 { interface streams { resource output-stream; } }
    package wasi:cli@0.2.1 {
        interface stdout {
            use wasi:io/streams@0.2.0.{output-stream};
            get-stdout: func() -> output-stream;
        }
    }
    package wasi:random@0.2.0 { interface random { get-random-bytes: func(len: u64) -> list<u8>; } }";

fn with_wasi(interface: &str, imports: &str, body: &str) -> Vec<u8> {
    let world = format!("import wasi:{interface}; export creel:plugin/before-tool-call@0.1.0;");
    let core = module(&handle(GUARD, body)).replacen("(memory", &format!("{imports} (memory"), 1);
    component_with(WASI, &world, &core)
}

#[tokio::test]
async fn a_guest_inherits_no_environment_arguments_or_directory() {
    let import = |name: &str| format!(r#"(import "wasi:cli/environment@0.2.0" "{name}" (func ${name} (param i32)))"#);
    let imports = ["get-environment", "get-arguments", "initial-cwd"].map(import).concat();
    // The lengths of both lists and the case of the option, one digit each.
    let digit = |at: u32, word: &str| format!("(i32.store8 (i32.const {at}) (i32.add (i32.const 48) {word}))");
    let body = format!(
        "(call $get-environment (i32.const 2048)) {} (call $get-arguments (i32.const 2048)) {} (call $initial-cwd (i32.const 2048)) {} {}",
        digit(512, "(i32.load (i32.const 2052))"),
        digit(513, "(i32.load (i32.const 2052))"),
        digit(514, "(i32.load8_u (i32.const 2048))"),
        block("(i32.const 512)", "(i32.const 3)")
    );
    let (_, dispatcher) = with_memory(plugin("p", with_wasi("cli/environment@0.2.0", &imports, &body))).await;
    assert_eq!(call(&dispatcher, &run("r")).await.unwrap().unwrap(), "000");
}

#[tokio::test]
async fn random_bytes_are_bounded() {
    let import = r#"(import "wasi:random/random@0.2.0" "get-random-bytes" (func $get (param i64 i32)))"#;
    let asking = |bytes: u32| {
        let body = format!("(drop (memory.grow (i32.const 4))) (call $get (i64.const {bytes}) (i32.const 2048)) {}", answer(&[]));
        plugin("p", with_wasi("random/random@0.2.0", import, &body))
    };
    let (_, dispatcher) = with_memory(asking(65536)).await;
    assert_eq!(call(&dispatcher, &run("r")).await, Ok(None));
    let (_, dispatcher) = with_memory(asking(65537)).await;
    let fault = call(&dispatcher, &run("r")).await.unwrap_err();
    assert_eq!(fault.kind(), FaultKind::Limit, "{fault}");
}

#[tokio::test]
async fn handles_are_bounded() {
    let import = r#"(import "wasi:cli/stdout@0.2.1" "get-stdout" (func $get (result i32)))"#;
    let taking = |handles: u32| {
        let body = format!(
            "(loop $more
                (drop (call $get))
                (local.set $i (i32.add (local.get $i) (i32.const 1)))
                (br_if $more (i32.lt_u (local.get $i) (i32.const {handles}))))
             {}",
            answer(&[])
        );
        plugin("p", with_wasi("cli/stdout@0.2.1", import, &body))
    };
    let limited = |handles| ReadyPlugin { limits: Limits { handles, ..Limits::default() }, ..taking(300) };
    for (plugin, enough) in [(taking(200), true), (taking(300), false), (limited(400), true), (limited(100), false)] {
        let (_, dispatcher) = with_memory(plugin).await;
        match call(&dispatcher, &run("r")).await {
            Ok(answer) => assert!(enough && answer.is_none()),
            Err(fault) => assert!(!enough && fault.kind() == FaultKind::Limit, "{fault}"),
        }
    }
}

#[tokio::test]
async fn core_instances_are_bounded() {
    // What the encoder makes of a guest with imports: the guest, its shims, and the table that joins both.
    let body = format!("(call $write (i32.const 2) (i32.const 600) (i32.const 4) (i32.const 0) (i32.const 0)) {}", answer(&[]));
    for (core_instances, enough) in [(2, false), (3, true)] {
        let limits = Limits { core_instances, ..Limits::default() };
        let (_, dispatcher) = with_memory(ReadyPlugin { limits, ..plugin("p", guest("log", LOG, &body, "")) }).await;
        match call(&dispatcher, &run("r")).await {
            Ok(answer) => assert!(enough && answer.is_none()),
            Err(fault) => assert!(
                !enough && fault.kind() == FaultKind::Limit && fault.text().contains("instance count too high"),
                "{fault}"
            ),
        }
    }
}
