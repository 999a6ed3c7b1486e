//! Small values of plugins inside a session.

use domain::SessionKey;
use domain::ids::PluginId;
use domain::ports::{SessionExtensions, StateError};
use domain::session::{OpenSession, RunStatus, SessionStore};
use sessions::{MAX_EXTENSION_BYTES, MAX_EXTENSION_NAMESPACES, MAX_NAMESPACE_BYTES, SqliteSessions};

use crate::support::{Scratch, begun, key, main_key, opening, run, summary};

fn plugin(text: &str) -> PluginId {
    PluginId::new(text)
}

async fn get(store: &SqliteSessions, session: &SessionKey, id: &str, namespace: &str) -> Result<Option<String>, StateError> {
    SessionExtensions::get(store, session, &plugin(id), namespace).await
}

async fn set(store: &SqliteSessions, id: &str, namespace: &str, json: Option<&str>) -> Result<(), StateError> {
    SessionExtensions::set(store, &main_key(), &plugin(id), namespace, json).await
}

#[tokio::test]
async fn values_belong_to_session_plugin_and_namespace() {
    let mut scratch = Scratch::new();
    begun(&scratch.store).await;
    scratch.store.open(opening(&key("other"), "s2", 1)).await.unwrap();
    set(&scratch.store, "p", "n", Some("[1]")).await.unwrap();
    set(&scratch.store, "p", "n", Some("[1,2]")).await.unwrap();
    scratch.reopen().await;
    let store = &scratch.store;
    assert_eq!(get(store, &main_key(), "p", "n").await.unwrap().as_deref(), Some("[1,2]"));
    assert_eq!(get(store, &main_key(), "q", "n").await.unwrap(), None);
    assert_eq!(get(store, &main_key(), "p", "m").await.unwrap(), None);
    assert_eq!(get(store, &key("other"), "p", "n").await.unwrap(), None);
    set(store, "p", "n", None).await.unwrap();
    assert_eq!(get(store, &main_key(), "p", "n").await.unwrap(), None);
}

#[tokio::test]
async fn values_end_with_the_transcript() {
    let scratch = Scratch::new();
    begun(&scratch.store).await;
    set(&scratch.store, "p", "n", Some("1")).await.unwrap();
    scratch.store.end_run(&main_key(), &run("r1"), summary(RunStatus::Done, 2)).await.unwrap();
    scratch.store.open(opening(&main_key(), "s2", 3)).await.unwrap();
    assert_eq!(get(&scratch.store, &main_key(), "p", "n").await.unwrap().as_deref(), Some("1"));
    scratch.store.open(OpenSession { fresh: true, ..opening(&main_key(), "s2", 4) }).await.unwrap();
    assert_eq!(get(&scratch.store, &main_key(), "p", "n").await.unwrap(), None);
}

#[tokio::test]
async fn outside_a_session_nothing_is_found_and_nothing_is_made() {
    let scratch = Scratch::new();
    assert!(matches!(get(&scratch.store, &main_key(), "p", "n").await, Err(StateError::NotFound(_))));
    assert!(matches!(set(&scratch.store, "p", "n", Some("1")).await, Err(StateError::NotFound(_))));
    assert_eq!(scratch.dir.path().read_dir().unwrap().count(), 0);
    scratch.store.open(opening(&key("other"), "s1", 1)).await.unwrap();
    assert!(matches!(get(&scratch.store, &main_key(), "p", "n").await, Err(StateError::NotFound(_))));
    assert!(matches!(set(&scratch.store, "p", "n", Some("1")).await, Err(StateError::NotFound(_))));
    assert!(matches!(set(&scratch.store, "p", "n", None).await, Err(StateError::NotFound(_))));
}

#[tokio::test]
async fn sizes_are_bounded() {
    let scratch = Scratch::new();
    begun(&scratch.store).await;
    let store = &scratch.store;
    let largest = format!("\"{}\"", "x".repeat(MAX_EXTENSION_BYTES - 2));
    set(store, "p", "n", Some(&largest)).await.unwrap();
    let larger = format!("{largest} ");
    assert!(matches!(set(store, "p", "n", Some(&larger)).await, Err(StateError::Limit(_))));
    assert_eq!(get(store, &main_key(), "p", "n").await.unwrap(), Some(largest));

    set(store, "p", &"n".repeat(MAX_NAMESPACE_BYTES), None).await.unwrap();
    for bad in ["", &"n".repeat(MAX_NAMESPACE_BYTES + 1)] {
        assert!(matches!(set(store, "p", bad, Some("1")).await, Err(StateError::Invalid(_))));
        assert!(matches!(get(store, &main_key(), "p", bad).await, Err(StateError::Invalid(_))));
    }
    assert!(matches!(set(store, "p", "n", Some("{")).await, Err(StateError::Invalid(_))));
}

#[tokio::test]
async fn a_plugin_has_a_bounded_number_of_namespaces() {
    let scratch = Scratch::new();
    begun(&scratch.store).await;
    for n in 0..MAX_EXTENSION_NAMESPACES {
        set(&scratch.store, "p", &n.to_string(), Some("1")).await.unwrap();
    }
    let refused = set(&scratch.store, "p", "more", Some("1")).await.unwrap_err();
    assert!(matches!(refused, StateError::Limit(_)), "{refused}");
    set(&scratch.store, "p", "0", Some("2")).await.unwrap();
    set(&scratch.store, "q", "more", Some("1")).await.unwrap();
    set(&scratch.store, "p", "0", None).await.unwrap();
    set(&scratch.store, "p", "more", Some("1")).await.unwrap();
}

#[tokio::test]
async fn a_plugin_that_is_gone_leaves_nothing_in_any_session() {
    let scratch = Scratch::new();
    assert_eq!(scratch.store.remove_plugin(&plugin("p")).await.unwrap(), 0, "without any database");
    assert_eq!(scratch.dir.path().read_dir().unwrap().count(), 0);
    let others = SessionKey::parse("agent:ops:main", None, &domain::AgentId::main()).unwrap();
    for session in [main_key(), key("other"), others.clone()] {
        scratch.store.open(opening(&session, &format!("id-{session}").replace(':', "-"), 1)).await.unwrap();
        for id in ["p", "q"] {
            SessionExtensions::set(&scratch.store, &session, &plugin(id), "n", Some("1")).await.unwrap();
        }
    }
    assert_eq!(scratch.store.remove_plugin(&plugin("p")).await.unwrap(), 3);
    for session in [main_key(), key("other"), others] {
        assert_eq!(get(&scratch.store, &session, "p", "n").await.unwrap(), None);
        assert_eq!(get(&scratch.store, &session, "q", "n").await.unwrap().as_deref(), Some("1"));
    }
}
