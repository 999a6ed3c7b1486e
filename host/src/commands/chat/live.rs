//! The host of a chat, which takes over changed plugins and a changed configuration while it runs. What cannot be served changes nothing.

use config::Loaded;
use tokio::sync::Notify;

use crate::commands::Context;
use crate::control::{Answer, Listener, ReloadRequest, Watcher};
use crate::exit::Failure;
use crate::terminal::{Output, TerminalView};
use crate::wiring::{Change, Changed, Running};

/// A host that can be reloaded, and who may ask for it.
pub(super) struct Live<'c> {
    context: &'c Context,
    loaded: Loaded,
    running: Running,
    watcher: Option<Watcher>,
    listener: Option<Listener>,
}

impl<'c> Live<'c> {
    /// Begins to watch and to listen. What does not work is told and missing; the chat goes on without it.
    pub(super) fn new(context: &'c Context, running: Running) -> Self {
        let loaded = context.loaded.clone();
        let load = &loaded.config.plugins.load;
        let watcher = load
            .watch
            .then(|| Watcher::start(load.watch_debounce()))
            .and_then(|started| started.map_err(|error| tracing::warn!("changes of plugins are not noticed: {error}")).ok());
        let listener = Listener::open(context.locations.state_dir())
            .map_err(|error| {
                let place = context.locations.state_dir().join("control");
                let place = place.display();
                tracing::warn!(
                    "`creel plugins reload` does not reach this process, because there is no socket in {place}: {error}; /reload works"
                );
            })
            .ok();
        let mut live = Self { context, loaded, running, watcher, listener };
        live.watch();
        live
    }

    /// The configuration that counts.
    pub(super) fn loaded(&self) -> &Loaded {
        &self.loaded
    }

    /// The host.
    pub(super) fn running(&self) -> &Running {
        &self.running
    }

    /// Neither watches nor listens any more.
    pub(super) fn end(self) -> Running {
        self.running
    }

    /// Waits until somebody wants a reload. None: files have changed.
    pub(super) async fn wanted(&mut self) -> Option<ReloadRequest> {
        let Self { watcher, listener, .. } = self;
        let changed = async {
            match watcher {
                Some(watcher) => watcher.changed().await,
                None => std::future::pending().await,
            }
        };
        let asked = async {
            match listener {
                Some(listener) => listener.next().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            request = asked => Some(request),
            () = changed => None,
        }
    }

    /// Reloads as often as somebody wants it, until told that it is over.
    pub(super) async fn reload_until(&mut self, is_over: &Notify, output: &Output, view: &TerminalView) {
        loop {
            tokio::select! {
                biased;
                () = is_over.notified() => return,
                wanted = self.wanted() => self.reload(wanted, output, view).await,
            }
        }
    }

    /// Takes over what there is now, and tells whoever asked, and the person. The log says what does not load, when that is new.
    pub(super) async fn reload(&mut self, wanted: Option<ReloadRequest>, output: &Output, view: &TerminalView) {
        let answer = self.reloaded(output, view).await;
        let has_news = |change: &&Change| matches!(change.what, Changed::Added | Changed::Replaced | Changed::Ended);
        answer.plugins.iter().filter(has_news).for_each(|change| output.note(change.to_string()));
        if let Some(wanted) = wanted {
            // Whoever asked may have gone away.
            let _ = wanted.answer.send(answer);
        }
    }

    /// The same for the person, who wants to know all of it.
    pub(super) async fn reload_now(&mut self, output: &Output, view: &TerminalView) {
        let answer = self.reloaded(output, view).await;
        let changes: Vec<&Change> = answer.plugins.iter().filter(|change| change.what != Changed::Unchanged).collect();
        changes.iter().for_each(|change| output.note(change.to_string()));
        if changes.is_empty() && answer.error.is_none() {
            output.note("all plugins are as before");
        }
    }

    async fn reloaded(&mut self, output: &Output, view: &TerminalView) -> Answer {
        let taken = self.take_over().await;
        // A run may be showing something.
        view.pause().await;
        taken.unwrap_or_else(|failure| {
            let message = format!("nothing is loaded again: {}", failure.message);
            output.failure(&Failure { message, ..failure.clone() });
            Answer::refused(failure.message)
        })
    }

    async fn take_over(&mut self) -> Result<Answer, Failure> {
        let loaded = self.context.read_again()?;
        let reloaded = self.running.reload(&loaded).await;
        if reloaded.is_ok() {
            self.loaded = loaded;
        }
        // Also what has failed may be mended, perhaps in another place.
        self.watch();
        Ok(Answer { plugins: reloaded?, error: None })
    }

    fn watch(&mut self) {
        if let Some(watcher) = &mut self.watcher {
            watcher.watch(self.running.places(&self.loaded));
        }
    }
}
