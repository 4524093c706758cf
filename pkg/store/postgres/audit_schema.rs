//! The tables of the audit store.

/// The rows, and the ends of the chain of each scope, which are apart from them.
pub(super) const AUDIT: &str = r#"
CREATE TABLE forgeline.audit (
    scope text COLLATE "C" NOT NULL, seq bigint NOT NULL, id text COLLATE "C" NOT NULL, kind text NOT NULL,
    source text NOT NULL, at_ms bigint NOT NULL,
    -- Empty once they were erased.
    actor text NOT NULL, owner text NOT NULL, content text NOT NULL,
    seal bytea NOT NULL, hash bytea NOT NULL, PRIMARY KEY (scope, seq), UNIQUE (scope, id));
CREATE INDEX audit_by_time ON forgeline.audit (scope, at_ms, seq);
CREATE INDEX audit_by_kind ON forgeline.audit (scope, kind, at_ms, seq);
CREATE INDEX audit_by_actor ON forgeline.audit (scope, actor) WHERE actor <> '';
CREATE INDEX audit_by_owner ON forgeline.audit (scope, owner) WHERE owner <> '';
CREATE TABLE forgeline.audit_head (
    scope text COLLATE "C" PRIMARY KEY, first bigint NOT NULL DEFAULT 0,
    anchor bytea NOT NULL DEFAULT decode(repeat('00', 32), 'hex'),
    next bigint NOT NULL, hash bytea NOT NULL) WITH (fillfactor = 50);
"#;
