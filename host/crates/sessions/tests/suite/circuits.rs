//! Circuits of plugins are kept across restarts.

use std::sync::Arc;

use domain::PluginId;
use domain::circuit::{CircuitRecord, CircuitStore, OpenCircuit};
use domain::ports::PluginKv as _;
use domain::test_support::FakeClock;
use sessions::{SqlitePluginKv, StateDir};

fn record(plugin: &str, hook: &str) -> CircuitRecord {
    CircuitRecord {
        plugin: PluginId::new(plugin),
        hook: hook.to_owned(),
        component: "ab".to_owned(),
        handler: "second".to_owned(),
        failures: 5,
        cause: "trap: unreachable".to_owned(),
        cooldown_ms: 60_000,
        open: Some(OpenCircuit { since: 1, probe_at: 60_001 }),
    }
}

fn store(dir: &tempfile::TempDir) -> SqlitePluginKv {
    SqlitePluginKv::new(&StateDir::new(dir.path()), Arc::new(FakeClock::at(0)))
}

#[tokio::test]
async fn what_was_saved_is_there_after_a_restart_and_gone_after_a_reset() {
    let dir = tempfile::tempdir().unwrap();
    let first = store(&dir);
    let closed = CircuitRecord { open: None, failures: 2, cooldown_ms: 0, ..record("p", "agent_end") };
    for record in [record("p", "before_tool_call"), closed.clone(), record("q", "agent_end")] {
        first.save(record).await.unwrap();
    }
    first.save(CircuitRecord { failures: 6, ..record("p", "before_tool_call") }).await.unwrap();
    first.close().await;

    let second = store(&dir);
    let open = CircuitRecord { failures: 6, ..record("p", "before_tool_call") };
    assert_eq!(second.load().await.unwrap(), [closed, open, record("q", "agent_end")]);
    let plugin = PluginId::new("p");
    assert_eq!(second.forget(&plugin, Some("before_tool_call")).await.unwrap(), 1);
    assert_eq!(second.forget(&plugin, Some("before_tool_call")).await.unwrap(), 0);
    assert_eq!(second.forget(&plugin, None).await.unwrap(), 1);
    assert_eq!(second.load().await.unwrap(), [record("q", "agent_end")]);
}

#[tokio::test]
async fn looking_for_circuits_makes_no_database() {
    let dir = tempfile::tempdir().unwrap();
    let store = store(&dir);
    assert_eq!(store.load().await.unwrap(), []);
    assert_eq!(store.forget(&PluginId::new("p"), None).await.unwrap(), 0);
    assert_eq!(store.get(&PluginId::new("p"), "k").await.unwrap(), None);
    assert_eq!(dir.path().read_dir().unwrap().count(), 0);
}

#[tokio::test]
async fn an_uninstalled_plugin_leaves_no_circuit() {
    let dir = tempfile::tempdir().unwrap();
    let store = store(&dir);
    store.save(record("p", "agent_end")).await.unwrap();
    store.save(record("q", "agent_end")).await.unwrap();
    store.remove_plugin(&PluginId::new("p")).await.unwrap();
    assert_eq!(store.load().await.unwrap(), [record("q", "agent_end")]);
}
