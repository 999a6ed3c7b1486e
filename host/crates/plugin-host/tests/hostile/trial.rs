//! What every row asserts. A hostile plugin stands in front of everybody else, in a host with one thread; its gate is asked, then its
//! other hook, each in a run of its own, while a second session goes on.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hooks::{Dispatcher, Fault, FaultKind, Scope};
use plugin_host::{DEFAULT_TICK, HostSettings, Meter, PluginHost, Ports, Usage};

use crate::hostile::{Hostile, ID};
use crate::logs::Captured;
use crate::ports::Memory;
use crate::rig::{self, call, dispatcher, resolve_model, run};
use crate::second_session::{Beside, MODEL, beside, good_plugin, send};

/// How much longer than its budget and a tick a call may take. Generous, since other work goes on on the machine; a bench
/// (`benches/overhead`) measures the overrun.
const SLACK: Duration = Duration::from_secs(2);

/// The longest that the second session may wait for one answer.
const PATIENCE: Duration = Duration::from_secs(1);

/// Room of one line in the log beside the text that a plugin wrote.
const LINE: u64 = 300;

/// A host with a hostile and a good plugin.
pub(crate) struct Trial {
    pub(crate) dispatcher: Dispatcher,
    pub(crate) log: Captured,
    meter: Meter,
    budget: Duration,
    /// Bytes that one call may leave in the log.
    log_bytes: u64,
    _subscriber: tracing::subscriber::DefaultGuard,
}

impl Hostile {
    /// Puts it into a host.
    pub(crate) async fn tried(&self) -> Trial {
        self.tried_with(&Memory::ports().1).await
    }

    /// The same, over these stores.
    pub(crate) async fn tried_with(&self, ports: &Ports) -> Trial {
        let log = Captured::default();
        let subscriber = tracing::subscriber::set_default(log.at(tracing::Level::INFO));
        let loaded = PluginHost::start(HostSettings::default(), [self.plugin(), good_plugin()], ports).await.unwrap();
        let meter = loaded.meter.clone();
        let limits = self.limits();
        let trial = Trial {
            dispatcher: dispatcher(loaded),
            log,
            meter,
            budget: self.budget(),
            log_bytes: limits.log_bytes_per_call + (limits.log_records_per_call + 4) * LINE,
            _subscriber: subscriber,
        };
        send(&trial.dispatcher).await;
        trial
    }

    /// The row of a plugin whose calls fail. `words`: a part of the fault's text.
    pub(crate) async fn fails(self, kind: FaultKind, words: &str) {
        let trial = self.tried().await;
        let is_right = |fault: &Fault| fault.kind() == kind && fault.text().contains(words);

        let fault = trial.ask_the_gate().await.expect_err("a gate that fails must block");
        assert!(is_right(&fault), "{fault}");
        trial.names_it_in_one_line("before_tool_call");

        if self.is_open_too() {
            let (model, skipped) = trial.ask_the_other().await;
            assert_eq!(model.as_deref(), Some(MODEL), "the answer of the others counts");
            assert_eq!(skipped, [(ID.to_owned(), kind)]);
            trial.names_it_in_one_line("before_model_resolve");
        }
        trial.is_as_before();
    }

    /// The row of a plugin that hurts nobody but itself: its calls end well, and nothing else is different.
    pub(crate) async fn hurts_nobody(self) {
        let trial = self.tried().await;
        assert_eq!(trial.ask_the_gate().await, Ok(None));
        if self.is_open_too() {
            assert_eq!(trial.ask_the_other().await, (Some(MODEL.to_owned()), Vec::new()));
        }
        assert_eq!(trial.log.text().matches("plugin handler failed").count(), 0, "{}", trial.log.text());
        trial.is_as_before();
    }

    /// The row of a plugin that is refused when it is loaded; the others are not.
    pub(crate) async fn is_refused(&self, words: &[&str]) {
        let loaded = rig::load(vec![self.plugin(), good_plugin()]).await;
        let error = loaded.reports[0].error.as_ref().expect("it must not load").to_string();
        assert!(words.iter().all(|word| error.contains(word)), "{words:?}\n{error}");
        assert!(!error.contains('\n') && error.len() < 2000, "{error}");
        assert!(loaded.reports[1].error.is_none());
        send(&Dispatcher::new(Arc::new(loaded.registry))).await;
    }
}

impl Trial {
    /// One tool call in a run of its own. `Ok`: the reason of a block, if any.
    pub(crate) async fn ask_the_gate(&self) -> Result<Option<String>, Fault> {
        let scope = run("gate");
        self.timed(call(&self.dispatcher, &scope)).await
    }

    /// One choice of a model in a run of its own: the model, and who was passed over.
    pub(crate) async fn ask_the_other(&self) -> (Option<String>, Vec<(String, FaultKind)>) {
        let scope = run("open");
        self.timed(resolve_model(&self.dispatcher, &scope)).await
    }

    /// The gate in a run that goes on.
    pub(crate) async fn ask_the_gate_in(&self, scope: &Scope) -> Result<Option<String>, Fault> {
        self.timed(call(&self.dispatcher, scope)).await
    }

    /// Does one call within its bounds, beside a second session.
    async fn timed<T>(&self, call: impl Future<Output = T>) -> T {
        let started = Instant::now();
        let ended = async {
            let done = call.await;
            (done, started.elapsed())
        };
        let ((done, elapsed), Beside { answered, slowest }) = beside(&self.dispatcher, ended).await;
        assert!(elapsed < self.budget + DEFAULT_TICK + SLACK, "{elapsed:?}");
        assert!(slowest < PATIENCE, "the second session waited {slowest:?}");
        if elapsed >= self.budget {
            assert!(answered > 0, "nobody else was served within {elapsed:?}");
        }
        done
    }

    /// The log tells of the fault in exactly one line, whatever the plugin wrote into it.
    pub(crate) fn names_it_in_one_line(&self, hook: &str) {
        let text = self.log.text();
        let is_about = |line: &&str| ["plugin handler failed", "plugin=hostile", hook].iter().all(|part| line.contains(part));
        assert_eq!(text.lines().filter(is_about).count(), 1, "{text}");
    }

    /// Nothing is left of the plugin but a bounded, readable log.
    pub(crate) fn is_as_before(&self) {
        let text = self.log.text();
        assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "{text:?}");
        assert!(text.len() as u64 <= 2 * self.log_bytes, "{} bytes of log", text.len());
        let Usage { instances, plugins } = self.meter.read();
        assert_eq!(instances, 0, "{plugins:?}");
        for plugin in plugins {
            assert_eq!((plugin.instances, plugin.memory_bytes), (0, 0), "{}", plugin.plugin);
        }
    }

    /// What is held now.
    pub(crate) fn usage(&self) -> Usage {
        self.meter.read()
    }
}
