//! The host of a chat, which takes over changed plugins and a changed configuration while it runs. What cannot be served changes nothing.

use config::Loaded;
use tokio::sync::Notify;

use crate::commands::Context;
use crate::control::{Answer, Listener, ReloadRequest, Watcher};
use crate::exit::Failure;
use crate::terminal::{Output, TerminalView};
use crate::wiring::{Changed, Running};

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

    /// Takes over what there is now, and tells whoever asked, and the person.
    pub(super) async fn reload(&mut self, wanted: Option<ReloadRequest>, output: &Output, view: &TerminalView) {
        let taken = self.take_over().await;
        // A run may be showing something.
        view.pause().await;
        let answer = match taken {
            Ok(answer) => answer,
            Err(failure) => {
                let message = format!("nothing is loaded again: {}", failure.message);
                output.failure(&Failure { message, ..failure.clone() });
                Answer::refused(failure.message)
            }
        };
        for change in &answer.plugins {
            match change.what {
                Changed::Unchanged => {}
                // Told in the log already, with the reason.
                Changed::Kept | Changed::Failed => {}
                Changed::Added | Changed::Replaced | Changed::Ended => output.note(change.to_string()),
            }
        }
        if let Some(wanted) = wanted {
            // Whoever asked may have gone away.
            let _ = wanted.answer.send(answer);
        }
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
