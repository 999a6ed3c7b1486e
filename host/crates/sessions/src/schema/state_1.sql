-- Tables of the shared database, version 1. Times are milliseconds since 1970-01-01 UTC.

CREATE TABLE schema_meta (
    meta_key        TEXT NOT NULL PRIMARY KEY,
    role            TEXT NOT NULL,
    agent_id        TEXT,
    schema_version  INTEGER NOT NULL,
    app_version     TEXT NOT NULL,
    updated_at      INTEGER NOT NULL
) STRICT;

-- Key-value state of plugins. A row whose time is up does not exist for any reader.
CREATE TABLE plugin_kv (
    plugin_id   TEXT NOT NULL,
    key         TEXT NOT NULL,
    value       BLOB NOT NULL,
    expires_at  INTEGER,
    PRIMARY KEY (plugin_id, key)
) STRICT;
CREATE INDEX plugin_kv_by_expiry ON plugin_kv (plugin_id, expires_at) WHERE expires_at IS NOT NULL;

-- Bytes of all keys and values of a plugin, kept by the triggers below, so that a quota check does not read the whole table and no
-- write can forget to count.
CREATE TABLE plugin_kv_usage (
    plugin_id  TEXT NOT NULL PRIMARY KEY,
    bytes      INTEGER NOT NULL CHECK (bytes >= 0)
) STRICT;

CREATE TRIGGER plugin_kv_inserted AFTER INSERT ON plugin_kv BEGIN
    INSERT INTO plugin_kv_usage VALUES (new.plugin_id, octet_length(new.key) + octet_length(new.value))
    ON CONFLICT (plugin_id) DO UPDATE SET bytes = bytes + excluded.bytes;
END;

CREATE TRIGGER plugin_kv_updated AFTER UPDATE OF value ON plugin_kv BEGIN
    UPDATE plugin_kv_usage SET bytes = bytes + octet_length(new.value) - octet_length(old.value) WHERE plugin_id = new.plugin_id;
END;

CREATE TRIGGER plugin_kv_deleted AFTER DELETE ON plugin_kv BEGIN
    UPDATE plugin_kv_usage SET bytes = bytes - octet_length(old.key) - octet_length(old.value) WHERE plugin_id = old.plugin_id;
END;
