//! Plugins that are loaded again while they serve.

use std::sync::Arc;

use hooks::{DispatchBudgets, Dispatcher, FaultKind};
use plugin_host::grant::{Grants, KvGrant};
use plugin_host::{HostSettings, LoadedPlugins, PluginHost, ReadyPlugin, Served, Serves};

use crate::guest::{block, counter, guard};
use crate::ports::Memory;
use crate::rig::{call, plugin, run};

fn host() -> PluginHost {
    PluginHost::new(HostSettings::default(), &Memory::ports().1).expect("an engine")
}

async fn load(host: &PluginHost, plugins: Vec<ReadyPlugin>, before: &Served) -> LoadedPlugins {
    host.load(plugins, DispatchBudgets::default(), before).await
}

/// A guard that blocks each call with a word.
fn blocks(id: &str, word: &str) -> ReadyPlugin {
    let text: String =
        word.bytes().enumerate().map(|(at, byte)| format!("(i32.store8 (i32.const {}) (i32.const {byte}))", 512 + at)).collect();
    plugin(id, guard(&format!("{text} {}", block("(i32.const 512)", &format!("(i32.const {})", word.len())))))
}

/// A component that is none.
fn broken(id: &str) -> ReadyPlugin {
    let whole = plugin(id, counter());
    let half: Arc<[u8]> = whole.component[..whole.component.len() / 2].into();
    ReadyPlugin { digest: [7; 32], component: half, ..whole }
}

fn serves(loaded: &LoadedPlugins) -> Vec<Serves> {
    loaded.reports.iter().map(|report| report.serves).collect()
}

fn dispatcher(loaded: LoadedPlugins) -> (Dispatcher, Served) {
    (Dispatcher::new(Arc::new(loaded.registry)), loaded.served)
}

async fn word(dispatcher: &Dispatcher, run_id: &str) -> Option<String> {
    call(dispatcher, &run(run_id)).await.unwrap()
}

#[tokio::test]
async fn new_runs_get_the_new_one_and_a_run_keeps_its_own() {
    let host = host();
    let first = load(&host, vec![plugin("a", counter())], &Served::default()).await;
    assert_eq!(serves(&first), [Serves::Added]);
    let (before, served) = dispatcher(first);
    let scope = run("old");
    assert_eq!(call(&before, &scope).await.unwrap().as_deref(), Some("a"));

    let second = load(&host, vec![blocks("a", "new")], &served).await;
    assert_eq!(serves(&second), [Serves::Replaced]);
    let (after, _) = dispatcher(second);
    assert_eq!(word(&after, "new").await.as_deref(), Some("new"));
    // The second call of the instance that the run had before.
    assert_eq!(call(&before, &scope).await.unwrap().as_deref(), Some("b"));
}

#[tokio::test]
async fn what_has_not_changed_goes_on_with_its_instances() {
    let host = host();
    let (before, served) = dispatcher(load(&host, vec![plugin("a", counter())], &Served::default()).await);
    let scope = run("r");
    call(&before, &scope).await.unwrap();
    // Only the digest says which component it is: the bytes are not read again.
    let same = ReadyPlugin { component: Arc::default(), ..plugin("a", counter()) };
    let loaded = load(&host, vec![same, blocks("b", "other")], &served).await;
    assert_eq!(serves(&loaded), [Serves::Unchanged, Serves::Added]);
    let (after, _) = dispatcher(loaded);
    assert_eq!(call(&after, &scope).await.unwrap().as_deref(), Some("b"), "the instance of the run, called once before");
}

#[tokio::test]
async fn each_thing_that_calls_find_makes_another_plugin_of_it() {
    let host = host();
    let served = load(&host, vec![plugin("a", counter())], &Served::default()).await.served;
    let same = || plugin("a", counter());
    let mut limits = same().limits;
    limits.max_instances += 1;
    let kv = Grants { kv: Some(KvGrant { max_bytes: 1, max_keys: 1 }), ..Grants::default() };
    for changed in [
        ReadyPlugin { config: r#"{"x":1}"#.to_owned(), ..same() },
        ReadyPlugin { limits, ..same() },
        ReadyPlugin { grants: kv, ..same() },
        ReadyPlugin { lifetime: plugin_host::manifest::Lifetime::Call, ..same() },
    ] {
        assert_eq!(serves(&load(&host, vec![changed.clone()], &served).await), [Serves::Replaced], "{changed:?}");
    }
    assert_eq!(serves(&load(&host, vec![same()], &served).await), [Serves::Unchanged]);
}

#[tokio::test]
async fn of_what_does_not_start_the_one_before_goes_on() {
    let host = host();
    let served = load(&host, vec![blocks("a", "first")], &Served::default()).await.served;
    let loaded = load(&host, vec![broken("a"), broken("b")], &served).await;
    assert_eq!(serves(&loaded), [Serves::Before, Serves::Not]);
    assert!(loaded.reports.iter().all(|report| report.error.is_some()));
    let (after, served) = dispatcher(loaded);
    assert_eq!(word(&after, "r").await.as_deref(), Some("first"));
    // And once more, because it is what serves.
    assert_eq!(serves(&load(&host, vec![broken("a")], &served).await), [Serves::Before]);
}

#[tokio::test]
async fn with_other_grants_the_one_before_does_not_go_on() {
    let host = host();
    let kv = Grants { kv: Some(KvGrant { max_bytes: 1, max_keys: 1 }), ..Grants::default() };
    let granted = ReadyPlugin { grants: kv, ..plugin("a", counter()) };
    let served = load(&host, vec![granted], &Served::default()).await.served;
    let mut loaded = load(&host, vec![broken("a")], &served).await;
    assert_eq!(serves(&loaded), [Serves::Not]);
    loaded.reports[0].required = true;
    assert!(loaded.failed_required().is_some());
    let (after, _) = dispatcher(loaded);
    assert_eq!(word(&after, "r").await, None);
}

#[tokio::test]
async fn what_is_not_there_any_more_ends_for_new_runs() {
    let host = host();
    let (before, served) = dispatcher(load(&host, vec![plugin("a", guard("(unreachable)"))], &Served::default()).await);
    let (after, served) = dispatcher(load(&host, Vec::<ReadyPlugin>::new(), &served).await);
    assert_eq!((word(&after, "r").await, served.ids().count()), (None, 0));
    assert_eq!(call(&before, &run("old")).await.unwrap_err().kind(), FaultKind::Trap);
}
