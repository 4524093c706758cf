//! The tables of secrets and of provider profiles.

/// The statements that make them.
pub(super) const SECRETS: &str = r#"
-- Encrypted secrets.
CREATE TABLE forgeline.secret (
    container text COLLATE "C" NOT NULL, name text COLLATE "C" NOT NULL, key text NOT NULL, sealed bytea NOT NULL,
    PRIMARY KEY (container, name));
CREATE TABLE forgeline.provider_profile (
    container text COLLATE "C" PRIMARY KEY, version bigint NOT NULL, profile text NOT NULL);
"#;
