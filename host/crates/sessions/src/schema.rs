//! The tables and how they came to be (sessions 4). Migrations go forward only, all in one transaction; a database of a later version
//! is refused. A migration that was released is never edited: what comes later is a new one at the end of the list.

use domain::AgentId;
use rusqlite::{Connection, OptionalExtension, TransactionBehavior};

use crate::database::OpenError;

/// The tables of one kind of database.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Schema {
    /// What the database is for, as `schema_meta` names it.
    role: &'static str,
    /// SQL that leads from each version to the next; the first one makes the tables.
    migrations: &'static [&'static str],
}

/// Session entries, transcripts and session extensions of one agent.
pub(crate) const AGENT: Schema = Schema { role: "agent", migrations: &[include_str!("schema/agent_1.sql")] };

/// What all agents share.
pub(crate) const STATE: Schema = Schema {
    role: "state",
    migrations: &[
        include_str!("schema/state_1.sql"),
        include_str!("schema/state_2.sql"),
        include_str!("schema/state_3.sql"),
        include_str!("schema/state_4.sql"),
    ],
};

impl Schema {
    fn version(&self) -> i64 {
        i64::try_from(self.migrations.len()).unwrap_or(i64::MAX)
    }
}

/// The version in the file; 0 for a new one.
pub(crate) fn check_version(connection: &Connection, schema: &Schema) -> Result<i64, OpenError> {
    let found = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let known = schema.version();
    if (0..=known).contains(&found) { Ok(found) } else { Err(OpenError::Newer { found, known }) }
}

/// Refuses a database of another program, role or agent (sessions 1.5). Looks at one state of the file: another process may be making
/// its tables just now.
pub(crate) fn check_owner(connection: &mut Connection, schema: &Schema, agent: Option<&AgentId>) -> Result<(), OpenError> {
    let connection = connection.transaction()?;
    let wanted = owner(schema.role, agent.map(AgentId::as_str));
    if check_version(&connection, schema)? == 0 {
        let tables: i64 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
        return if tables == 0 { Ok(()) } else { Err(OpenError::Foreign { found: "another program".to_owned(), wanted }) };
    }
    let found = connection
        .query_row("SELECT role, agent_id FROM schema_meta WHERE meta_key = 'primary'", [], |row| {
            Ok(owner(row.get_ref(0)?.as_str()?, row.get::<_, Option<String>>(1)?.as_deref()))
        })
        .optional()?
        .unwrap_or_else(|| "nobody".to_owned());
    if found == wanted { Ok(()) } else { Err(OpenError::Foreign { found, wanted }) }
}

fn owner(role: &str, agent: Option<&str>) -> String {
    match agent {
        Some(agent) => format!("agent `{agent}`"),
        None => format!("the role `{role}`"),
    }
}

/// Brings the tables up to date in one transaction. Two processes that open a new database at once do it one after the other.
pub(crate) fn migrate(connection: &mut Connection, schema: &Schema, agent: Option<&AgentId>) -> Result<(), OpenError> {
    let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let found = check_version(&tx, schema)?;
    let known = schema.version();
    if found == known {
        return Ok(());
    }
    // `found` lies between 0 and the length of the list.
    for sql in schema.migrations.iter().skip(usize::try_from(found).unwrap_or(0)) {
        tx.execute_batch(sql)?;
    }
    tx.execute(
        "INSERT INTO schema_meta (meta_key, role, agent_id, schema_version, app_version, updated_at)
         VALUES ('primary', ?1, ?2, ?3, ?4, CAST(unixepoch('subsec') * 1000 AS INTEGER))
         ON CONFLICT (meta_key) DO UPDATE SET
            schema_version = excluded.schema_version, app_version = excluded.app_version, updated_at = excluded.updated_at",
        (schema.role, agent.map(AgentId::as_str), known, env!("CARGO_PKG_VERSION")),
    )?;
    tx.pragma_update(None, "user_version", known)?;
    tx.commit()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    const FIRST: Schema = Schema { role: "state", migrations: &[include_str!("schema/state_1.sql")] };
    const GROWN: Schema = Schema {
        role: "state",
        migrations: &[
            include_str!("schema/state_1.sql"),
            "ALTER TABLE plugin_kv ADD COLUMN note TEXT; CREATE TABLE more (x INTEGER) STRICT;",
        ],
    };
    const BROKEN: Schema = Schema {
        role: "state",
        migrations: &[include_str!("schema/state_1.sql"), "CREATE TABLE more (x INTEGER) STRICT; NONSENSE;"],
    };

    fn meta(connection: &Connection) -> (i64, i64) {
        let version = connection.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
        let meta = connection
            .query_row("SELECT schema_version FROM schema_meta WHERE meta_key = 'primary'", [], |row| row.get(0))
            .unwrap();
        (version, meta)
    }

    #[test]
    fn an_older_database_is_brought_up_to_date_and_keeps_its_rows() {
        let mut connection = Connection::open_in_memory().unwrap();
        migrate(&mut connection, &FIRST, None).unwrap();
        connection.execute("INSERT INTO plugin_kv (plugin_id, key, value) VALUES ('p', 'k', x'01')", []).unwrap();
        assert_eq!(meta(&connection), (1, 1));
        migrate(&mut connection, &GROWN, None).unwrap();
        assert_eq!(meta(&connection), (2, 2));
        let kept: i64 = connection.query_row("SELECT count(*) FROM plugin_kv WHERE note IS NULL", [], |row| row.get(0)).unwrap();
        assert_eq!(kept, 1);
        assert!(matches!(migrate(&mut connection, &FIRST, None), Err(OpenError::Newer { found: 2, known: 1 })));
    }

    #[test]
    fn a_migration_that_fails_changes_nothing() {
        let mut connection = Connection::open_in_memory().unwrap();
        migrate(&mut connection, &FIRST, None).unwrap();
        assert!(matches!(migrate(&mut connection, &BROKEN, None), Err(OpenError::Sqlite(_))));
        assert_eq!(meta(&connection), (1, 1));
        let more: i64 =
            connection.query_row("SELECT count(*) FROM sqlite_schema WHERE name = 'more'", [], |row| row.get(0)).unwrap();
        assert_eq!(more, 0);
    }

    #[test]
    fn the_keys_of_an_older_database_are_counted() {
        let mut connection = Connection::open_in_memory().unwrap();
        migrate(&mut connection, &FIRST, None).unwrap();
        for (plugin, key) in [("p", "a"), ("p", "b"), ("q", "a")] {
            connection.execute("INSERT INTO plugin_kv (plugin_id, key, value) VALUES (?1, ?2, x'01')", (plugin, key)).unwrap();
        }
        connection.execute("DELETE FROM plugin_kv WHERE plugin_id = 'q'", []).unwrap();
        migrate(&mut connection, &STATE, None).unwrap();
        let counted = |connection: &Connection, plugin: &str| -> (i64, i64) {
            let sql = "SELECT keys, bytes FROM plugin_kv_usage WHERE plugin_id = ?1";
            connection.query_row(sql, [plugin], |row| Ok((row.get(0)?, row.get(1)?))).unwrap()
        };
        assert_eq!((counted(&connection, "p"), counted(&connection, "q")), ((2, 4), (0, 0)));
        connection.execute("DELETE FROM plugin_kv WHERE key = 'b'", []).unwrap();
        connection.execute("INSERT INTO plugin_kv (plugin_id, key, value) VALUES ('q', 'long', x'')", []).unwrap();
        assert_eq!((counted(&connection, "p"), counted(&connection, "q")), ((1, 2), (1, 4)));
    }

    #[test]
    fn every_table_is_strict() {
        for (schema, agent) in [(AGENT, Some(AgentId::main())), (STATE, None)] {
            let mut connection = Connection::open_in_memory().unwrap();
            migrate(&mut connection, &schema, agent.as_ref()).unwrap();
            let lax: i64 = connection
                .query_row(
                    "SELECT count(*) FROM pragma_table_list WHERE type = 'table' AND strict = 0 AND name NOT LIKE 'sqlite_%'",
                    [],
                    |row| row.get(0),
                )
                .unwrap();
            assert_eq!(lax, 0);
        }
    }

    #[test]
    fn a_database_of_somebody_else_is_refused() {
        let mut connection = Connection::open_in_memory().unwrap();
        migrate(&mut connection, &AGENT, Some(&AgentId::main())).unwrap();
        assert!(check_owner(&mut connection, &AGENT, Some(&AgentId::main())).is_ok());
        let other = check_owner(&mut connection, &AGENT, Some(&AgentId::new("ops"))).unwrap_err();
        assert!(other.to_string().contains("belongs to agent `main`, not to agent `ops`"), "{other}");
        assert!(matches!(check_owner(&mut connection, &STATE, None), Err(OpenError::Foreign { .. })));

        let mut stranger = Connection::open_in_memory().unwrap();
        stranger.execute_batch("CREATE TABLE songs (title TEXT)").unwrap();
        let refused = check_owner(&mut stranger, &STATE, None).unwrap_err();
        assert!(refused.to_string().contains("another program"), "{refused}");
    }
}
