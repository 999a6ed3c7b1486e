//! The port `CircuitStore` on the shared database: a row for each plugin and hook that has trouble. When a circuit opens is decided
//! elsewhere.

use async_trait::async_trait;
use domain::circuit::{CircuitRecord, CircuitStore, OpenCircuit};
use domain::ids::PluginId;
use domain::ports::StateError;
use rusqlite::{Row, Transaction};

use crate::failure::Failure;
use crate::kv::SqlitePluginKv;
use crate::time::{column, from_column};

type Result<T> = std::result::Result<T, StateError>;

#[async_trait]
impl CircuitStore for SqlitePluginKv {
    async fn load(&self) -> Result<Vec<CircuitRecord>> {
        let Some(database) = self.database().existing::<StateError>().await? else { return Ok(Vec::new()) };
        database.read(records).await
    }

    async fn save(&self, record: CircuitRecord) -> Result<()> {
        let database = self.database().get::<StateError>().await?;
        database.write(move |tx| put(tx, &record)).await
    }

    async fn forget(&self, plugin: &PluginId, hook: Option<&str>) -> Result<u64> {
        let Some(database) = self.database().existing::<StateError>().await? else { return Ok(0) };
        let (plugin, hook) = (plugin.clone(), hook.map(str::to_owned));
        database.write(move |tx| remove(tx, plugin.as_str(), hook.as_deref())).await
    }
}

fn records(tx: &Transaction<'_>) -> std::result::Result<Vec<CircuitRecord>, Failure<StateError>> {
    let mut statement = tx.prepare_cached(
        "SELECT plugin_id, hook, component, handler, failures, cause, cooldown_ms, open_since, probe_at FROM plugin_circuits
         ORDER BY plugin_id, hook",
    )?;
    let rows = statement.query_map([], record)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

fn record(row: &Row<'_>) -> rusqlite::Result<CircuitRecord> {
    let time = |at| Ok::<_, rusqlite::Error>(row.get::<_, Option<i64>>(at)?.map(from_column));
    Ok(CircuitRecord {
        plugin: PluginId::new(row.get::<_, String>(0)?),
        hook: row.get(1)?,
        component: row.get(2)?,
        handler: row.get(3)?,
        failures: row.get(4)?,
        cause: row.get(5)?,
        cooldown_ms: time(6)?.unwrap_or(0),
        open: time(7)?.zip(time(8)?).map(|(since, probe_at)| OpenCircuit { since, probe_at }),
    })
}

fn put(tx: &Transaction<'_>, record: &CircuitRecord) -> std::result::Result<(), Failure<StateError>> {
    tx.prepare_cached(
        "INSERT OR REPLACE INTO plugin_circuits
            (plugin_id, hook, component, handler, failures, cause, cooldown_ms, open_since, probe_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    )?
    .execute((
        record.plugin.as_str(),
        &record.hook,
        &record.component,
        &record.handler,
        record.failures,
        &record.cause,
        column(record.cooldown_ms),
        record.open.map(|open| column(open.since)),
        record.open.map(|open| column(open.probe_at)),
    ))?;
    Ok(())
}

/// Removes the rows of a plugin, or that of one hook of it; returns how many there were.
pub(crate) fn remove(tx: &Transaction<'_>, plugin: &str, hook: Option<&str>) -> std::result::Result<u64, Failure<StateError>> {
    let removed = tx
        .prepare_cached("DELETE FROM plugin_circuits WHERE plugin_id = ?1 AND (?2 IS NULL OR hook = ?2)")?
        .execute((plugin, hook))?;
    Ok(removed as u64)
}
