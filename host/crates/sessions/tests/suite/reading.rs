//! Sessions in pages and ends of transcripts, as plugins read them.

use domain::AgentId;
use domain::session::{SessionPage, SessionQuery, SessionReader, SessionStore};
use domain::{SessionId, SessionKey};

use crate::support::{Scratch, begun, key, main_key, message, opening, row, run, say};

fn query(limit: u32) -> SessionQuery {
    SessionQuery { agents: None, key_prefix: None, updated_since: None, after: None, limit }
}

fn keys(page: &SessionPage) -> Vec<&str> {
    page.sessions.iter().map(|session| session.key.as_str()).collect()
}

/// Opens sessions, each at its time.
async fn open(scratch: &Scratch, sessions: &[(&str, u64)]) {
    for (name, now) in sessions {
        scratch.store.open(opening(&key(name), &format!("s-{name}"), *now)).await.unwrap();
    }
}

#[tokio::test]
async fn pages_hold_every_session_once_newest_first_over_all_agents() {
    let scratch = Scratch::new();
    assert_eq!(scratch.store.page(query(10)).await.unwrap(), SessionPage::default());
    // Three that changed at one moment stand on both sides of the borders between agents and pages.
    open(
        &scratch,
        &[
            ("agent:main:a", 5),
            ("agent:main:b", 7),
            ("agent:ops:a", 7),
            ("agent:ops:b", 7),
            ("agent:ops:c", 9),
            ("agent:zoo:a", 7),
            ("agent:zoo:b", 1),
        ],
    )
    .await;
    let expected = ["agent:ops:c", "agent:main:b", "agent:ops:a", "agent:ops:b", "agent:zoo:a", "agent:main:a", "agent:zoo:b"];
    for limit in 1..=8 {
        let (mut found, mut after, mut pages) = (Vec::new(), None, 0);
        loop {
            let page = scratch.store.page(SessionQuery { after, ..query(limit) }).await.unwrap();
            assert!(page.sessions.len() <= limit as usize);
            found.extend(keys(&page).into_iter().map(str::to_owned));
            pages += 1;
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        assert_eq!(found, expected, "{limit}");
        assert_eq!(pages, expected.len().div_ceil(limit as usize), "the last page says so even when it is full");
    }
}

#[tokio::test]
async fn filters_leave_out_what_was_not_asked_for() {
    let scratch = Scratch::new();
    open(&scratch, &[("agent:main:x%", 1), ("agent:main:xy", 2), ("agent:main:é", 3), ("agent:ops:x", 4)]).await;
    let page = async |query: SessionQuery| scratch.store.page(query).await.unwrap();
    let of = |agents: &[&str]| Some(agents.iter().map(|id| AgentId::new(*id)).collect());
    assert_eq!(keys(&page(SessionQuery { agents: of(&["ops"]), ..query(9) }).await), ["agent:ops:x"]);
    assert_eq!(keys(&page(SessionQuery { agents: of(&[]), ..query(9) }).await), [""; 0]);
    assert_eq!(keys(&page(SessionQuery { agents: of(&["nobody"]), ..query(9) }).await), [""; 0]);
    let prefixed = |prefix: &str| SessionQuery { key_prefix: Some(prefix.to_owned()), ..query(9) };
    assert_eq!(keys(&page(prefixed("agent:main:x")).await), ["agent:main:xy", "agent:main:x%"]);
    assert_eq!(keys(&page(prefixed("agent:main:x%")).await), ["agent:main:x%"], "nothing in it is a wildcard");
    assert_eq!(keys(&page(prefixed("agent:main:é")).await), ["agent:main:é"]);
    assert_eq!(keys(&page(SessionQuery { updated_since: Some(3), ..query(9) }).await), ["agent:ops:x", "agent:main:é"]);
}

#[tokio::test]
async fn a_tail_holds_the_last_messages_that_fit_and_counts_all() {
    let scratch = Scratch::new();
    assert_eq!(scratch.store.message_tail(&main_key(), 9, 9).await.unwrap(), None);
    begun(&scratch.store).await;
    let empty = scratch.store.message_tail(&main_key(), 9, 999).await.unwrap().unwrap();
    assert_eq!((empty.messages.len(), empty.total, empty.truncated), (0, 0, false));
    for (id, text) in [("e1", "one"), ("e2", "two"), ("e3", "three")] {
        say(&scratch.store, id, text).await.unwrap();
    }
    let note = domain::session::TranscriptEvent::Custom { custom_type: "x".to_owned(), data: serde_json::json!("no message") };
    scratch.store.append(row(&main_key(), "s1", "r1", "e4", note)).await.unwrap();
    let tail = async |messages, bytes| scratch.store.message_tail(&main_key(), messages, bytes).await.unwrap().unwrap();

    let all = tail(9, 9_999).await;
    assert_eq!((all.messages.len(), all.total, all.truncated), (3, 3, false));
    assert!(all.messages[0].as_str().contains("one") && all.messages[2].as_str().contains("three"));
    let two = tail(2, 9_999).await;
    assert_eq!((&two.messages[..], two.total, two.truncated), (&all.messages[1..], 3, true));
    let bytes = u32::try_from(all.messages[1].as_str().len() + all.messages[2].as_str().len()).unwrap();
    assert_eq!(tail(9, bytes).await.messages, all.messages[1..]);
    assert_eq!(tail(9, bytes - 1).await.messages, all.messages[2..]);
    let none = tail(9, 1).await;
    assert_eq!((none.messages.len(), none.total, none.truncated), (0, 3, true));
}

#[tokio::test]
async fn a_damaged_row_is_an_error_only_for_those_who_need_it() {
    let scratch = Scratch::new();
    begun(&scratch.store).await;
    for id in ["e1", "e2"] {
        say(&scratch.store, id, "text").await.unwrap();
    }
    scratch.sql().execute("UPDATE transcript_events SET event_json = '{' WHERE event_id = 'e1'", []).unwrap();
    assert_eq!(scratch.store.message_tail(&main_key(), 1, 9_999).await.unwrap().unwrap().total, 2);
    assert!(scratch.store.message_tail(&main_key(), 2, 9_999).await.is_err());
}

#[tokio::test]
async fn only_the_current_transcript_of_a_conversation_is_read() {
    let scratch = Scratch::new();
    begun(&scratch.store).await;
    say(&scratch.store, "e1", "old").await.unwrap();
    scratch.store.end_run(&main_key(), &run("r1"), crate::support::summary(domain::session::RunStatus::Done, 200)).await.unwrap();
    let fresh = domain::session::OpenSession { fresh: true, ..opening(&main_key(), "s2", 300) };
    scratch.store.open(fresh).await.unwrap();
    scratch.store.begin_run(&main_key(), &SessionId::new("s2"), &run("r2"), 300).await.unwrap();
    scratch.store.append(row(&main_key(), "s2", "r2", "e2", message("new"))).await.unwrap();
    let tail = scratch.store.message_tail(&main_key(), 9, 9_999).await.unwrap().unwrap();
    assert_eq!(tail.total, 1);
    assert!(tail.messages[0].as_str().contains("new"));
    let entry = SessionReader::session(&scratch.store, &main_key()).await.unwrap().unwrap();
    assert_eq!(entry.session_id, "s2");
    let other = SessionKey::main(&AgentId::new("ops"));
    assert_eq!(SessionReader::session(&scratch.store, &other).await.unwrap(), None);
}
