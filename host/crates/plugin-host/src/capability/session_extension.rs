//! `session-extension`: small values of the plugin inside the session that the call belongs to. A guest cannot name a session.

use domain::ports::SessionExtensions;
use domain::{JsonText, PluginId, SessionKey};

use super::{capability, within};
use crate::bindings::creel::plugin::{session_extension, types::HostError};
use crate::state::{Call, State};

/// The plugin's values in the session of the call.
pub(crate) struct SessionExtensionView<'a> {
    store: &'a dyn SessionExtensions,
    plugin: &'a PluginId,
    session: Option<&'a SessionKey>,
    /// Longest value in bytes. Absent: not granted; the linker has no such interface then, so this is the second line.
    max_bytes: Option<u64>,
    call: &'a Call,
}

capability! {
    /// `creel:plugin/session-extension`.
    SessionExtension => SessionExtensionView
}

impl State {
    pub(crate) fn session_extension(&mut self) -> SessionExtensionView<'_> {
        let plugin = &self.plugin;
        SessionExtensionView {
            store: &*plugin.ports.session_extensions,
            plugin: &plugin.id,
            session: self.call.session.as_ref(),
            max_bytes: plugin.grants.session_extension.map(|grant| grant.max_bytes),
            call: &self.call,
        }
    }
}

impl SessionExtensionView<'_> {
    /// The session, and the longest value.
    fn place(&self) -> Result<(&SessionKey, u64), HostError> {
        let max_bytes = self.max_bytes.ok_or_else(|| {
            let key = format!("plugins.entries.{}.capabilities.sessionExtension", self.plugin);
            HostError::Denied(format!("not granted; set {key}: true to allow it"))
        })?;
        let session = self.session.ok_or_else(|| HostError::NotFound("this call belongs to no session".to_owned()))?;
        Ok((session, max_bytes))
    }
}

impl session_extension::Host for SessionExtensionView<'_> {
    async fn get(&mut self, namespace: String) -> Result<Option<String>, HostError> {
        let (session, _) = self.place()?;
        within(self.call, self.store.get(session, self.plugin, &namespace)).await
    }

    async fn set(&mut self, namespace: String, value: Option<String>) -> Result<(), HostError> {
        let (session, max_bytes) = self.place()?;
        if let Some(value) = &value {
            if value.len() as u64 > max_bytes {
                return Err(HostError::Limit(format!("the value has {} bytes; at most {max_bytes} are granted", value.len())));
            }
            JsonText::parse(value.as_str()).map_err(|error| HostError::Invalid(format!("the value is {error}")))?;
        }
        within(self.call, self.store.set(session, self.plugin, &namespace, value.as_deref())).await
    }
}
