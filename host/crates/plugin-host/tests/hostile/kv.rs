//! Guests that fill their key-value storage, here the one that hosts use, on a disk. The quota holds; what is above is an answer that the
//! guest can read.

use std::sync::Arc;
use std::time::Duration;

use domain::PluginId;
use domain::ports::{KvLimits, PluginKv};
use domain::test_support::FakeClock;
use hooks::FaultKind::Timeout;
use plugin_host::Ports;
use plugin_host::grant::{Grants, KvGrant};
use sessions::{SqlitePluginKv, StateDir};
use tempfile::TempDir;

use crate::guest::block;
use crate::hostile::{Hostile, ID};
use crate::ports::Memory;
use crate::trial::Trial;

/// What the operator granted, in bytes.
const QUOTA: u64 = 20_000;

/// Keys that the operator granted.
const KEYS: u64 = 50;

const SET: &str = r#"(import "creel:plugin/kv@0.1.0" "set" (func $set (param i32 i32 i32 i32 i32 i64 i32)))"#;

/// Sets a key of two letters, another one for each `$i`, to so many bytes.
fn set_next(bytes: u32) -> String {
    format!(
        "(i32.store8 (i32.const 600) (i32.add (i32.const 65) (i32.rem_u (local.get $i) (i32.const 26))))
         (i32.store8 (i32.const 601) (i32.add (i32.const 65) (i32.rem_u (i32.div_u (local.get $i) (i32.const 26)) (i32.const 26))))
         (call $set (i32.const 600) (i32.const 2) (i32.const 8192) (i32.const {bytes}) (i32.const 0) (i64.const 0) (i32.const 2048))
         (local.set $i (i32.add (local.get $i) (i32.const 1)))"
    )
}

/// Blocks with the case of the last answer and, if it was an error, the case of that. `13`: an error, a limit.
fn showing_the_last() -> String {
    format!(
        "(i32.store8 (i32.const 512) (i32.add (i32.const 48) (i32.load8_u (i32.const 2048))))
         (i32.store8 (i32.const 513) (i32.add (i32.const 48) (i32.load8_u (i32.const 2052)))) {}",
        block("(i32.const 512)", "(i32.const 2)")
    )
}

fn storing(body: &str) -> Hostile {
    let grants = Grants { kv: Some(KvGrant { max_bytes: QUOTA, max_keys: KEYS }), ..Grants::default() };
    Hostile::new(body).gate_only().importing("kv", SET).granted(grants).within(Duration::from_secs(20))
}

/// A storage on a disk.
struct Disk {
    kv: Arc<SqlitePluginKv>,
    _dir: TempDir,
}

impl Disk {
    fn new() -> Self {
        let dir = TempDir::new().unwrap();
        Self { kv: Arc::new(SqlitePluginKv::new(&StateDir::new(dir.path()), Arc::new(FakeClock::at(1_000)))), _dir: dir }
    }

    async fn tries(&self, hostile: &Hostile) -> Trial {
        hostile.tried_with(&Ports { kv: self.kv.clone(), ..Memory::ports().1 }).await
    }

    /// Keys of the hostile plugin, and bytes of them and their values.
    async fn stored(&self) -> (u64, u64) {
        let plugin = PluginId::new(ID);
        let page = self.kv.list_keys(&plugin, "", None, 1000).await.unwrap();
        assert!(page.cursor.is_none());
        let mut bytes = 0;
        for key in &page.keys {
            bytes += key.len() + self.kv.get(&plugin, key).await.unwrap().unwrap().len();
        }
        (page.keys.len() as u64, bytes as u64)
    }
}

#[tokio::test]
async fn flood_of_values() {
    let disk = Disk::new();
    let body =
        format!("(loop $more {} (br_if $more (i32.lt_u (local.get $i) (i32.const 40)))) {}", set_next(1000), showing_the_last());
    let trial = disk.tries(&storing(&body)).await;
    assert_eq!(trial.ask_the_gate().await.unwrap().unwrap(), "13");
    let (_, bytes) = disk.stored().await;
    assert!((QUOTA - 2000..=QUOTA).contains(&bytes), "{bytes}");
    trial.is_as_before();
}

#[tokio::test]
async fn flood_of_keys() {
    let disk = Disk::new();
    let body =
        format!("(loop $more {} (br_if $more (i32.lt_u (local.get $i) (i32.const 90)))) {}", set_next(1), showing_the_last());
    let trial = disk.tries(&storing(&body)).await;
    assert_eq!(trial.ask_the_gate().await.unwrap().unwrap(), "13");
    assert_eq!(disk.stored().await, (KEYS, 3 * KEYS));
    trial.is_as_before();
}

#[tokio::test]
async fn flood_without_end() {
    let disk = Disk::new();
    let body = format!("(loop $again {} (br $again)) unreachable", set_next(1000));
    // Refusals come with a text each; all of them go to one place, so that it is the time that runs out.
    let hostile = storing(&body).allocating("(i32.const 65536)").within(Duration::from_millis(400));
    let trial = disk.tries(&hostile).await;
    assert_eq!(trial.ask_the_gate().await.unwrap_err().kind(), Timeout);
    trial.names_it_in_one_line("before_tool_call");
    assert!(disk.stored().await.1 <= QUOTA);
    trial.is_as_before();
}

#[tokio::test]
async fn value_of_megabytes() {
    let disk = Disk::new();
    let body = format!("(drop (memory.grow (i32.const 100))) {} {}", set_next(6_000_000), showing_the_last());
    let trial = disk.tries(&storing(&body)).await;
    assert_eq!(trial.ask_the_gate().await.unwrap().unwrap(), "13");
    assert_eq!(disk.stored().await, (0, 0));
    trial.is_as_before();
}

#[tokio::test]
async fn key_of_megabytes() {
    let disk = Disk::new();
    for bytes in [0, 513, 6_000_000] {
        let body = format!(
            "(drop (memory.grow (i32.const 100))) (memory.fill (i32.const 8192) (i32.const 97) (i32.const {bytes}))
             (call $set (i32.const 8192) (i32.const {bytes}) (i32.const 600) (i32.const 1) (i32.const 0) (i64.const 0) (i32.const 2048)) {}",
            showing_the_last()
        );
        let trial = disk.tries(&storing(&body)).await;
        // An error, invalid.
        assert_eq!(trial.ask_the_gate().await.unwrap().unwrap(), "12", "{bytes}");
        trial.is_as_before();
    }
    assert_eq!(disk.stored().await, (0, 0));
}

#[tokio::test]
async fn key_of_another_plugin() {
    // Keys are nothing but text: none leads into the storage of somebody else.
    let disk = Disk::new();
    let good = PluginId::new("good");
    disk.kv.set(&good, "k", b"mine", None, KvLimits { max_bytes: QUOTA, max_keys: KEYS }).await.unwrap();
    for key in ["k", "good/k", "../good/k", "good\\00k", "'; DELETE FROM plugin_kv; --", "%"] {
        let length = key.replace("\\00", "0").len();
        let body = format!(
            "(call $set (i32.const 600) (i32.const {length}) (i32.const 700) (i32.const 3) (i32.const 0) (i64.const 0) (i32.const 2048)) {}",
            showing_the_last()
        );
        let hostile = storing(&body).with(&format!(r#"(data (i32.const 600) "{key}") (data (i32.const 700) "bad")"#));
        let trial = disk.tries(&hostile).await;
        assert_eq!(trial.ask_the_gate().await.unwrap().unwrap(), "00", "{key}");
        assert_eq!(disk.kv.get(&good, "k").await.unwrap().unwrap(), b"mine", "{key}");
    }
    assert_eq!(disk.kv.list_keys(&good, "", None, 10).await.unwrap().keys, ["k"]);
    assert_eq!(disk.stored().await.0, 6);
}
