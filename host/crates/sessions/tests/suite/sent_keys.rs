//! Keys of messages that plugins sent.

use std::sync::Arc;

use domain::PluginId;
use domain::ports::{SentKeys, StateError};
use domain::test_support::FakeClock;
use sessions::{MAX_SENT_KEY_BYTES, MAX_SENT_KEYS, SqlitePluginKv, StateDir};
use tempfile::TempDir;

struct Scratch {
    dir: TempDir,
    clock: Arc<FakeClock>,
    keys: SqlitePluginKv,
}

impl Scratch {
    fn new() -> Self {
        let (dir, clock) = (TempDir::new().unwrap(), Arc::new(FakeClock::at(1_000)));
        let keys = SqlitePluginKv::new(&StateDir::new(dir.path()), Arc::<FakeClock>::clone(&clock));
        Self { dir, clock, keys }
    }

    async fn claim(&self, key: &str) -> bool {
        self.keys.claim(&p(), key, 100).await.unwrap()
    }

    fn sql(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(StateDir::new(self.dir.path()).state_database()).unwrap()
    }
}

fn p() -> PluginId {
    PluginId::new("p")
}

#[tokio::test]
async fn a_key_is_claimed_once_until_its_time_is_up_or_it_is_given_back() {
    let mut scratch = Scratch::new();
    assert!(scratch.claim("k").await);
    assert!(!scratch.claim("k").await);
    assert!(scratch.keys.claim(&PluginId::new("q"), "k", 100).await.unwrap(), "each plugin has keys of its own");
    scratch.keys.close().await;
    scratch.keys = SqlitePluginKv::new(&StateDir::new(scratch.dir.path()), Arc::<FakeClock>::clone(&scratch.clock));
    assert!(!scratch.claim("k").await, "also after a restart");
    scratch.clock.advance(99);
    assert!(!scratch.claim("k").await);
    scratch.clock.advance(1);
    assert!(scratch.claim("k").await);
    scratch.keys.release(&p(), "k").await.unwrap();
    scratch.keys.release(&p(), "never claimed").await.unwrap();
    assert!(scratch.claim("k").await);
}

#[tokio::test]
async fn keys_have_1_to_512_bytes() {
    let scratch = Scratch::new();
    assert!(scratch.claim(&"k".repeat(MAX_SENT_KEY_BYTES)).await);
    for bad in [String::new(), "k".repeat(MAX_SENT_KEY_BYTES + 1)] {
        assert!(matches!(scratch.keys.claim(&p(), &bad, 1).await, Err(StateError::Invalid(_))));
    }
}

#[tokio::test]
async fn a_plugin_holds_a_bounded_number_of_keys_and_old_ones_go() {
    let scratch = Scratch::new();
    assert!(scratch.claim("first").await);
    let mut sql = scratch.sql();
    let tx = sql.transaction().unwrap();
    for n in 1..MAX_SENT_KEYS {
        tx.execute("INSERT INTO plugin_sent_keys VALUES ('p', ?1, 1100)", [n.to_string()]).unwrap();
    }
    tx.commit().unwrap();
    assert!(matches!(scratch.keys.claim(&p(), "one more", 100).await, Err(StateError::Limit(_))));
    assert!(scratch.keys.claim(&PluginId::new("q"), "one more", 100).await.unwrap());
    scratch.clock.advance(100);
    assert!(scratch.claim("one more").await);
    let left: u32 = sql.query_row("SELECT count(*) FROM plugin_sent_keys", [], |row| row.get(0)).unwrap();
    assert!(left < MAX_SENT_KEYS - 10, "those whose time is up go a few at a time: {left}");
}

#[tokio::test]
async fn an_uninstalled_plugin_leaves_no_keys() {
    let scratch = Scratch::new();
    assert!(scratch.claim("k").await);
    scratch.keys.remove_plugin(&p()).await.unwrap();
    assert!(scratch.claim("k").await);
}
