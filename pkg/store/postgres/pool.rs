//! The connections for statements, each used by one statement at a time.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::{Instant, sleep},
};
use tokio_postgres::Row;

use super::{dial::Dialer, errors::StatementFailure, session::StatementSession, values::SqlValue};
use crate::{
    StoreError,
    time_limit::{WAIT, within},
};

/// The wait before a statement is repeated, doubled each time.
const PAUSE: Duration = Duration::from_millis(20);

/// Maximum wait before a statement is repeated.
const MAX_PAUSE: Duration = Duration::from_millis(500);

/// The rule for a statement that may have been executed: whether it is repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RepeatRule {
    /// Executing it twice does what executing it once does.
    Safe,
    /// The caller reads first.
    Unsafe,
}

/// The connections for statements.
pub(super) struct SessionPool {
    dialer: Arc<Dialer>,
    free: Mutex<Vec<StatementSession>>,
    permits: Semaphore,
}

/// A connection on loan. It returns to the pool if its statement has ended; otherwise it is closed once the statement ends.
struct PooledSession<'p> {
    pool: &'p SessionPool,
    client: Option<StatementSession>,
    has_ended: bool,
    _permit: SemaphorePermit<'p>,
}

impl Drop for PooledSession<'_> {
    fn drop(&mut self) {
        let client = self.client.take().filter(|client| self.has_ended && !client.is_closed());
        self.pool.free().extend(client);
    }
}

impl SessionPool {
    pub(super) fn new(dialer: Arc<Dialer>, most: usize) -> Self {
        let permits = Semaphore::new(most.clamp(1, Semaphore::MAX_PERMITS));
        Self { dialer, free: Mutex::default(), permits }
    }

    fn free(&self) -> MutexGuard<'_, Vec<StatementSession>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Executes a statement, and returns its rows. Waits at most 10 s for a connection and the result together; repeats a statement that was not
    /// executed, and one whose outcome is unknown if that is safe.
    pub(super) async fn rows(
        &self,
        rule: RepeatRule,
        sql: &'static str,
        values: &[SqlValue<'_>],
    ) -> Result<Vec<Row>, StoreError> {
        let (began, mut pause) = (Instant::now(), PAUSE);
        let mut last = None;
        let work = async {
            loop {
                let failure = match self.row_set(sql, values).await {
                    Ok(rows) => return Ok(rows),
                    Err(failure) => failure,
                };
                match &failure {
                    StatementFailure::Lost(_) if rule == RepeatRule::Unsafe => {
                        return Err(failure.into_error());
                    }
                    StatementFailure::Refused(_) => return Err(failure.into_error()),
                    StatementFailure::Lost(_) | StatementFailure::Again(_) => last = Some(failure),
                }
                sleep(pause).await;
                pause = (pause * 2).min(MAX_PAUSE);
            }
        };
        match within(work).await {
            Err(StoreError::Slow { .. }) if began.elapsed() >= WAIT && last.is_some() => {
                Err(last.map_or(StoreError::Slow { limit: WAIT }, StatementFailure::into_error))
            }
            done => done,
        }
    }

    /// Returns the first row of a statement.
    pub(super) async fn row(
        &self,
        rule: RepeatRule,
        sql: &'static str,
        values: &[SqlValue<'_>],
    ) -> Result<Option<Row>, StoreError> {
        Ok(self.rows(rule, sql, values).await?.into_iter().next())
    }

    /// Executes a statement once.
    async fn row_set(
        &self,
        sql: &'static str,
        values: &[SqlValue<'_>],
    ) -> Result<Vec<Row>, StatementFailure> {
        let mut session = self.session().await?;
        let Some(client) = &session.client else { return Ok(Vec::new()) };
        let done = client.rows(sql, values).await;
        session.has_ended = true;
        done.map_err(|error| StatementFailure::of(&error))
    }

    async fn session(&self) -> Result<PooledSession<'_>, StatementFailure> {
        let closed = |_| {
            let reason = "the store was closed".to_owned();
            StatementFailure::Refused(StoreError::Unavailable { reason })
        };
        let permit = self.permits.acquire().await.map_err(closed)?;
        let free = std::iter::from_fn(|| self.free().pop()).find(|client| !client.is_closed());
        let client = match free {
            Some(client) => client,
            // A connection that was never made has executed nothing.
            None => self.dialer.session().await.map_err(StatementFailure::of_connecting)?,
        };
        Ok(PooledSession { pool: self, client: Some(client), has_ended: false, _permit: permit })
    }

    /// Refuses further statements, and closes the connections.
    pub(super) fn close(&self) {
        self.permits.close();
        self.free().clear();
    }
}
