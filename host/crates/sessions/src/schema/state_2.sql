-- Tables of the shared database, version 2: the keys of a plugin are counted as their bytes are, for the quota of keys.

ALTER TABLE plugin_kv_usage ADD COLUMN keys INTEGER NOT NULL DEFAULT 0 CHECK (keys >= 0);
UPDATE plugin_kv_usage SET keys = (SELECT count(*) FROM plugin_kv WHERE plugin_kv.plugin_id = plugin_kv_usage.plugin_id);

DROP TRIGGER plugin_kv_inserted;
CREATE TRIGGER plugin_kv_inserted AFTER INSERT ON plugin_kv BEGIN
    INSERT INTO plugin_kv_usage (plugin_id, bytes, keys)
    VALUES (new.plugin_id, octet_length(new.key) + octet_length(new.value), 1)
    ON CONFLICT (plugin_id) DO UPDATE SET bytes = bytes + excluded.bytes, keys = keys + 1;
END;

DROP TRIGGER plugin_kv_deleted;
CREATE TRIGGER plugin_kv_deleted AFTER DELETE ON plugin_kv BEGIN
    UPDATE plugin_kv_usage SET bytes = bytes - octet_length(old.key) - octet_length(old.value), keys = keys - 1
    WHERE plugin_id = old.plugin_id;
END;
