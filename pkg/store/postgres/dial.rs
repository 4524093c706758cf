//! Connections to the server.

use std::{
    future::poll_fn,
    sync::atomic::{AtomicBool, Ordering},
};

use tokio_postgres::{AsyncMessage, Client, Config, Notification};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::{
    errors::StatementFailure,
    session::StatementSession,
    setup::{PostgresOptions, SettingsUse},
};
use crate::{StoreError, servers::tls};

/// Makes connections with the same configuration.
pub(super) struct Dialer {
    options: PostgresOptions,
    tls: MakeRustlsConnect,
    /// `true` if the connections go past a pooler.
    is_direct: bool,
    /// `true` once a pooler has refused the settings of sessions, which it cannot keep apart.
    has_no_settings: AtomicBool,
    /// `true` once it was seen that sessions are not shared by a pooler.
    is_whole: AtomicBool,
}

impl Dialer {
    /// Returns a dialer for statements, and one for sessions of their own.
    pub(super) fn both(options: &PostgresOptions) -> Result<(Self, Option<Self>), StoreError> {
        let tls = tls::client_config(options.root_certificates.as_deref())?;
        let tls = MakeRustlsConnect::new(tls);
        let dialer = |is_direct| Self {
            options: options.clone(),
            tls: tls.clone(),
            is_direct,
            has_no_settings: AtomicBool::new(false),
            is_whole: AtomicBool::new(false),
        };
        let direct = options.direct_config(SettingsUse::Sent)?.map(|_| dialer(true));
        Ok((dialer(false), direct))
    }

    /// Returns `false` if a pooler refuses the time limits of sessions.
    pub(super) fn has_settings(&self) -> bool {
        !self.has_no_settings.load(Ordering::Relaxed)
    }

    /// Records that sessions are not shared by a pooler: they keep statements.
    pub(super) fn find_whole(&self) {
        self.is_whole.store(true, Ordering::Relaxed);
    }

    /// Opens a session for statements.
    pub(super) async fn session(&self) -> Result<StatementSession, StatementFailure> {
        let client = self.dial(|_| {}).await?;
        Ok(StatementSession::new(client, self.is_whole.load(Ordering::Relaxed)))
    }

    /// Connects; notifications are passed to `hear`.
    pub(super) async fn dial(
        &self,
        hear: impl FnMut(Notification) + Send + 'static,
    ) -> Result<Client, StatementFailure> {
        let keeps = if self.has_settings() { SettingsUse::Sent } else { SettingsUse::Refused };
        match self.connect(&self.config(keeps)?, hear).await {
            Err((error, hear)) if keeps == SettingsUse::Sent && is_refused_setting(&error) => {
                self.has_no_settings.store(true, Ordering::Relaxed);
                let again = self.connect(&self.config(SettingsUse::Refused)?, hear).await;
                again.map_err(|(error, _)| StatementFailure::of(&error))
            }
            done => done.map_err(|(error, _)| StatementFailure::of(&error)),
        }
    }

    /// Returns the configuration; a password file is read anew.
    fn config(&self, keeps: SettingsUse) -> Result<Config, StatementFailure> {
        let config = if self.is_direct {
            self.options.direct_config(keeps).map(Option::unwrap_or_default)
        } else {
            self.options.config(keeps)
        };
        config.map_err(StatementFailure::Refused)
    }

    async fn connect<H: FnMut(Notification) + Send + 'static>(
        &self,
        config: &Config,
        mut hear: H,
    ) -> Result<Client, (tokio_postgres::Error, H)> {
        let (client, mut connection) = match config.connect(self.tls.clone()).await {
            Ok(connected) => connected,
            Err(error) => return Err((error, hear)),
        };
        // The task ends with the client, after its last statement.
        tokio::spawn(async move {
            while let Some(message) = poll_fn(|context| connection.poll_message(context)).await {
                match message {
                    Ok(AsyncMessage::Notification(heard)) => hear(heard),
                    Ok(_) => {}
                    Err(error) => {
                        tracing::debug!(%error, "a connection to PostgreSQL was lost");
                        break;
                    }
                }
            }
        });
        Ok(client)
    }
}

/// Returns `true` if a pooler does not take the settings of a session.
fn is_refused_setting(error: &tokio_postgres::Error) -> bool {
    error.as_db_error().is_some_and(|error| error.message().contains("startup parameter"))
}
