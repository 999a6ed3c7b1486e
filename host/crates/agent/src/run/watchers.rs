//! Telling plugins what has happened, without waiting for them.

use domain::PluginId;
use hooks::HookId;
use hooks::point::Observe;

use super::RunState;

impl RunState {
    /// Tells watchers and does not wait. The event is built only if somebody watches.
    pub(crate) fn observe<H: Observe>(&self, context: H::Context, event: impl FnOnce() -> H::Event) {
        if !self.hooks().has(H::ID) {
            return;
        }
        let (hooks, scope, event) = (self.hooks().clone(), self.guard_scope().clone(), event());
        self.shared().background.observe(H::ID.name(), async move { hooks.observe::<H>(&event, &context, &scope).await });
    }

    /// Tells one plugin and does not wait.
    pub(crate) fn observe_plugin<H: Observe>(&self, plugin: PluginId, context: H::Context, event: H::Event) {
        if !self.hooks().has(H::ID) {
            return;
        }
        let (hooks, scope) = (self.hooks().clone(), self.guard_scope().clone());
        let telling = async move { hooks.observe_plugin::<H>(&plugin, &event, &context, &scope).await };
        self.shared().background.observe(H::ID.name(), telling);
    }

    /// Says once per plugin that its wish to allow on timeout is ignored (plugin-hooks 4.9.2).
    pub(crate) fn warn_once(&self, plugin: &PluginId) {
        if self.shared().first_warning(plugin) {
            tracing::warn!(
                %plugin,
                hook = %HookId::BeforeToolCall,
                "timeoutBehavior `allow` is deprecated and ignored: an approval that expires always denies"
            );
        }
    }
}
