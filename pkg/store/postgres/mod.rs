//! Stores in a database of `PostgreSQL`.

mod audit;
mod audit_schema;
mod commands;
mod conversation_rows;
mod conversation_writes;
mod conversations;
mod dial;
mod errors;
mod follow;
mod followed_logs;
mod free_runs;
mod hub;
mod late_news;
mod latency;
mod life;
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
mod notifications;
mod notifier;
mod pool;
mod probe;
mod provider_profiles;
mod run_claims;
mod run_fence;
mod run_rows;
mod runs;
mod schema;
mod secret_rows;
mod secret_tables;
mod session;
mod setup;
mod values;

use std::{fmt, sync::Arc};

use tokio::sync::watch;

use self::{
    dial::Dialer,
    errors::StatementFailure,
    hub::ReaderHub,
    late_news::UnheardLogs,
    life::NodeSessions,
    listener::ListenTask,
    log_head::LogHeads,
    log_writer::LogWriter,
    notifier::run_notifier,
    pool::SessionPool,
    probe::SessionKind,
    setup::{LifeTimes, SettingsUse},
};
pub use self::{
    migrate::SchemaPlan,
    setup::{DeltaCommit, PostgresOptions},
};
use super::StoreError;

/// All stores in a database of `PostgreSQL`, for any number of processes. Clones are handles to the same connections.
///
/// Each write is one statement, which commits by itself. The appends of a process that wait at the same time are one statement. Writes of a run check its
/// claim in the same statement, with the row of the run locked. Readers are woken by the appends of their own process, by notifications of others, and
/// by a look every second in case one was lost. Times of nodes, of events and of logs are those of the database.
///
/// What was erased is in no table, but may be in dead rows until `VACUUM` has run, in the write-ahead log, in replicas and in backups.
///
/// # Examples
///
/// ```no_run
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use forgeline::store::{EventLog, LogKey, LogRecord, PostgresOptions, PostgresStore};
///
/// let options = PostgresOptions::new("postgres://service@db.example/app").password_file("/run/secrets/db");
/// let (store, key) = (PostgresStore::connect(options).await?, LogKey::new("team-a", "stream/1"));
/// store.create(key.clone()).await?;
/// store.append(&key, 0, vec![LogRecord::new("turn_end", "{}")], None).await?;
/// assert_eq!(store.read(&key, 0, 10).await?.next, 1);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct PostgresStore(Arc<PostgresInner>);

struct PostgresInner {
    place: String,
    pool: Arc<SessionPool>,
    hub: Arc<ReaderHub>,
    heads: LogHeads,
    writer: LogWriter,
    nodes: NodeSessions,
    times: LifeTimes,
    wakes: WakeMode,
    /// Ends the tasks when it is dropped or sent to.
    stop: watch::Sender<()>,
}

/// The way in which readers learn of what other processes write.
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
        let place = setup::place(&options.config(SettingsUse::Sent)?);
        let (dialer, direct) = Dialer::both(&options)?;
        let dialer = Arc::new(dialer);
        let direct = direct.map_or_else(|| Arc::clone(&dialer), Arc::new);
        let mut client = direct.dial(|_| {}).await.map_err(StatementFailure::into_error)?;
        migrate::migrate(&mut client).await?;
        drop(client);
        let wakes = match probe::probe(&direct).await? {
            SessionKind::Whole => {
                if options.keeps_statements {
                    direct.find_whole();
                }
                WakeMode::Notified
            }
            SessionKind::Shared => {
                tracing::warn!(
                    "a pooler shares sessions of PostgreSQL: readers look every 10 ms; set the direct URL of the server"
                );
                WakeMode::Polled
            }
        };
        let pool = Arc::new(SessionPool::new(Arc::clone(&dialer), options.max_connections));
        let (hub, heads) = (Arc::<ReaderHub>::default(), LogHeads(Arc::clone(&pool)));
        let writer =
            LogWriter::start(Arc::clone(&dialer), Arc::clone(&hub), heads.clone(), options.deltas);
        let (stop, stopped) = watch::channel(());
        tokio::spawn(run_notifier(dialer, Arc::clone(&hub), stopped.clone()));
        let nodes = NodeSessions::new(Arc::clone(&direct), wakes == WakeMode::Notified);
        let listener = ListenTask {
            dialer: direct,
            pool: Arc::clone(&pool),
            hub: Arc::clone(&hub),
            stop: stopped,
            unheard: UnheardLogs::default(),
            hears: wakes == WakeMode::Notified,
        };
        tokio::spawn(listener.run());
        let inner = PostgresInner {
            place,
            pool,
            hub,
            heads,
            writer,
            nodes,
            times: options.times,
            wakes,
            stop,
        };
        Ok(Self(Arc::new(inner)))
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
        self.0.nodes.close();
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
