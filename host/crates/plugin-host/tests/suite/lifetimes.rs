//! How long guest memory lives: one run, one call, and never across sessions.

use hooks::Scope;
use plugin_host::ReadyPlugin;
use plugin_host::manifest::Lifetime;

use crate::guest;
use crate::rig::{call, plugin, run, start};

#[tokio::test]
async fn one_instance_serves_one_run() {
    let dispatcher = start(vec![plugin("p", guest::counter())]).await;
    let (first, second) = (run("1"), run("2"));
    for (scope, expected) in [(&first, "a"), (&first, "b"), (&second, "a"), (&first, "c"), (&second, "b")] {
        assert_eq!(call(&dispatcher, scope).await.unwrap().unwrap(), expected);
    }
}

#[tokio::test]
async fn outside_a_run_each_call_gets_a_fresh_instance() {
    let dispatcher = start(vec![plugin("p", guest::counter())]).await;
    for _ in 0..3 {
        assert_eq!(call(&dispatcher, &Scope::default()).await.unwrap().unwrap(), "a");
    }
}

#[tokio::test]
async fn a_plugin_can_ask_for_a_fresh_instance_per_call() {
    let fresh = ReadyPlugin { lifetime: Lifetime::Call, ..plugin("p", guest::counter()) };
    let dispatcher = start(vec![fresh]).await;
    let run = run("1");
    for _ in 0..3 {
        assert_eq!(call(&dispatcher, &run).await.unwrap().unwrap(), "a");
    }
}

#[tokio::test]
async fn plugins_do_not_share_instances() {
    let dispatcher = start(vec![plugin("p", guest::counter()), plugin("q", guest::counter())]).await;
    let run = run("1");
    // The first block ends the dispatch, so only `p` is asked; `q` alone starts at `a` in the same run.
    assert_eq!(call(&dispatcher, &run).await.unwrap().unwrap(), "a");
    assert_eq!(call(&dispatcher, &run).await.unwrap().unwrap(), "b");
    let alone = start(vec![plugin("q", guest::counter())]).await;
    assert_eq!(call(&alone, &run).await.unwrap().unwrap(), "a");
}

#[tokio::test]
async fn calls_of_one_run_at_the_same_time_get_instances_of_their_own() {
    let slow = guest::guard(&format!(
        "(loop $wait
            (local.set $i (i32.add (local.get $i) (i32.const 1)))
            (br_if $wait (i32.lt_u (local.get $i) (i32.const 60000000))))
         (i32.store8 (i32.const 512) (i32.add (i32.const 97) (global.get $calls)))
         (global.set $calls (i32.add (global.get $calls) (i32.const 1)))
         {}",
        guest::block("(i32.const 512)", "(i32.const 1)")
    ));
    let dispatcher = start(vec![plugin("p", slow)]).await;
    let run = run("1");
    let (first, second) = tokio::join!(call(&dispatcher, &run), call(&dispatcher, &run));
    assert_eq!((first.unwrap().unwrap(), second.unwrap().unwrap()), ("a".to_owned(), "a".to_owned()));
    assert_eq!(call(&dispatcher, &run).await.unwrap().unwrap(), "b");
}
