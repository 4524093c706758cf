//! The tables of the audit store.

/// The rows, and the ends of the chain of each scope, which are apart from them.
pub(super) const AUDIT: &str = "
CREATE TABLE audit (
    id INTEGER PRIMARY KEY, scope TEXT NOT NULL, seq INTEGER NOT NULL, event TEXT NOT NULL,
    kind TEXT NOT NULL, source TEXT NOT NULL, at_ms INTEGER NOT NULL,
    -- Empty once they were erased.
    actor TEXT NOT NULL, owner TEXT NOT NULL, content TEXT NOT NULL,
    seal BLOB NOT NULL, hash BLOB NOT NULL, UNIQUE (scope, seq), UNIQUE (scope, event));
CREATE INDEX audit_by_time ON audit (scope, at_ms, seq);
CREATE INDEX audit_by_kind ON audit (scope, kind, at_ms, seq);
CREATE INDEX audit_by_actor ON audit (scope, actor) WHERE actor <> '';
CREATE INDEX audit_by_owner ON audit (scope, owner) WHERE owner <> '';
CREATE TABLE audit_head (
    scope TEXT PRIMARY KEY, first INTEGER NOT NULL, anchor BLOB NOT NULL,
    next INTEGER NOT NULL, hash BLOB NOT NULL) WITHOUT ROWID;";
