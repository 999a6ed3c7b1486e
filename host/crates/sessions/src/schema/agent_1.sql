-- Tables of an agent's database, version 1 (sessions 4). Times are milliseconds since 1970-01-01 UTC.
-- Derived tables of the specification (active path, full text) and the ones of later parts (queue, compaction) come with their users:
-- the active path is read in one descending scan, because a parent always has a smaller seq than its child.

CREATE TABLE schema_meta (
    meta_key        TEXT NOT NULL PRIMARY KEY,
    role            TEXT NOT NULL,
    agent_id        TEXT,
    schema_version  INTEGER NOT NULL,
    app_version     TEXT NOT NULL,
    updated_at      INTEGER NOT NULL
) STRICT;

-- One row per conversation. What has a column is not repeated in entry_json.
-- writer_*: the run that may append (sessions 3.6), the process and store that it runs in, and since when.
CREATE TABLE session_entries (
    session_key          TEXT NOT NULL PRIMARY KEY,
    session_id           TEXT NOT NULL REFERENCES sessions (session_id),
    entry_json           TEXT NOT NULL,
    status               TEXT,
    session_started_at   INTEGER NOT NULL,
    last_interaction_at  INTEGER NOT NULL,
    updated_at           INTEGER NOT NULL,
    archived_at          INTEGER,
    generation           INTEGER NOT NULL,
    writer_run_id        TEXT,
    writer_owner         TEXT,
    writer_since         INTEGER,
    CHECK ((writer_run_id IS NULL) = (writer_owner IS NULL))
) STRICT;
CREATE INDEX session_entries_by_id ON session_entries (session_id);
CREATE INDEX session_entries_by_update ON session_entries (updated_at);

-- One row per transcript, that is per generation of a conversation.
CREATE TABLE sessions (
    session_id         TEXT NOT NULL PRIMARY KEY,
    session_key        TEXT NOT NULL,
    agent_id           TEXT NOT NULL,
    created_at         INTEGER NOT NULL,
    parent_session_id  TEXT,
    leaf_entry_id      TEXT NOT NULL,
    closed_at          INTEGER,
    close_reason       TEXT
) STRICT;
CREATE INDEX sessions_by_key ON sessions (session_key);

-- Append only. seq counts from 0 (the header) without gaps. event_json is the event with its type, without what has a column.
CREATE TABLE transcript_events (
    session_id       TEXT NOT NULL REFERENCES sessions (session_id),
    seq              INTEGER NOT NULL CHECK (seq >= 0),
    event_id         TEXT NOT NULL,
    parent_id        TEXT,
    event_type       TEXT NOT NULL,
    event_json       TEXT NOT NULL,
    created_at       INTEGER NOT NULL,
    idempotency_key  TEXT,
    PRIMARY KEY (session_id, seq),
    UNIQUE (session_id, event_id),
    CHECK ((seq = 0) = (parent_id IS NULL))
) STRICT;
CREATE UNIQUE INDEX transcript_events_by_idempotency_key
    ON transcript_events (session_id, idempotency_key) WHERE idempotency_key IS NOT NULL;

-- Small values of plugins that end with the conversation's current transcript.
CREATE TABLE session_extensions (
    session_key  TEXT NOT NULL REFERENCES session_entries (session_key) ON DELETE CASCADE,
    plugin_id    TEXT NOT NULL,
    namespace    TEXT NOT NULL,
    value_json   TEXT NOT NULL,
    PRIMARY KEY (session_key, plugin_id, namespace)
) STRICT;
