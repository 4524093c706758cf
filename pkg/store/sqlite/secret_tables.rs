//! The tables of secrets and of provider profiles.

/// The tables of secrets and of provider profiles, from version 7 on.
pub(super) const SECRET_TABLE: &str = "
CREATE TABLE secret (
    container TEXT NOT NULL, name TEXT NOT NULL, key TEXT NOT NULL, sealed BLOB NOT NULL,
    PRIMARY KEY (container, name)) WITHOUT ROWID;
CREATE TABLE provider_profile (
    container TEXT PRIMARY KEY, version INTEGER NOT NULL, profile TEXT NOT NULL) WITHOUT ROWID;";
