//! The options of a store in a database.

use std::{fmt, path::PathBuf, time::Duration};

use secrecy::{ExposeSecret as _, SecretString};
use tokio_postgres::{
    Config,
    config::{Host, SslMode, TargetSessionAttrs},
};

use crate::{StoreError, servers::password};
use forgeline_types::setters;

/// Default of [`PostgresOptions::max_connections`].
const MAX_CONNECTIONS: usize = 8;

/// Maximum wait for a connection.
const CONNECTING: Duration = Duration::from_secs(5);

/// Silence after which a connection is probed, and the time until it counts as lost.
const SILENCE: Duration = Duration::from_secs(10);

/// The settings of each session: a statement ends within 10 s, waits at most 2 s for a lock, and no transaction is left open. A plan is kept, whatever the
/// values are; it takes indexes, however small a table is when it is made.
const SETTINGS: &str = "-c statement_timeout=10s -c lock_timeout=2s -c idle_in_transaction_session_timeout=5s \
     -c plan_cache_mode=force_generic_plan -c enable_seqscan=off";

/// The times after which nodes count as dead. Those of tests are shorter.
#[derive(Debug, Clone, Copy)]
pub(super) struct LifeTimes {
    /// The time for which a beat is good.
    pub(super) beat: Duration,
    /// The silence after which a node whose lock is free is dead.
    pub(super) silent: Duration,
    /// The age of a session from which on its node takes runs away from others.
    pub(super) settled: Duration,
}

impl Default for LifeTimes {
    fn default() -> Self {
        let [beat, silent, settled] = [10, 2, 10].map(Duration::from_secs);
        Self { beat, silent, settled }
    }
}

/// The use of the settings of a session when it begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SettingsUse {
    /// The settings are sent.
    Sent,
    /// The settings are not sent, because a pooler refuses them.
    Refused,
}

/// The commit of appends to the log that have only pieces of the model's answer: the kinds `thinking_content`, `message_content` and `tool_call_content`.
/// All else is on the disk before it is acknowledged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum DeltaCommit {
    /// Waits for the disk, and for synchronous standbys.
    #[default]
    Durable,
    /// Waits for neither (`synchronous_commit = off`). When the database fails, the last pieces may be lost, within three times its `wal_writer_delay`;
    /// the run then continues from the shorter log, and a reader that has read more is answered with `409 log_behind`.
    Async,
}

/// The options of a [`PostgresStore`](super::PostgresStore).
///
/// The password is part of the URL, or comes from a file or an environment variable. It appears in no message and no `Debug` output.
///
/// # Examples
///
/// ```
/// use forgeline::store::PostgresOptions;
///
/// let options = PostgresOptions::new("postgres://service:secret@db.example/app").max_connections(4);
/// assert_eq!(format!("{options:?}"), r#"PostgresOptions { place: "db.example/app", .. }"#);
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct PostgresOptions {
    url: SecretString,
    direct_url: Option<SecretString>,
    /// The file with the password, which is read at each connection: a new password needs no restart.
    pub password_file: Option<PathBuf>,
    /// The environment variable with the password.
    pub password_variable: Option<String>,
    /// The file with the certificates of the authorities to trust, in PEM. Without it, those of the system are trusted.
    pub root_certificates: Option<PathBuf>,
    /// The maximum number of connections for statements, at least 1. Default: 8. Four more are open for events, notifications and the lock of the node.
    pub max_connections: usize,
    /// The commit of pieces of answers. Default: [`DeltaCommit::Durable`].
    pub deltas: DeltaCommit,
    pub(super) times: LifeTimes,
    pub(super) keeps_statements: bool,
}

impl PostgresOptions {
    /// Returns the options of a store in a database, such as `postgres://user@host:5432/database?sslmode=require`.
    ///
    /// Connections to other machines are secured by TLS unless the URL states an `sslmode`; certificates are always verified.
    #[must_use]
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: SecretString::from(url.into()),
            direct_url: None,
            password_file: None,
            password_variable: None,
            root_certificates: None,
            max_connections: MAX_CONNECTIONS,
            deltas: DeltaCommit::default(),
            times: LifeTimes::default(),
            keeps_statements: true,
        }
    }

    /// Sets a URL that reaches the server itself, if the first one reaches a pooler that shares sessions, such as pgbouncer in transaction mode.
    /// The time limits of sessions are then those that the server has for the role: `ALTER ROLE service SET statement_timeout = '10s'`.
    #[must_use]
    pub fn direct_url(mut self, url: impl Into<String>) -> Self {
        self.direct_url = Some(SecretString::from(url.into()));
        self
    }

    /// Returns the hosts and the name of the database, without user and password, for messages; empty for a URL that cannot be read.
    #[must_use]
    pub fn place(&self) -> String {
        parse(self.url.expose_secret()).map(|config| place(&config)).unwrap_or_default()
    }

    setters! {
        PostgresOptions:
        password_file(some into PathBuf),
        password_variable(some into String),
        root_certificates(some into PathBuf),
        max_connections(usize),
        deltas(DeltaCommit),
    }

    /// Sets for how long a beat of a node is good, the silence after which a node whose lock is free is dead, and the age of a session from which on its
    /// node takes runs away from others; for tests, which do not wait for 10 s.
    #[doc(hidden)]
    #[must_use]
    pub fn life_times(mut self, beat: Duration, silent: Duration, settled: Duration) -> Self {
        self.times = LifeTimes { beat, silent, settled };
        self
    }

    /// Sets whether the server keeps the statements of a session; for tests, in which each use of a statement has the same messages. Default: it does,
    /// unless a pooler shares sessions.
    #[doc(hidden)]
    #[must_use]
    pub fn keeps_statements(mut self, yes: bool) -> Self {
        self.keeps_statements = yes;
        self
    }

    /// Returns the configuration of connections for statements.
    pub(super) fn config(&self, keeps: SettingsUse) -> Result<Config, StoreError> {
        self.config_of(&self.url, keeps)
    }

    /// Returns the configuration of connections to the server itself, if there is a URL for it.
    pub(super) fn direct_config(&self, keeps: SettingsUse) -> Result<Option<Config>, StoreError> {
        self.direct_url.as_ref().map(|url| self.config_of(url, keeps)).transpose()
    }

    fn config_of(&self, url: &SecretString, keeps: SettingsUse) -> Result<Config, StoreError> {
        let mut config = parse(url.expose_secret())?;
        if keeps == SettingsUse::Sent {
            let given = config.get_options().unwrap_or_default().to_owned();
            config.options(format!("{SETTINGS} {given}").trim_end());
        }
        let (file, variable) = (self.password_file.as_deref(), self.password_variable.as_deref());
        if let Some(password) = password::read(file, variable)? {
            config.password(password.expose_secret());
        }
        Ok(config)
    }
}

impl fmt::Debug for PostgresOptions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = self.place();
        formatter.debug_struct("PostgresOptions").field("place", &place).finish_non_exhaustive()
    }
}

/// Returns the hosts and the database of a configuration, for messages.
pub(super) fn place(config: &Config) -> String {
    let host = |host: &Host| match host {
        Host::Tcp(name) => name.clone(),
        #[cfg(unix)]
        Host::Unix(path) => path.display().to_string(),
    };
    let hosts: Vec<_> = config.get_hosts().iter().map(host).collect();
    format!("{}/{}", hosts.join(","), config.get_dbname().unwrap_or_default())
}

fn parse(url: &str) -> Result<Config, StoreError> {
    // The parser's error may quote a part of the password.
    let unusable = |reason: &str| StoreError::Unavailable { reason: reason.to_owned() };
    let unread = "the URL of PostgreSQL cannot be read; expected \
                  postgres://user@host:5432/database?sslmode=require";
    let (base, query) = url.split_once('?').unwrap_or((url, ""));
    // Certificates are always verified.
    let query = query.replace("sslmode=verify-full", "sslmode=require");
    let url = if query.is_empty() { base.to_owned() } else { format!("{base}?{query}") };
    let mut config: Config = url.parse().map_err(|_| unusable(unread))?;
    if config.get_hosts().is_empty() {
        let no_host = "the URL of PostgreSQL has no host; expected postgres://user@host/database";
        return Err(unusable(no_host));
    }
    // The rest of a password after its first `@` is read as a part of the host.
    if config.get_hosts().iter().any(|host| matches!(host, Host::Tcp(name) if name.contains('@'))) {
        let sign = "the URL of PostgreSQL has an `@` in its user or password; write it as %40";
        return Err(unusable(sign));
    }
    if !query.contains("sslmode=") && config.get_hosts().iter().any(is_far) {
        config.ssl_mode(SslMode::Require);
    }
    if config.get_hosts().len() > 1 {
        config.target_session_attrs(TargetSessionAttrs::ReadWrite);
    }
    if config.get_application_name().is_none() {
        config.application_name("forgeline");
    }
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(CONNECTING);
    }
    config.keepalives_idle(SILENCE).keepalives_interval(SILENCE / 5).keepalives_retries(3);
    config.tcp_user_timeout(SILENCE);
    Ok(config)
}

/// Returns `true` if a connection to a host leaves the machine.
fn is_far(host: &Host) -> bool {
    match host {
        Host::Tcp(name) => !matches!(name.as_str(), "localhost" | "127.0.0.1" | "::1" | "[::1]"),
        #[cfg(unix)]
        Host::Unix(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_password_is_in_no_output() {
        for url in [
            "postgres://ann:geheim@db/app",
            "postgres://ann:geheim@db/app?sslmode=geheim",
            "postgres://ann:geheim@[db/app",
            "postgres://ann:p@geheim@db/app",
            "host=db password='geheim",
            "geheim",
        ] {
            let options = PostgresOptions::new(url).direct_url(url);
            let config = options.config(SettingsUse::Sent);
            let shown =
                format!("{options:?} {config:?} {:?}", options.direct_config(SettingsUse::Sent));
            assert!(!shown.contains("geheim"), "{shown}");
            let error = config.err().map(|error| error.to_string()).unwrap_or_default();
            assert!(!error.contains("geheim"), "{error}");
        }
    }

    #[test]
    fn connections_to_other_machines_are_secured() {
        let mode =
            |url: &str| PostgresOptions::new(url).config(SettingsUse::Sent).unwrap().get_ssl_mode();
        assert_eq!(mode("postgres://ann@db/app"), SslMode::Require);
        assert_eq!(mode("postgres://ann@db/app?sslmode=verify-full"), SslMode::Require);
        assert_eq!(mode("postgres://ann@db/app?sslmode=disable"), SslMode::Disable);
        assert_eq!(mode("postgres://ann@localhost/app"), SslMode::Prefer);
        assert_eq!(mode("postgres:///app?host=/run/postgresql"), SslMode::Prefer);
    }

    #[test]
    fn a_password_comes_from_a_file_without_its_line_end() {
        let path = std::env::temp_dir().join(format!("forgeline-password-{}", std::process::id()));
        fs::write(&path, "geheim\n").unwrap();
        let options = PostgresOptions::new("postgres://ann@db/app").password_file(&path);
        assert_eq!(options.config(SettingsUse::Sent).unwrap().get_password(), Some(&b"geheim"[..]));
        fs::remove_file(&path).unwrap();
        let error = options.config(SettingsUse::Sent).unwrap_err();
        assert!(error.to_string().contains("forgeline-password-"), "{error}");
        let options =
            PostgresOptions::new("postgres://ann@db/app").password_variable("FORGELINE_NONE");
        assert!(
            options.config(SettingsUse::Sent).unwrap_err().to_string().contains("FORGELINE_NONE")
        );
    }
}
