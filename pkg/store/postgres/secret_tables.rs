//! The tables of secrets and of provider profiles.

/// The statements that make the tables of secrets and of provider profiles.
macro_rules! secret_table {
    () => {
        "
-- Encrypted secrets.
CREATE TABLE forgeline.secret (
    container text COLLATE \"C\" NOT NULL, name text COLLATE \"C\" NOT NULL, key text NOT NULL, sealed bytea NOT NULL,
    PRIMARY KEY (container, name));
CREATE TABLE forgeline.provider_profile (
    container text COLLATE \"C\" PRIMARY KEY, version bigint NOT NULL, profile text NOT NULL);
"
    };
}
pub(super) use secret_table;
