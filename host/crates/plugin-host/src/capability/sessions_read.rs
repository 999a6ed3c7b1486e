//! `sessions-read`: sessions and transcripts of granted agents. Nothing is written, and sizes are bounded by the host, whatever the guest
//! asks for.

use domain::ports::StateError;
use domain::session::{PageStart, SessionEntry, SessionQuery, SessionReader, StoreError};
use domain::{AgentId, JsonText, SessionKey};

use super::{capability, within};
use crate::bindings::creel::plugin::{sessions_read, types::HostError, types::TranscriptTail};
use crate::grant::{Capability, Names};
use crate::state::{Call, PluginFacts, State};
use crate::told::Told;

/// Most sessions of one page.
const MAX_PAGE: u32 = 200;

/// Most messages of one tail.
const MAX_TAIL_MESSAGES: u32 = 1_000;

/// Most JSON text of one tail, in bytes: it is in the host's memory as a whole, and then in the guest's.
const MAX_TAIL_BYTES: u32 = 4 << 20;

/// Sessions for one call of a plugin.
pub(crate) struct SessionsReadView<'a> {
    reader: &'a dyn SessionReader,
    plugin: &'a PluginFacts,
    call: &'a Call,
    told: &'a Told,
}

capability! {
    /// `creel:plugin/sessions-read`.
    SessionsRead => SessionsReadView
}

impl State {
    pub(crate) fn sessions_read(&mut self) -> SessionsReadView<'_> {
        SessionsReadView { reader: &*self.plugin.ports.sessions, plugin: &self.plugin, call: &self.call, told: &self.told }
    }
}

impl SessionsReadView<'_> {
    fn denied(&self, agent: &str) -> HostError {
        let (id, agent) = (&self.plugin.id, hooks::fault::one_line(agent, 64));
        let sentence = format!(
            "sessions of the agent `{agent}` are not granted; to allow reading them add \"{agent}\" to \
             plugins.entries.{id}.capabilities.sessionsRead"
        );
        self.told.refused(id, self.call.surface, Capability::SessionsRead, &sentence);
        HostError::Denied(sentence)
    }

    /// The agents to look at. None: all.
    fn agents(&self, asked: Option<String>) -> Result<Option<Vec<AgentId>>, HostError> {
        match (asked, &self.plugin.grants.sessions_read) {
            (Some(agent), Some(granted)) if granted.covers(&agent) => match AgentId::parse(&agent) {
                Ok(agent) => Ok(Some(vec![agent])),
                Err(error) => Err(HostError::Invalid(error.to_string())),
            },
            (Some(agent), _) => Err(self.denied(&agent)),
            (None, Some(Names::All)) => Ok(None),
            (None, Some(Names::Only(names))) => Ok(Some(names.iter().filter_map(|name| AgentId::parse(name).ok()).collect())),
            (None, None) => Ok(Some(Vec::new())),
        }
    }

    /// A key that the guest named, of a granted agent. One without its agent belongs to the agent of the call.
    fn key(&self, text: &str) -> Result<SessionKey, HostError> {
        let agent = self.call.session.as_ref().map_or_else(AgentId::main, |session| session.agent().clone());
        let key = SessionKey::parse(text, None, &agent).map_err(|error| HostError::Invalid(error.to_string()))?;
        match &self.plugin.grants.sessions_read {
            Some(granted) if granted.covers(key.agent().as_str()) => Ok(key),
            _ => Err(self.denied(key.agent().as_str())),
        }
    }
}

impl sessions_read::Host for SessionsReadView<'_> {
    async fn list_sessions(
        &mut self,
        filter: sessions_read::Filter,
        cursor: Option<String>,
        limit: u32,
    ) -> Result<sessions_read::Page, HostError> {
        let after: Option<PageStart> = cursor
            .map(|cursor| serde_json::from_str(&cursor))
            .transpose()
            .map_err(|_| HostError::Invalid("the cursor is not one that this function gave".to_owned()))?;
        let query = SessionQuery {
            agents: self.agents(filter.agent_id)?,
            key_prefix: filter.key_prefix,
            updated_since: filter.updated_since,
            after,
            limit: if limit == 0 { MAX_PAGE } else { limit.min(MAX_PAGE) },
        };
        let page = within(self.call, async { self.reader.page(query).await.map_err(|error| of_store(&error)) }).await?;
        Ok(sessions_read::Page {
            sessions: page.sessions.iter().map(|summary| shown(&summary.key, &summary.entry)).collect(),
            cursor: page.next.map(|next| JsonText::from_value(&next).as_str().to_owned()),
        })
    }

    async fn get_session(&mut self, session_key: String) -> Result<Option<sessions_read::Session>, HostError> {
        let key = self.key(&session_key)?;
        let found = within(self.call, async { self.reader.session(&key).await.map_err(|error| of_store(&error)) }).await?;
        Ok(found.map(|entry| shown(&key, &entry)))
    }

    async fn read_tail(&mut self, session_key: String, max_messages: u32, max_bytes: u32) -> Result<TranscriptTail, HostError> {
        let key = self.key(&session_key)?;
        if max_messages == 0 || max_bytes == 0 {
            return Err(HostError::Invalid("both limits must be above 0".to_owned()));
        }
        let (messages, bytes) = (max_messages.min(MAX_TAIL_MESSAGES), max_bytes.min(MAX_TAIL_BYTES));
        let reading = async { self.reader.message_tail(&key, messages, bytes).await.map_err(|error| of_store(&error)) };
        let Some(tail) = within(self.call, reading).await? else {
            return Err(HostError::NotFound(format!("there is no session `{key}`")));
        };
        Ok(TranscriptTail {
            messages: tail.messages.iter().map(|json| json.as_str().to_owned()).collect(),
            total_messages: u32::try_from(tail.total).unwrap_or(u32::MAX),
            truncated: tail.truncated,
        })
    }
}

fn shown(key: &SessionKey, entry: &SessionEntry) -> sessions_read::Session {
    sessions_read::Session {
        session_key: key.as_str().to_owned(),
        session_id: entry.session_id.clone(),
        agent_id: key.agent().as_str().to_owned(),
        label: entry.extra.get("label").and_then(|label| label.as_str()).map(str::to_owned),
        updated_at: entry.updated_at,
        entry: JsonText::from_value(entry).as_str().to_owned(),
    }
}

/// A failed store for a guest. The text would name files of this machine, so it goes into the log.
fn of_store(error: &StoreError) -> StateError {
    tracing::warn!("a plugin could not read sessions: {error}");
    StateError::Unavailable("the sessions cannot be read now".to_owned())
}
