//! A connection whose statements are parsed and planned once, and not each time.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::Instant;
use tokio_postgres::{Client, Error, Row, Statement, error::SqlState, types::ToSql};

use super::values::SqlValue;

/// Time after which a plan is made anew: a table may have grown meanwhile so much that another one is better.
const KEPT: Duration = Duration::from_secs(2);

/// Maximum number of statements that the server keeps for a session.
const MAX_KEPT: usize = 64;

/// A connection for statements.
pub(super) struct StatementSession {
    client: Client,
    /// The statements that the server keeps, by their text; `None` where a pooler may give each statement another session.
    kept: Option<Mutex<HashMap<&'static str, KeptStatement>>>,
}

#[derive(Clone)]
struct KeptStatement {
    statement: Statement,
    since: Instant,
}

impl StatementSession {
    pub(super) fn new(client: Client, is_whole: bool) -> Self {
        Self { client, kept: is_whole.then(Mutex::default) }
    }

    pub(super) fn is_closed(&self) -> bool {
        self.client.is_closed()
    }

    /// Executes a statement, and returns its rows.
    pub(super) async fn rows(
        &self,
        sql: &'static str,
        values: &[SqlValue<'_>],
    ) -> Result<Vec<Row>, Error> {
        let Some(statement) = self.statement(sql, values).await? else {
            return self.client.query_typed(sql, values).await;
        };
        let given: Vec<&(dyn ToSql + Sync)> = values.iter().map(|(value, _)| *value).collect();
        match self.client.query(&statement, &given).await {
            // Not executed: a table was changed, or the server has forgotten its statements.
            Err(error) if is_outdated(&error) => {
                self.kept.iter().for_each(|kept| drop(lock(kept).remove(sql)));
                self.client.query_typed(sql, values).await
            }
            done => done,
        }
    }

    /// Returns a statement that the server keeps, after it has parsed it if need be; `None` if it is not to keep it.
    async fn statement(
        &self,
        sql: &'static str,
        values: &[SqlValue<'_>],
    ) -> Result<Option<Statement>, Error> {
        let Some(kept) = &self.kept else { return Ok(None) };
        let (found, is_full) = {
            let mut kept = lock(kept);
            kept.retain(|_, kept| kept.since.elapsed() < KEPT);
            (kept.get(sql).cloned(), kept.len() >= MAX_KEPT)
        };
        if found.is_some() || is_full {
            return Ok(found.map(|kept| kept.statement));
        }
        let types: Vec<_> = values.iter().map(|(_, sql_type)| sql_type.clone()).collect();
        let statement = self.client.prepare_typed(sql, &types).await?;
        let since = Instant::now();
        lock(kept).insert(sql, KeptStatement { statement: statement.clone(), since });
        Ok(Some(statement))
    }
}

/// Returns `true` if a statement that was kept cannot be used any more.
fn is_outdated(error: &Error) -> bool {
    let outdated = [SqlState::FEATURE_NOT_SUPPORTED, SqlState::INVALID_SQL_STATEMENT_NAME];
    error.code().is_some_and(|code| outdated.contains(code))
}

fn lock<T>(kept: &Mutex<T>) -> MutexGuard<'_, T> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}
