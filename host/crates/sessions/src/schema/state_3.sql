-- Tables of the shared database, version 3: circuits of plugins that failed. A plugin without trouble has no row.

CREATE TABLE plugin_circuits (
    plugin_id TEXT NOT NULL,
    hook TEXT NOT NULL,
    -- SHA-256 of the component, hex: a row of another component says nothing about this one.
    component TEXT NOT NULL,
    -- The handler that failed last; empty: it has no name.
    handler TEXT NOT NULL,
    failures INTEGER NOT NULL CHECK (failures >= 0),
    cause TEXT NOT NULL,
    cooldown_ms INTEGER NOT NULL CHECK (cooldown_ms >= 0),
    -- Milliseconds since 1970-01-01 UTC; both NULL: closed.
    open_since INTEGER,
    probe_at INTEGER,
    PRIMARY KEY (plugin_id, hook),
    CHECK ((open_since IS NULL) = (probe_at IS NULL))
) STRICT, WITHOUT ROWID;
