//! Somebody else's session in the same host: a well-behaved plugin that is called again and again while a hostile one works.

use std::cell::Cell;
use std::time::{Duration, Instant};

use hooks::Dispatcher;
use hooks::catalogue::MessageSending;
use hooks::context::MessageContext;
use hooks::events::message_sending;
use plugin_host::ReadyPlugin;

use crate::guest::{ANSWER, component, module};
use crate::rig::{plugin, run};

/// Model that the good plugin chooses where it is asked.
pub(crate) const MODEL: &str = "tiny1";

/// What the second session saw while a hostile call went on.
#[derive(Debug, Default)]
pub(crate) struct Beside {
    /// Calls that were answered before the hostile call had ended.
    pub(crate) answered: u32,
    /// The longest that one of them, or the one after, took.
    pub(crate) slowest: Duration,
}

/// A plugin that rewrites what is sent to `seen` and chooses a model.
pub(crate) fn good_plugin() -> ReadyPlugin {
    let words = |words: &[(u32, u32)]| -> String {
        words.iter().map(|(at, word)| format!("(i32.store (i32.const {}) (i32.const {word}))", ANSWER + at)).collect()
    };
    let handler = |hook: &str, body: String| {
        format!(r#"(func (export "creel:plugin/{hook}@0.1.0#handle") (param i32) (result i32) {body} (i32.const {ANSWER}))"#)
    };
    let items = [
        handler("message-sending", words(&[(4, 1), (8, 1), (12, 600), (16, 4)])),
        handler("before-model-resolve", words(&[(4, 1), (20, 1), (24, 610), (28, 5)])),
        format!(r#"(data (i32.const 600) "seen") (data (i32.const 610) "{MODEL}")"#),
    ]
    .concat();
    let world = "export creel:plugin/message-sending@0.1.0; export creel:plugin/before-model-resolve@0.1.0;";
    plugin("good", component(world, &module(&items)))
}

/// Sends one message in a run of its own; fails if the good plugin does not answer.
pub(crate) async fn send(dispatcher: &Dispatcher) {
    let event = message_sending::Event { content: "hello".to_owned(), ..message_sending::Event::default() };
    let done = dispatcher.decide::<MessageSending>(&event, &MessageContext::new("terminal"), &run("second")).await.unwrap();
    assert_eq!(done.decision.content.as_deref(), Some("seen"), "{:?}", done.skipped);
}

/// Does `work`, and serves the second session meanwhile and once more after it, all on this thread.
pub(crate) async fn beside<T>(dispatcher: &Dispatcher, work: impl Future<Output = T>) -> (T, Beside) {
    let is_over = Cell::new(false);
    let work = async {
        let done = work.await;
        is_over.set(true);
        done
    };
    let second = async {
        let mut seen = Beside::default();
        loop {
            let asked = Instant::now();
            send(dispatcher).await;
            seen.slowest = seen.slowest.max(asked.elapsed());
            if is_over.get() {
                return seen;
            }
            seen.answered += 1;
            tokio::task::yield_now().await;
        }
    };
    // The hostile work goes first: whoever comes second is served only if it gives the thread back.
    tokio::join!(biased; work, second)
}
