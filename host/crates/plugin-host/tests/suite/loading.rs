//! What does not load says why, in a sentence, and leaves the others alone.

use std::sync::{Arc, Mutex};

use hooks::access::Access;
use hooks::{HookId, Scope};
use plugin_host::grant::{Grants, KvGrant};
use plugin_host::{HostSettings, LoadStep, ReadyPlugin, StartError};

use crate::guest::{self, GUARD, answer, component, component_of, guard, handle, module};
use crate::rig::{call, dispatcher, entry, load, load_with, plugin};

async fn error_of(plugin: ReadyPlugin) -> StartError {
    load(vec![plugin]).await.reports.remove(0).error.expect("it does not load")
}

#[tokio::test]
async fn an_import_that_was_not_granted_is_not_there_whoever_checked_before() {
    let world = "import creel:plugin/kv@0.1.0; export creel:plugin/before-tool-call@0.1.0;";
    let import = r#"(import "creel:plugin/kv@0.1.0" "delete" (func (param i32 i32 i32)))"#;
    let core = module(&handle(GUARD, &answer(&[]))).replacen("(memory", &format!("{import} (memory"), 1);
    let guest = component(world, &core);
    let error = error_of(plugin("p", guest.clone())).await;
    assert!(matches!(error, StartError::Link(_)) && error.to_string().contains("creel:plugin/kv@0.1.0"), "{error}");
    let grants = Grants { kv: Some(KvGrant { max_bytes: 1, max_keys: 10 }), ..Grants::default() };
    assert!(load(vec![ReadyPlugin { grants, ..plugin("p", guest) }]).await.reports[0].error.is_none());
}

#[tokio::test]
async fn an_export_of_another_type_is_named_with_both_shapes() {
    let contract =
        "package creel:plugin@0.1.0; interface before-tool-call { handle: func(handler: string) -> result<_, string>; }";
    let core = module(
        r#"(func (export "creel:plugin/before-tool-call@0.1.0#handle") (param i32 i32) (result i32) unreachable)
           (func $never unreachable) (start $never)"#,
    );
    let error = error_of(plugin("p", component_of(contract, "export creel:plugin/before-tool-call@0.1.0;", &core))).await;
    assert!(matches!(error, StartError::Misfit(_)), "{error}");
    let text = error.to_string();
    assert!(text.starts_with("its export `creel:plugin/before-tool-call@0.1.0` does not fit: in `handle`, "), "{text}");
    assert!(text.contains("expected 3") && text.contains("found 1"), "{text}");
}

#[tokio::test]
async fn an_entry_without_an_export_is_refused() {
    let entries = vec![entry(HookId::AgentEnd, std::time::Duration::from_secs(1))];
    let text = error_of(ReadyPlugin { handlers: entries, ..plugin("p", guard(&answer(&[]))) }).await.to_string();
    assert!(text.starts_with("its export `creel:plugin/agent-end@0.1.0` does not fit: it is not there"), "{text}");
}

#[tokio::test]
async fn a_function_body_that_is_not_valid_does_not_compile() {
    let mut component = guard(&answer(&[(4, "(i32.const 4242)")]));
    let at = component.windows(3).position(|bytes| bytes == [0x41, 0x92, 0x21]).expect("the constant");
    // An `i32.const` becomes an `i64.const`.
    component[at] = 0x42;
    let error = error_of(plugin("p", component)).await;
    assert!(matches!(error, StartError::Compile(_)), "{error}");
}

#[tokio::test]
async fn one_that_does_not_load_stops_nobody_and_a_required_one_is_flagged() {
    let bad = || {
        let entries = vec![entry(HookId::AgentEnd, std::time::Duration::from_secs(1))];
        ReadyPlugin { handlers: entries, ..plugin("bad", guard(&answer(&[]))) }
    };
    let loaded = load(vec![bad(), plugin("good", guest::counter())]).await;
    assert!(loaded.failed_required().is_none());
    assert_eq!(loaded.reports[1].hooks, [HookId::BeforeToolCall]);
    let dispatcher = hooks::Dispatcher::new(Arc::new(loaded.registry));
    assert_eq!(call(&dispatcher, &Scope::default()).await.unwrap().unwrap(), "a");

    let required = ReadyPlugin { access: Access { required: true, ..Access::default() }, ..bad() };
    let loaded = load(vec![required]).await;
    assert_eq!(loaded.failed_required().unwrap().plugin.as_str(), "bad");
}

/// Settings of hosts that keep compiled code in one directory, and count how often they compile.
fn sharing(directory: &std::path::Path, compiled: &Arc<Mutex<u32>>) -> HostSettings {
    let compiled = Arc::clone(compiled);
    HostSettings {
        cache_directory: Some(directory.join("code")),
        progress: Some(Arc::new(move |step: LoadStep<'_>| {
            if let LoadStep::CompileFinished { plugin, .. } = step {
                assert_eq!(plugin.as_str(), "p");
                *compiled.lock().unwrap() += 1;
            }
        })),
        ..HostSettings::default()
    }
}

#[tokio::test]
async fn hosts_that_start_at_once_compile_a_plugin_once() {
    let directory = tempfile::tempdir().unwrap();
    let compiled = Arc::new(Mutex::new(0));
    let start = || load_with(sharing(directory.path(), &compiled), vec![plugin("p", guest::counter())]);
    let (first, second, third) = tokio::join!(start(), start(), start());
    for loaded in [first, second, third] {
        assert_eq!(call(&dispatcher(loaded), &Scope::default()).await.unwrap().unwrap(), "a");
    }
    assert_eq!(*compiled.lock().unwrap(), 1);
}

#[tokio::test]
async fn compiled_code_is_kept_and_used_by_the_next_host() {
    let directory = tempfile::tempdir().unwrap();
    let compiled = Arc::new(Mutex::new(0));
    let settings = || sharing(directory.path(), &compiled);
    for _ in 0..3 {
        let dispatcher = dispatcher(load_with(settings(), vec![plugin("p", guest::counter())]).await);
        assert_eq!(call(&dispatcher, &Scope::default()).await.unwrap().unwrap(), "a");
    }
    assert_eq!(*compiled.lock().unwrap(), 1);

    // A damaged entry is compiled again, and good afterwards.
    let entry = std::fs::read_dir(directory.path().join("code")).unwrap().map(|entry| entry.unwrap().path());
    let entry = entry.into_iter().find(|path| path.extension().is_some_and(|it| it == "code")).unwrap();
    std::fs::write(&entry, b"\x7fELF nonsense").unwrap();
    for _ in 0..2 {
        let dispatcher = dispatcher(load_with(settings(), vec![plugin("p", guest::counter())]).await);
        assert_eq!(call(&dispatcher, &Scope::default()).await.unwrap().unwrap(), "a");
    }
    assert_eq!(*compiled.lock().unwrap(), 2);
}
