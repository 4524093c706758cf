//! Stores in a database of PostgreSQL.

mod dial;
mod errors;
mod follow;
mod followed_logs;
mod hub;
mod listener;
mod log;
mod log_batch;
mod log_changes;
mod log_head;
mod log_read;
mod log_sweep;
mod log_writer;
mod migrate;
mod news;
mod notifier;
mod pool;
mod probe;
mod schema;
mod setup;
mod tls;
mod values;
mod wait_table;

use std::{fmt, sync::Arc};

use tokio::sync::watch;

use self::{
    dial::Dialer, errors::StatementFailure, hub::ReaderHub, listener::ListenTask,
    log_head::LogHeads, log_writer::LogWriter, notifier::run_notifier, pool::SessionPool,
    probe::SessionKind,
};
pub use self::{migrate::SchemaPlan, setup::PostgresOptions};
use super::StoreError;

/// All stores in a database of PostgreSQL, for any number of processes. Clones are handles to the same connections.
#[derive(Clone)]
pub struct PostgresStore(Arc<PostgresInner>);

struct PostgresInner {
    place: String,
    pool: Arc<SessionPool>,
    hub: Arc<ReaderHub>,
    heads: LogHeads,
    writer: LogWriter,
    wakes: WakeMode,
    /// Ends the tasks when it is dropped or sent to.
    stop: watch::Sender<()>,
}

/// How readers learn of what other processes write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum WakeMode {
    /// By notifications of the server, within milliseconds.
    Notified,
    /// By a look every 10 ms, because a pooler shares sessions and there is no [direct URL](PostgresOptions::direct_url).
    Polled,
}

impl PostgresStore {
    /// Connects to a database, and creates or migrates the schema `forgeline` in it.
    ///
    /// # Errors
    ///
    /// Returns [`StoreError::Newer`] for a schema of a newer version and [`StoreError::Corrupt`] for one of another program, which is then unchanged, or
    /// [`StoreError::Unavailable`] if the database cannot be used.
    pub async fn connect(options: PostgresOptions) -> Result<Self, StoreError> {
        let place = setup::place(&options.config()?);
        let (dialer, direct) = Dialer::both(&options)?;
        let dialer = Arc::new(dialer);
        let direct = direct.map_or_else(|| Arc::clone(&dialer), Arc::new);
        let mut client = direct.dial(|_| {}).await.map_err(StatementFailure::into_error)?;
        migrate::migrate(&mut client).await?;
        drop(client);
        let wakes = match probe::probe(&direct).await? {
            SessionKind::Whole => WakeMode::Notified,
            SessionKind::Shared => {
                tracing::warn!(
                    "a pooler shares sessions of PostgreSQL: readers look every 10 ms; set the direct URL of the server"
                );
                WakeMode::Polled
            }
        };
        let pool = Arc::new(SessionPool::new(Arc::clone(&dialer), options.max_connections));
        let (hub, heads) = (Arc::<ReaderHub>::default(), LogHeads(Arc::clone(&pool)));
        let writer = LogWriter::start(Arc::clone(&dialer), Arc::clone(&hub), heads.clone());
        let (stop, stopped) = watch::channel(());
        tokio::spawn(run_notifier(dialer, Arc::clone(&hub), stopped.clone()));
        let listener = ListenTask {
            dialer: direct,
            pool: Arc::clone(&pool),
            hub: Arc::clone(&hub),
            stop: stopped,
            hears: wakes == WakeMode::Notified,
        };
        tokio::spawn(listener.run());
        Ok(Self(Arc::new(PostgresInner { place, pool, hub, heads, writer, wakes, stop })))
    }

    /// Returns what the database has and what [`connect`](Self::connect) would migrate, without changing anything.
    ///
    /// # Errors
    ///
    /// The same as for [`connect`](Self::connect).
    pub async fn check(options: &PostgresOptions) -> Result<SchemaPlan, StoreError> {
        let (dialer, direct) = Dialer::both(options)?;
        let dialer = direct.unwrap_or(dialer);
        let client = dialer.dial(|_| {}).await.map_err(StatementFailure::into_error)?;
        migrate::look(&client).await
    }

    /// Returns how readers learn of what other processes write.
    #[must_use]
    pub fn wake_mode(&self) -> WakeMode {
        self.0.wakes
    }

    /// Closes the connections, for all handles: later operations fail, and pending ones may.
    pub fn disconnect(&self) {
        self.0.writer.close();
        self.0.pool.close();
        self.0.stop.send_replace(());
    }
}

impl fmt::Debug for PostgresStore {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("PostgresStore")
            .field("place", &self.0.place)
            .finish_non_exhaustive()
    }
}

/// The right of one claim to write a run.
pub(super) struct RunWriter {
    pub(super) epoch: u64,
}

impl RunWriter {
    fn fenced(&self) -> StoreError {
        StoreError::unavailable(format!("fenced {}", self.epoch))
    }
}
