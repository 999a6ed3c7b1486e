-- Tables of the shared database, version 4: keys of messages that plugins sent, so that none goes out twice. Only the key is kept.

CREATE TABLE plugin_sent_keys (
    plugin_id        TEXT NOT NULL,
    idempotency_key  TEXT NOT NULL,
    expires_at       INTEGER NOT NULL,
    PRIMARY KEY (plugin_id, idempotency_key)
) STRICT;
CREATE INDEX plugin_sent_keys_by_expiry ON plugin_sent_keys (expires_at);
