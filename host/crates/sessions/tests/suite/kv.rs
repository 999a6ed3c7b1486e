//! Key-value state of plugins.

use std::sync::Arc;

use domain::ids::PluginId;
use domain::ports::{KeyPage, KvLimits, PluginKv, StateError};
use domain::test_support::FakeClock;
use sessions::{MAX_KEY_BYTES, MAX_PAGE_KEYS, SqlitePluginKv, StateDir};
use tempfile::TempDir;

const QUOTA: KvLimits = bytes(1_000_000);

/// So many bytes in as many keys as one likes.
const fn bytes(max_bytes: u64) -> KvLimits {
    KvLimits { max_bytes, max_keys: u64::MAX }
}

struct Scratch {
    dir: TempDir,
    clock: Arc<FakeClock>,
    kv: SqlitePluginKv,
}

impl Scratch {
    fn new() -> Self {
        let dir = TempDir::new().unwrap();
        let clock = Arc::new(FakeClock::at(1_000));
        let kv = SqlitePluginKv::new(&StateDir::new(dir.path()), Arc::<FakeClock>::clone(&clock));
        Self { dir, clock, kv }
    }

    async fn set(&self, key: &str, value: &str) {
        self.kv.set(&p(), key, value.as_bytes(), None, QUOTA).await.unwrap();
    }

    async fn set_for(&self, key: &str, value: &str, ttl_ms: u64) {
        self.kv.set(&p(), key, value.as_bytes(), Some(ttl_ms), QUOTA).await.unwrap();
    }

    async fn get(&self, key: &str) -> Option<String> {
        self.kv.get(&p(), key).await.unwrap().map(|value| String::from_utf8(value).unwrap())
    }

    async fn page(&self, prefix: &str, cursor: Option<&str>, limit: u32) -> KeyPage {
        self.kv.list_keys(&p(), prefix, cursor, limit).await.unwrap()
    }

    /// Rows in the table, bytes of their keys and values, and bytes as the quota counts them. Keys are counted right, too.
    fn stored(&self) -> (i64, i64, i64) {
        let sql = rusqlite::Connection::open(StateDir::new(self.dir.path()).state_database()).unwrap();
        let counted: (i64, i64) = sql
            .query_row(
                "SELECT (SELECT count(*) FROM plugin_kv), (SELECT coalesce(sum(keys), 0) FROM plugin_kv_usage)",
                [],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )
            .unwrap();
        assert_eq!(counted.0, counted.1, "the count of keys");
        sql.query_row(
            "SELECT count(*), coalesce(sum(length(CAST(key AS BLOB)) + length(value)), 0),
                    coalesce((SELECT sum(bytes) FROM plugin_kv_usage), 0) FROM plugin_kv",
            [],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
        )
        .unwrap()
    }
}

fn p() -> PluginId {
    PluginId::new("p")
}

#[tokio::test]
async fn values_survive_a_restart_and_belong_to_one_plugin() {
    let mut scratch = Scratch::new();
    assert_eq!(scratch.get("k").await, None);
    assert_eq!(scratch.dir.path().read_dir().unwrap().count(), 0, "reading makes no files");
    scratch.kv.set(&p(), "k", &[0, 255], None, QUOTA).await.unwrap();
    scratch.kv.close().await;
    assert!(matches!(scratch.kv.get(&p(), "k").await, Err(StateError::Unavailable(_))));
    scratch.kv = SqlitePluginKv::new(&StateDir::new(scratch.dir.path()), Arc::<FakeClock>::clone(&scratch.clock));
    assert_eq!(scratch.kv.get(&p(), "k").await.unwrap(), Some(vec![0, 255]));
    assert_eq!(scratch.kv.get(&PluginId::new("q"), "k").await.unwrap(), None);
    assert!(!scratch.kv.delete(&PluginId::new("q"), "k").await.unwrap());
    assert!(scratch.kv.delete(&p(), "k").await.unwrap());
    assert!(!scratch.kv.delete(&p(), "k").await.unwrap());
    assert_eq!(scratch.stored(), (0, 0, 0));
}

#[tokio::test]
async fn keys_have_1_to_512_bytes() {
    let scratch = Scratch::new();
    let kv = &scratch.kv;
    for good in ["k".repeat(MAX_KEY_BYTES), "é".repeat(MAX_KEY_BYTES / 2), "a\0b".to_owned()] {
        scratch.set(&good, "v").await;
        assert_eq!(scratch.get(&good).await.as_deref(), Some("v"));
    }
    for bad in [String::new(), "k".repeat(MAX_KEY_BYTES + 1), "é".repeat(MAX_KEY_BYTES / 2 + 1)] {
        for refused in [
            kv.get(&p(), &bad).await.map(drop),
            kv.set(&p(), &bad, b"v", None, QUOTA).await,
            kv.delete(&p(), &bad).await.map(drop),
            kv.increment(&p(), &bad, 1, QUOTA).await.map(drop),
            kv.compare_and_set(&p(), &bad, None, None, QUOTA).await.map(drop),
        ] {
            assert!(matches!(refused, Err(StateError::Invalid(_))), "{refused:?}");
        }
    }
    let (_, bytes, counted) = scratch.stored();
    assert_eq!(bytes, counted);
}

#[tokio::test]
async fn the_quota_counts_keys_and_values_of_one_plugin() {
    let scratch = Scratch::new();
    let set = async |key: &str, length: usize| scratch.kv.set(&p(), key, &vec![0; length], None, bytes(100)).await;
    set("aaaaaaaaaa", 40).await.unwrap();
    set("bbbbbbbbbb", 40).await.unwrap();
    let refused = set("c", 0).await.unwrap_err();
    assert!(
        matches!(&refused, StateError::Limit(text) if text.contains("101 bytes") && text.contains("quota is 100")),
        "{refused}"
    );
    assert!(matches!(set("aaaaaaaaaa", 41).await, Err(StateError::Limit(_))));
    assert!(matches!(scratch.kv.increment(&p(), "c", 1, bytes(100)).await, Err(StateError::Limit(_))));
    assert!(matches!(scratch.kv.compare_and_set(&p(), "c", None, Some(b"1"), bytes(100)).await, Err(StateError::Limit(_))));
    assert_eq!(scratch.stored(), (2, 100, 100), "a refusal changes nothing");

    set("aaaaaaaaaa", 39).await.unwrap();
    set("c", 0).await.unwrap();
    scratch.kv.set(&PluginId::new("q"), "k", &[0; 99], None, bytes(100)).await.unwrap();
    // A quota that was lowered meanwhile lets values shrink.
    scratch.kv.set(&p(), "aaaaaaaaaa", &[0; 10], None, bytes(5)).await.unwrap();
    assert!(matches!(scratch.kv.set(&p(), "aaaaaaaaaa", &[0; 11], None, bytes(5)).await, Err(StateError::Limit(_))));
}

#[tokio::test]
async fn the_quota_counts_keys_of_one_plugin() {
    let scratch = Scratch::new();
    let kv = &scratch.kv;
    let keys = |max_keys| KvLimits { max_bytes: 1_000, max_keys };
    for key in ["a", "b"] {
        kv.set(&p(), key, b"1", None, keys(2)).await.unwrap();
    }
    let refused = kv.set(&p(), "c", b"1", None, keys(2)).await.unwrap_err();
    assert!(matches!(&refused, StateError::Limit(text) if text.contains("number 3") && text.contains("2 keys")), "{refused}");
    assert!(matches!(kv.increment(&p(), "c", 1, keys(2)).await, Err(StateError::Limit(_))));
    assert!(matches!(kv.compare_and_set(&p(), "c", None, Some(b"1"), keys(2)).await, Err(StateError::Limit(_))));
    assert_eq!(scratch.stored().0, 2, "a refusal changes nothing");
    kv.set(&p(), "b", b"22", None, keys(1)).await.unwrap();
    kv.increment(&p(), "a", 1, keys(1)).await.unwrap();
    kv.set(&PluginId::new("q"), "c", b"1", None, keys(1)).await.unwrap();
    kv.set(&p(), "c", b"1", None, keys(3)).await.unwrap();
    assert!(kv.delete(&p(), "a").await.unwrap());
    assert!(matches!(kv.set(&p(), "d", b"1", None, keys(2)).await, Err(StateError::Limit(_))));
    kv.set(&p(), "d", b"1", None, keys(3)).await.unwrap();
}

#[tokio::test]
async fn expired_keys_never_stand_in_the_way_of_a_quota() {
    let scratch = Scratch::new();
    let fifty = KvLimits { max_bytes: 10_000, max_keys: 50 };
    for n in 0..50 {
        scratch.kv.set(&p(), &format!("k{n:02}"), b"1", Some(10), fifty).await.unwrap();
    }
    assert!(matches!(scratch.kv.set(&p(), "a", b"1", None, fifty).await, Err(StateError::Limit(_))));
    scratch.clock.advance(10);
    scratch.kv.set(&p(), "a", b"1", None, KvLimits { max_keys: 1, ..fifty }).await.unwrap();
    assert_eq!(scratch.stored().0, 1);
}

#[tokio::test]
async fn what_is_expired_is_absent_for_every_operation() {
    let scratch = Scratch::new();
    for key in ["get", "list", "delete", "increment", "swap", "set"] {
        scratch.set_for(key, "7", 500).await;
    }
    scratch.set_for("never", "7", 0).await;
    assert_eq!(scratch.get("never").await, None);
    scratch.clock.advance(499);
    assert_eq!(scratch.get("get").await.as_deref(), Some("7"));
    scratch.clock.advance(1);
    assert_eq!(scratch.get("get").await, None);
    assert_eq!(scratch.page("", None, 0).await, KeyPage::default());
    assert!(!scratch.kv.delete(&p(), "delete").await.unwrap());
    assert_eq!(scratch.kv.increment(&p(), "increment", 1, QUOTA).await.unwrap(), 1);
    assert!(!scratch.kv.compare_and_set(&p(), "swap", Some(b"7"), Some(b"8"), QUOTA).await.unwrap());
    assert!(scratch.kv.compare_and_set(&p(), "swap", None, Some(b"8"), QUOTA).await.unwrap());
    scratch.set("set", "9").await;
    scratch.clock.advance(1_000_000);
    for (key, value) in [("increment", "1"), ("swap", "8"), ("set", "9")] {
        assert_eq!(scratch.get(key).await.as_deref(), Some(value), "a new value has no end of the old one");
    }
    scratch.set_for("long", "x", u64::MAX).await;
    assert_eq!(scratch.get("long").await.as_deref(), Some("x"));
}

#[tokio::test]
async fn expired_rows_are_removed_a_few_at_a_time() {
    let scratch = Scratch::new();
    for n in 0..50 {
        scratch.set_for(&format!("k{n}"), "value", 10).await;
    }
    scratch.clock.advance(10);
    assert_eq!(scratch.get("k0").await, None);
    assert_eq!(scratch.stored().0, 50, "reads remove nothing");
    scratch.set("a", "1").await;
    let after_one = scratch.stored().0;
    assert!((30..50).contains(&after_one), "{after_one}");
    for _ in 0..4 {
        scratch.set("a", "1").await;
    }
    assert_eq!(scratch.stored(), (1, 2, 2));
}

#[tokio::test]
async fn expired_bytes_never_stand_in_the_way_of_a_quota() {
    let scratch = Scratch::new();
    for n in 0..50 {
        scratch.kv.set(&p(), &format!("k{n:02}"), &[0; 17], Some(10), bytes(1_000)).await.unwrap();
    }
    assert!(matches!(scratch.kv.set(&p(), "a", &[0; 999], None, bytes(1_000)).await, Err(StateError::Limit(_))));
    scratch.clock.advance(10);
    scratch.kv.set(&p(), "a", &[0; 999], None, bytes(1_000)).await.unwrap();
    assert_eq!(scratch.stored(), (1, 1_000, 1_000));
}

#[tokio::test]
async fn keys_are_listed_in_byte_order_page_by_page() {
    let scratch = Scratch::new();
    let mut keys = ["a", "a/", "a/1", "a/10", "a/2", "a/é", "a/🦀", "a0", "b", "é"];
    for key in keys.iter().rev() {
        scratch.set(key, "v").await;
    }
    keys.sort_unstable();
    assert_eq!(scratch.page("", None, 0).await, KeyPage { keys: keys.map(str::to_owned).to_vec(), cursor: None });
    let mut found = Vec::new();
    let mut cursor = None;
    loop {
        let page = scratch.page("a/", cursor.as_deref(), 2).await;
        assert!(page.keys.len() <= 2);
        found.extend(page.keys);
        cursor = page.cursor;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(found, ["a/", "a/1", "a/10", "a/2", "a/é", "a/🦀"]);
    assert_eq!(scratch.page("a/", Some("a"), 2).await.keys, ["a/", "a/1"], "a cursor before the prefix is no harm");
    assert_eq!(scratch.page("a/", Some("zzz"), 2).await, KeyPage::default());
    assert_eq!(scratch.page("nothing", None, 2).await, KeyPage::default());
    assert_eq!(scratch.page("a/", None, 6).await.cursor, None, "the last page says so even when it is full");
}

#[tokio::test]
async fn a_page_has_1000_keys_at_most() {
    let scratch = Scratch::new();
    scratch.set("first", "v").await;
    let mut sql = rusqlite::Connection::open(StateDir::new(scratch.dir.path()).state_database()).unwrap();
    let tx = sql.transaction().unwrap();
    for n in 0..1_100 {
        tx.execute("INSERT INTO plugin_kv VALUES ('p', ?1, x'00', NULL)", [format!("k{n:04}")]).unwrap();
    }
    tx.commit().unwrap();
    for limit in [0, MAX_PAGE_KEYS + 1, u32::MAX] {
        let page = scratch.page("k", None, limit).await;
        assert_eq!((page.keys.len(), page.cursor.as_deref()), (1_000, Some("k0999")));
    }
    assert_eq!(scratch.page("k", Some("k0999"), 0).await.keys.len(), 100);
}

#[tokio::test]
async fn increments_are_decimal_text_and_never_wrap() {
    let scratch = Scratch::new();
    let add = async |key: &str, delta| scratch.kv.increment(&p(), key, delta, QUOTA).await;
    assert_eq!(add("n", 5).await.unwrap(), 5);
    assert_eq!(add("n", -7).await.unwrap(), -2);
    assert_eq!(scratch.get("n").await.as_deref(), Some("-2"));
    for (start, delta) in [(i64::MAX, 1), (i64::MIN, -1)] {
        scratch.set("n", &start.to_string()).await;
        assert!(matches!(add("n", delta).await, Err(StateError::Invalid(_))));
        assert_eq!(scratch.get("n").await, Some(start.to_string()));
    }
    for bad in ["", " 1", "1.0", "x", "9223372036854775808"] {
        scratch.set("n", bad).await;
        assert!(matches!(add("n", 1).await, Err(StateError::Invalid(_))), "{bad}");
    }
    scratch.kv.set(&p(), "n", &[0xff], None, QUOTA).await.unwrap();
    assert!(matches!(add("n", 1).await, Err(StateError::Invalid(_))));
}

#[tokio::test]
async fn a_change_keeps_the_time_to_live_and_a_set_replaces_it() {
    let scratch = Scratch::new();
    scratch.set_for("swap", "1", 100).await;
    scratch.set_for("add", "1", 100).await;
    scratch.set_for("set", "1", 100).await;
    scratch.clock.advance(50);
    assert!(scratch.kv.compare_and_set(&p(), "swap", Some(b"1"), Some(b"2"), QUOTA).await.unwrap());
    scratch.kv.increment(&p(), "add", 1, QUOTA).await.unwrap();
    scratch.set_for("set", "2", 100).await;
    scratch.clock.advance(50);
    assert_eq!((scratch.get("swap").await, scratch.get("add").await), (None, None));
    assert_eq!(scratch.get("set").await.as_deref(), Some("2"));
}

#[tokio::test]
async fn compare_and_set_changes_only_what_was_expected() {
    let scratch = Scratch::new();
    let swap = async |expected: Option<&[u8]>, value: Option<&[u8]>| {
        scratch.kv.compare_and_set(&p(), "k", expected, value, QUOTA).await.unwrap()
    };
    assert!(!swap(Some(b"1"), Some(b"2")).await);
    assert!(swap(None, None).await);
    assert!(swap(None, Some(b"1")).await);
    assert!(!swap(None, Some(b"2")).await);
    assert!(!swap(Some(b"2"), None).await);
    assert_eq!(scratch.get("k").await.as_deref(), Some("1"));
    assert!(swap(Some(b"1"), None).await);
    assert_eq!(scratch.get("k").await, None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn increments_of_two_stores_lose_nothing() {
    let scratch = Scratch::new();
    let mut tasks = Vec::new();
    for _ in 0..2 {
        let kv = SqlitePluginKv::new(&StateDir::new(scratch.dir.path()), Arc::<FakeClock>::clone(&scratch.clock));
        tasks.push(tokio::spawn(async move {
            for _ in 0..50 {
                kv.increment(&p(), "n", 1, QUOTA).await.unwrap();
            }
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(scratch.get("n").await.as_deref(), Some("100"));
}

#[tokio::test]
async fn an_uninstalled_plugin_leaves_nothing() {
    let scratch = Scratch::new();
    scratch.set("a", "1").await;
    scratch.set_for("b", "1", 1).await;
    scratch.kv.set(&PluginId::new("q"), "k", b"v", None, QUOTA).await.unwrap();
    scratch.clock.advance(1);
    assert_eq!(scratch.kv.remove_plugin(&p()).await.unwrap(), 1);
    assert_eq!(scratch.page("", None, 0).await, KeyPage::default());
    assert_eq!(scratch.stored(), (1, 2, 2));
    assert_eq!(scratch.kv.remove_plugin(&p()).await.unwrap(), 0);
}

#[tokio::test]
async fn a_database_that_is_garbage_is_an_error_that_names_it() {
    let scratch = Scratch::new();
    let path = StateDir::new(scratch.dir.path()).state_database();
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, "not a database".repeat(100)).unwrap();
    let refused = scratch.kv.get(&p(), "k").await.unwrap_err();
    assert!(matches!(&refused, StateError::Unavailable(text) if text.contains("creel.sqlite")), "{refused}");
}
