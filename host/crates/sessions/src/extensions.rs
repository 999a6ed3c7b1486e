//! The port `SessionExtensions` on SQLite: small JSON values of plugins that belong to a conversation and end with its transcript.
//! They lie in the agent's database, so that a fresh transcript drops them in the transaction that makes it.

use async_trait::async_trait;
use domain::JsonText;
use domain::SessionKey;
use domain::ids::PluginId;
use domain::ports::{SessionExtensions, StateError};
use rusqlite::{OptionalExtension, Transaction};

use crate::failure::Failure;
use crate::store::SqliteSessions;

/// Largest value in bytes. They are meant for marks and counters; larger state belongs into the key-value store, which has a quota.
pub const MAX_EXTENSION_BYTES: usize = 64 * 1024;

/// Most namespaces of a plugin in one session. With the limit above it bounds what a plugin can make a session weigh.
pub const MAX_EXTENSION_NAMESPACES: u32 = 32;

/// Longest namespace in bytes.
pub const MAX_NAMESPACE_BYTES: usize = 128;

type Result<T> = std::result::Result<T, Failure<StateError>>;

#[async_trait]
impl SessionExtensions for SqliteSessions {
    async fn get(
        &self,
        session: &SessionKey,
        plugin: &PluginId,
        namespace: &str,
    ) -> std::result::Result<Option<String>, StateError> {
        check_namespace(namespace)?;
        let database = self.database::<StateError>(session.agent())?;
        let Some(database) = database.existing::<StateError>().await? else { return Err(no_session(session)) };
        let slot = Slot::new(session, plugin, namespace);
        database.read(move |tx| slot.get(tx)).await
    }

    async fn set(
        &self,
        session: &SessionKey,
        plugin: &PluginId,
        namespace: &str,
        json: Option<&str>,
    ) -> std::result::Result<(), StateError> {
        check_namespace(namespace)?;
        json.map_or(Ok(()), check_value)?;
        let database = self.database::<StateError>(session.agent())?;
        let Some(database) = database.existing::<StateError>().await? else { return Err(no_session(session)) };
        let (slot, json) = (Slot::new(session, plugin, namespace), json.map(str::to_owned));
        database
            .write(move |tx| match json {
                Some(json) => slot.put(tx, &json),
                None => slot.clear(tx),
            })
            .await
    }
}

impl SqliteSessions {
    /// Removes all values of a plugin in the sessions of all agents, because it was uninstalled; returns how many there were.
    ///
    /// # Errors
    /// [`StateError::Unavailable`] when a database fails.
    pub async fn remove_plugin(&self, plugin: &PluginId) -> std::result::Result<u64, StateError> {
        let agents = self.agent_ids().await.map_err(|error| StateError::Unavailable(error.to_string()))?;
        let mut removed = 0;
        for agent in agents {
            let database = self.database::<StateError>(&agent)?;
            let Some(database) = database.existing::<StateError>().await? else { continue };
            let plugin = plugin.clone();
            removed += database
                .write(move |tx| Ok(tx.execute("DELETE FROM session_extensions WHERE plugin_id = ?1", [plugin.as_str()])? as u64))
                .await?;
        }
        Ok(removed)
    }
}

/// Where one value lies.
struct Slot {
    session: SessionKey,
    plugin: PluginId,
    namespace: String,
}

impl Slot {
    fn new(session: &SessionKey, plugin: &PluginId, namespace: &str) -> Self {
        Self { session: session.clone(), plugin: plugin.clone(), namespace: namespace.to_owned() }
    }

    fn key(&self) -> (&str, &str, &str) {
        (self.session.as_str(), self.plugin.as_str(), &self.namespace)
    }

    fn get(&self, tx: &Transaction<'_>) -> Result<Option<String>> {
        self.check_session(tx)?;
        let mut statement = tx.prepare_cached(
            "SELECT value_json FROM session_extensions WHERE session_key = ?1 AND plugin_id = ?2 AND namespace = ?3",
        )?;
        Ok(statement.query_row(self.key(), |row| row.get(0)).optional()?)
    }

    fn put(&self, tx: &Transaction<'_>, json: &str) -> Result<()> {
        self.check_session(tx)?;
        let (session, plugin, namespace) = self.key();
        let others: u32 = tx
            .prepare_cached(
                "SELECT count(*) FROM session_extensions WHERE session_key = ?1 AND plugin_id = ?2 AND namespace <> ?3",
            )?
            .query_row(self.key(), |row| row.get(0))?;
        if others >= MAX_EXTENSION_NAMESPACES {
            let limit =
                format!("a plugin may keep {MAX_EXTENSION_NAMESPACES} namespaces in a session; remove one before adding another");
            return Err(StateError::Limit(limit).into());
        }
        tx.prepare_cached(
            "INSERT INTO session_extensions (session_key, plugin_id, namespace, value_json) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT DO UPDATE SET value_json = excluded.value_json",
        )?
        .execute((session, plugin, namespace, json))?;
        Ok(())
    }

    fn clear(&self, tx: &Transaction<'_>) -> Result<()> {
        self.check_session(tx)?;
        tx.prepare_cached("DELETE FROM session_extensions WHERE session_key = ?1 AND plugin_id = ?2 AND namespace = ?3")?
            .execute(self.key())?;
        Ok(())
    }

    fn check_session(&self, tx: &Transaction<'_>) -> Result<()> {
        let exists =
            tx.prepare_cached("SELECT 1 FROM session_entries WHERE session_key = ?1")?.exists([self.session.as_str()])?;
        if exists { Ok(()) } else { Err(no_session(&self.session).into()) }
    }
}

fn no_session(session: &SessionKey) -> StateError {
    StateError::NotFound(format!("there is no session `{session}`, so there is nothing to extend"))
}

fn check_namespace(namespace: &str) -> std::result::Result<(), StateError> {
    match namespace.len() {
        1..=MAX_NAMESPACE_BYTES => Ok(()),
        bytes => Err(StateError::Invalid(format!("a namespace has 1 to {MAX_NAMESPACE_BYTES} bytes, this one has {bytes}"))),
    }
}

fn check_value(json: &str) -> std::result::Result<(), StateError> {
    if json.len() > MAX_EXTENSION_BYTES {
        let bytes = json.len();
        return Err(StateError::Limit(format!("the value has {bytes} bytes; a session extension holds {MAX_EXTENSION_BYTES}")));
    }
    JsonText::parse(json).map(drop).map_err(|error| StateError::Invalid(format!("the value is {error}")))
}
