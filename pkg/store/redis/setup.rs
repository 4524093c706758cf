//! The options of notifications over Redis.

use std::{fmt, path::PathBuf};

use redis::{ConnectionAddr, IntoConnectionInfo as _, ProtocolVersion, RedisConnectionInfo};
use secrecy::{ExposeSecret as _, SecretString};

use crate::{StoreError, servers::password};
use forgeline_types::{Text, setters};

/// The options of [`RedisNotifications`](super::RedisNotifications).
///
/// The password is part of the URL, or comes from a file or an environment variable. It appears in no message and no `Debug` output.
///
/// # Examples
///
/// ```
/// use forgeline::store::RedisOptions;
///
/// let options = RedisOptions::new("rediss://service:secret@redis.example/2").key_prefix("chat");
/// assert_eq!(format!("{options:?}"), r#"RedisOptions { place: "redis.example:6379/2", .. }"#);
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct RedisOptions {
    url: SecretString,
    /// The file with the password, which is read at each connection: a new password needs no restart.
    pub password_file: Option<PathBuf>,
    /// The environment variable with the password.
    pub password_variable: Option<String>,
    /// The file with the certificates of the authorities to trust, in PEM. Without it, those of the system are trusted.
    pub root_certificates: Option<PathBuf>,
    /// The first part of the name of each key. Default: `forgeline`. Programs with the same one share their notifications.
    pub key_prefix: Text,
}

impl RedisOptions {
    /// Returns the options of a server, such as `rediss://user@host:6379/0` or `redis+unix:///run/redis.sock`.
    ///
    /// Connections of `rediss` are secured by TLS; certificates are always verified. Those of `redis` are not.
    #[must_use]
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: SecretString::from(url.into()),
            password_file: None,
            password_variable: None,
            root_certificates: None,
            key_prefix: Text::from("forgeline"),
        }
    }

    setters! {
        RedisOptions:
        password_file(some into PathBuf),
        password_variable(some into String),
        root_certificates(some into PathBuf),
        key_prefix(into Text),
    }

    /// Returns the address and the login; a password file is read anew.
    pub(super) fn connection(&self) -> Result<RedisPlace, StoreError> {
        let mut found = parse(self.url.expose_secret())?;
        let mut login = found.login.set_protocol(ProtocolVersion::RESP2);
        let (file, variable) = (self.password_file.as_deref(), self.password_variable.as_deref());
        if let Some(password) = password::read(file, variable)? {
            login = login.set_password(password.expose_secret());
        }
        found.login = login.set_lib_name("forgeline", env!("CARGO_PKG_VERSION"));
        Ok(found)
    }

    /// Returns the address and the database, for messages.
    pub(super) fn place(&self) -> String {
        let found = parse(self.url.expose_secret());
        found.map(|found| format!("{}/{}", found.address, found.login.db())).unwrap_or_default()
    }
}

impl fmt::Debug for RedisOptions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("RedisOptions");
        shown.field("place", &self.place()).finish_non_exhaustive()
    }
}

/// An address with the login.
pub(super) struct RedisPlace {
    pub(super) address: ConnectionAddr,
    pub(super) login: RedisConnectionInfo,
    /// `true` if the connection is secured by TLS.
    pub(super) is_secured: bool,
}

fn parse(url: &str) -> Result<RedisPlace, StoreError> {
    if url.contains('#') {
        return Err(StoreError::unavailable(
            "the URL of Redis has a fragment, such as #insecure, and certificates are always verified; remove it, and \
             name the authority to trust in `root_certificates`",
        ));
    }
    // TLS is that of this library, which the client does not know.
    let (scheme, rest) = url.split_once("://").unwrap_or_default();
    let (scheme, is_secured) = match scheme {
        "rediss" | "valkeys" => ("redis", true),
        scheme => (scheme, false),
    };
    // The parser's error may quote a part of the password.
    let info = format!("{scheme}://{rest}").into_connection_info().map_err(|_| {
        StoreError::unavailable(
            "the URL of Redis cannot be read; expected rediss://user@host:6379/0 or redis+unix:///path",
        )
    })?;
    let (address, login) = (info.addr().clone(), info.redis_settings().clone());
    Ok(RedisPlace { address, login, is_secured })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_in_no_output() {
        for url in [
            "redis://ann:geheim@cache/0",
            "rediss://ann:geheim@cache/#insecure",
            "redis://ann:geheim@cache/geheim",
            "redis://ann:geheim@[cache",
            "redis+unix:///run/redis.sock?user=ann&pass=geheim",
            "geheim",
        ] {
            let options = RedisOptions::new(url);
            let error = options.connection().err().map(|error| format!("{error} {error:?}"));
            let shown = format!("{options:?} {error:?}");
            assert!(!shown.contains("geheim"), "{shown}");
        }
    }

    #[test]
    fn certificates_are_always_verified() {
        let error = RedisOptions::new("rediss://cache/#insecure").connection().err().unwrap();
        assert!(error.to_string().contains("root_certificates"), "{error}");
    }

    #[test]
    fn a_password_of_a_variable_must_exist() {
        let options = RedisOptions::new("redis://cache").password_variable("FORGELINE_NONE");
        let error = options.connection().err().unwrap();
        assert!(error.to_string().contains("FORGELINE_NONE"), "{error}");
    }
}
