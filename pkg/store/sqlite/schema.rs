//! The tables, by schema version.

use super::{audit_schema::AUDIT, secret_tables::SECRET_TABLE};

/// The application id of a file of this library, in the header of the file: `FoLn`.
pub(super) const APPLICATION_ID: i64 = 0x466f_4c6e;

/// The statements that migrate a file from each version to the next.
pub(super) const MIGRATIONS: [&str; 8] =
    [VERSION_1, VERSION_2, VERSION_3, VERSION_4, VERSION_5, VERSION_6, SECRET_TABLE, AUDIT];

const VERSION_1: &str = "
CREATE TABLE log (
    id INTEGER PRIMARY KEY, scope TEXT NOT NULL, name TEXT NOT NULL,
    ends INTEGER NOT NULL DEFAULT 0, bytes INTEGER NOT NULL DEFAULT 0,
    -- 0 is open, 1 closed, 2 retired.
    state INTEGER NOT NULL DEFAULT 0, is_packed INTEGER NOT NULL DEFAULT 0,
    changed_ms INTEGER NOT NULL DEFAULT 0, UNIQUE (scope, name));
CREATE INDEX log_by_age ON log (state, changed_ms, id);
CREATE INDEX log_to_pack ON log (id) WHERE state = 1 AND is_packed = 0;
-- Records that follow one another.
CREATE TABLE chunk (
    log INTEGER NOT NULL, begins INTEGER NOT NULL, count INTEGER NOT NULL,
    is_packed INTEGER NOT NULL DEFAULT 0, data BLOB NOT NULL, UNIQUE (log, begins));

CREATE TABLE conversation (
    id INTEGER PRIMARY KEY, scope TEXT NOT NULL, name TEXT NOT NULL, owner TEXT NOT NULL,
    agent TEXT NOT NULL, title TEXT, status INTEGER NOT NULL DEFAULT 0,
    created_ms INTEGER NOT NULL, updated_ms INTEGER NOT NULL,
    entries INTEGER NOT NULL DEFAULT 0, messages INTEGER NOT NULL DEFAULT 0,
    UNIQUE (scope, name));
CREATE INDEX conversation_by_age ON conversation (scope, updated_ms, name);
CREATE TABLE line (
    conversation INTEGER NOT NULL, number INTEGER NOT NULL, text TEXT NOT NULL,
    UNIQUE (conversation, number));
CREATE TABLE message (
    conversation INTEGER NOT NULL, number INTEGER NOT NULL, at_ms INTEGER NOT NULL,
    text TEXT NOT NULL, UNIQUE (conversation, number));
CREATE TABLE blob (hash BLOB PRIMARY KEY, text TEXT NOT NULL);
CREATE TABLE blob_use (
    conversation INTEGER NOT NULL, hash BLOB NOT NULL, PRIMARY KEY (conversation, hash));
CREATE INDEX blob_use_by_hash ON blob_use (hash);

CREATE TABLE run (
    id INTEGER PRIMARY KEY, scope TEXT NOT NULL, name TEXT NOT NULL,
    conversation TEXT NOT NULL, owner TEXT NOT NULL, agent TEXT NOT NULL,
    progress TEXT NOT NULL, request TEXT, digest INTEGER, input TEXT,
    resumed INTEGER NOT NULL DEFAULT 0, begun_ms INTEGER NOT NULL, ended_ms INTEGER,
    run_end TEXT, usage TEXT, UNIQUE (scope, name));
CREATE INDEX run_by_age ON run (scope, begun_ms, name);
CREATE INDEX run_by_end ON run (ended_ms, id) WHERE ended_ms IS NOT NULL;
CREATE INDEX run_open ON run (id) WHERE ended_ms IS NULL;
CREATE UNIQUE INDEX run_by_request ON run (scope, owner, request) WHERE request IS NOT NULL;

CREATE TABLE notification (
    scope TEXT NOT NULL, number INTEGER NOT NULL, id TEXT NOT NULL, kind TEXT NOT NULL,
    data TEXT NOT NULL, at_ms INTEGER NOT NULL, PRIMARY KEY (scope, number)) WITHOUT ROWID;

CREATE TABLE latency (
    id INTEGER PRIMARY KEY, scope TEXT NOT NULL, number INTEGER NOT NULL,
    at_ms INTEGER NOT NULL, record TEXT NOT NULL, UNIQUE (scope, number));
CREATE INDEX latency_by_age ON latency (scope, at_ms);
";

/// The column for the members of a run's request besides the input.
const VERSION_2: &str = "ALTER TABLE run ADD COLUMN about TEXT;";

/// The trigger that moves the end of a growing log. Packing a closed log does not move it.
const VERSION_3: &str = "
CREATE TRIGGER log_grows AFTER INSERT ON chunk BEGIN
    UPDATE log SET ends = ends + NEW.count, bytes = bytes + length(NEW.data)
    WHERE id = NEW.log AND ends = NEW.begins AND state = 0;
END;";

/// The index for the runs of a conversation.
const VERSION_4: &str =
    "CREATE INDEX run_by_conversation ON run (scope, conversation, begun_ms, name);";

/// The notes of runs that have not ended, which end with their run.
const VERSION_5: &str = "
CREATE TABLE run_note (
    id INTEGER PRIMARY KEY, run INTEGER NOT NULL, name TEXT NOT NULL, data TEXT NOT NULL,
    UNIQUE (run, name));
CREATE TRIGGER run_ends AFTER UPDATE OF ended_ms ON run WHEN NEW.ended_ms IS NOT NULL BEGIN
    DELETE FROM run_note WHERE run = NEW.id;
END;
CREATE TRIGGER run_is_buried AFTER UPDATE OF owner ON run WHEN NEW.owner = '' BEGIN
    DELETE FROM run_note WHERE run = NEW.id;
END;
CREATE TRIGGER run_is_deleted AFTER DELETE ON run BEGIN
    DELETE FROM run_note WHERE run = OLD.id;
END;";

/// The owners of runs, and the commands to them. Runs of earlier versions have no owner.
const VERSION_6: &str = "
ALTER TABLE run ADD COLUMN epoch INTEGER NOT NULL DEFAULT 0;
ALTER TABLE run ADD COLUMN node TEXT;
ALTER TABLE run ADD COLUMN takeovers INTEGER NOT NULL DEFAULT 0;
ALTER TABLE run ADD COLUMN not_before_ms INTEGER;
ALTER TABLE run ADD COLUMN version INTEGER NOT NULL DEFAULT 0;
CREATE INDEX run_by_writer ON run (scope, name, epoch);
CREATE TABLE command (
    id INTEGER PRIMARY KEY, run INTEGER NOT NULL, key TEXT NOT NULL, kind TEXT NOT NULL,
    body TEXT NOT NULL, answer TEXT, UNIQUE (run, key));
CREATE INDEX command_open ON command (run) WHERE answer IS NULL;
CREATE TRIGGER run_ends_its_commands AFTER UPDATE OF ended_ms ON run WHEN NEW.ended_ms IS NOT NULL BEGIN
    DELETE FROM command WHERE run = NEW.id AND answer IS NULL;
END;
CREATE TRIGGER run_is_buried_with_its_commands AFTER UPDATE OF owner ON run WHEN NEW.owner = '' BEGIN
    DELETE FROM command WHERE run = NEW.id;
END;
CREATE TRIGGER run_is_deleted_with_its_commands AFTER DELETE ON run BEGIN
    DELETE FROM command WHERE run = OLD.id;
END;";
