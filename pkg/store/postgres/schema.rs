//! The tables, by schema version. All are in the schema `forgeline` of the database.

use super::{audit_schema::AUDIT, secret_tables::SECRETS};

/// A step from one version of the schema to the next.
pub(super) struct SchemaStep {
    /// The statements that go forward.
    pub(super) up: &'static [&'static str],
    /// The statements that go back to the version before. They drop what that version cannot keep.
    pub(super) down: &'static str,
}

/// The steps, the first of which makes an empty schema version 1.
pub(super) const STEPS: [SchemaStep; 2] = [
    SchemaStep { up: &[VERSION_1], down: DOWN_1 },
    SchemaStep { up: &[VERSION_2, SECRETS, AUDIT], down: DOWN_2 },
];

/// Version 1 goes back to an empty database.
const DOWN_1: &str = "DROP SCHEMA forgeline CASCADE;";

/// The numbers of open requests and streams of scopes at a node; scopes with few of them are left out.
const VERSION_2: &str = "
ALTER TABLE forgeline.node ADD COLUMN held_scopes text[] NOT NULL DEFAULT '{}',
    ADD COLUMN held_counts bigint[] NOT NULL DEFAULT '{}';
";

const DOWN_2: &str = "DROP TABLE forgeline.audit, forgeline.audit_head, forgeline.secret, forgeline.provider_profile;
ALTER TABLE forgeline.node DROP COLUMN held_scopes, DROP COLUMN held_counts;
";

const VERSION_1: &str = r#"
CREATE SCHEMA IF NOT EXISTS forgeline;
-- One row: the program that the schema belongs to, and its version.
CREATE TABLE forgeline.about (program text NOT NULL, version integer NOT NULL);
INSERT INTO forgeline.about VALUES ('forgeline', 0);

-- A process of the service. The lock of the session that it holds is (1718579820, lock_key).
CREATE TABLE forgeline.node (
    id text COLLATE "C" PRIMARY KEY, lock_key integer GENERATED ALWAYS AS IDENTITY UNIQUE,
    -- When its session began, which holds the lock unless a pooler shares sessions.
    session_at timestamptz NOT NULL, has_lock boolean NOT NULL,
    beat_at timestamptz NOT NULL, until timestamptz NOT NULL,
    version text NOT NULL DEFAULT '', draining boolean NOT NULL DEFAULT false);

CREATE TABLE forgeline.run (
    no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, scope text COLLATE "C" NOT NULL, id text COLLATE "C" NOT NULL,
    -- The node whose claim is the newest, if it was not released; each claim and each reaping has the next epoch.
    node text, epoch bigint NOT NULL DEFAULT 0, takeovers integer NOT NULL DEFAULT 0,
    not_before timestamptz, state_version integer NOT NULL DEFAULT 0,
    conversation text NOT NULL, owner text NOT NULL, agent text NOT NULL, progress text NOT NULL,
    request text, digest bigint, input text, about text, resumed integer NOT NULL DEFAULT 0,
    begun_ms bigint NOT NULL, ended_ms bigint, run_end text, usage text, UNIQUE (scope, id))
    WITH (fillfactor = 50);
CREATE INDEX run_by_age ON forgeline.run (scope, begun_ms, id);
CREATE INDEX run_by_conversation ON forgeline.run (scope, conversation, begun_ms, id);
CREATE INDEX run_by_end ON forgeline.run (ended_ms, no) WHERE ended_ms IS NOT NULL;
CREATE INDEX run_open ON forgeline.run (no) WHERE ended_ms IS NULL;
CREATE INDEX run_free ON forgeline.run (no) WHERE ended_ms IS NULL AND node IS NULL;
CREATE INDEX run_open_in ON forgeline.run (scope, conversation, begun_ms, id) WHERE ended_ms IS NULL;
CREATE INDEX run_by_node ON forgeline.run (node) WHERE node IS NOT NULL;
CREATE UNIQUE INDEX run_by_request ON forgeline.run (scope, owner, request) WHERE request IS NOT NULL;
CREATE TABLE forgeline.run_note (
    no bigint GENERATED ALWAYS AS IDENTITY, run bigint NOT NULL, name text COLLATE "C" NOT NULL,
    data text NOT NULL, PRIMARY KEY (run, name));
-- What people and clients send to a run, and what its owner answered.
CREATE TABLE forgeline.command (
    no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, run bigint NOT NULL, key text NOT NULL,
    kind text NOT NULL, body text NOT NULL, answered_epoch bigint, answer text,
    UNIQUE (run, key));
CREATE INDEX command_unanswered ON forgeline.command (run, no) WHERE answer IS NULL;

-- The logs of runs and all others. `head` is the number of the next record.
CREATE TABLE forgeline.log (
    no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, scope text COLLATE "C" NOT NULL, name text COLLATE "C" NOT NULL,
    head bigint NOT NULL DEFAULT 0, first bigint NOT NULL DEFAULT 0,
    -- The records before this number are in `event_pack`.
    packed bigint NOT NULL DEFAULT 0, bytes bigint NOT NULL DEFAULT 0,
    -- 0 is open, 1 closed, 2 retired.
    state smallint NOT NULL DEFAULT 0, changed_ms bigint NOT NULL,
    -- Closed with records to pack, or retired with records to drop. No index has a column that an append changes: it
    -- would write all indexes then.
    to_sweep boolean NOT NULL DEFAULT false, UNIQUE (scope, name))
    WITH (fillfactor = 50);
CREATE INDEX log_by_age ON forgeline.log (state, changed_ms, no) WHERE state > 0;
CREATE INDEX log_to_sweep ON forgeline.log (no) WHERE to_sweep;
CREATE TABLE forgeline.event (
    log bigint NOT NULL, seq bigint NOT NULL, kind text NOT NULL, data bytea NOT NULL,
    at timestamptz NOT NULL DEFAULT clock_timestamp(), PRIMARY KEY (log, seq));
CREATE TABLE forgeline.event_pack (
    log bigint NOT NULL, begins bigint NOT NULL, count bigint NOT NULL, data bytea NOT NULL,
    PRIMARY KEY (log, begins));

CREATE TABLE forgeline.conversation (
    no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, scope text COLLATE "C" NOT NULL, id text COLLATE "C" NOT NULL,
    owner text NOT NULL, agent text NOT NULL, title text, status smallint NOT NULL DEFAULT 0,
    created_ms bigint NOT NULL, updated_ms bigint NOT NULL, entries bigint NOT NULL DEFAULT 0,
    messages bigint NOT NULL DEFAULT 0, UNIQUE (scope, id)) WITH (fillfactor = 70);
CREATE INDEX conversation_by_age ON forgeline.conversation (scope, updated_ms, id);
CREATE INDEX conversation_by_owner ON forgeline.conversation (scope, owner);
CREATE TABLE forgeline.line (
    conversation bigint NOT NULL, number bigint NOT NULL, text text NOT NULL,
    PRIMARY KEY (conversation, number));
CREATE TABLE forgeline.message (
    conversation bigint NOT NULL, number bigint NOT NULL, at_ms bigint NOT NULL,
    text text NOT NULL, PRIMARY KEY (conversation, number));
-- Long parts of entries, once per content; `uses` counts conversations.
CREATE TABLE forgeline.blob (hash bytea PRIMARY KEY, text text NOT NULL, uses bigint NOT NULL);
CREATE INDEX blob_unused ON forgeline.blob (hash) WHERE uses = 0;
CREATE TABLE forgeline.blob_use (
    conversation bigint NOT NULL, hash bytea NOT NULL, PRIMARY KEY (conversation, hash));

-- How many notifications and latency records a scope ever had.
CREATE TABLE forgeline.scope (
    scope text COLLATE "C" PRIMARY KEY, notifications bigint NOT NULL DEFAULT 0,
    latencies bigint NOT NULL DEFAULT 0) WITH (fillfactor = 50);
CREATE TABLE forgeline.notification (
    scope text COLLATE "C" NOT NULL, number bigint NOT NULL, id text COLLATE "C" NOT NULL, kind text NOT NULL,
    data text NOT NULL, at_ms bigint NOT NULL, PRIMARY KEY (scope, number));
CREATE TABLE forgeline.latency (
    scope text COLLATE "C" NOT NULL, number bigint NOT NULL, at_ms bigint NOT NULL, owner text NOT NULL,
    conversation text NOT NULL, record text NOT NULL, PRIMARY KEY (scope, number));
CREATE INDEX latency_by_age ON forgeline.latency (scope, at_ms, number);
"#;
