//! Appends to logs: all pending ones are one statement, which is a transaction of its own.

use std::sync::LazyLock;

use futures_util::TryStreamExt as _;
use sqlx::{AssertSqlSafe, Executor as _, SqliteConnection};

use super::{
    errors,
    log_head::{OPEN, head, readable},
    rows::int,
};
use crate::{LogError, LogKey, StoreError};

/// Maximum number of appends in a statement.
const MAX_TOGETHER: usize = 32;

/// The statement for each number of appends, from one. For a log that is not open or does not end at the given number, the statement finds no log; the
/// table refuses that, and nothing is appended. A trigger of the table moves the end of the log.
static STATEMENTS: LazyLock<[String; MAX_TOGETHER]> = LazyLock::new(|| {
    std::array::from_fn(|more| {
        let new = vec!["(?, ?, ?, ?, ?)"; more + 1].join(", ");
        format!(
            "INSERT INTO chunk (log, begins, count, data) \
             SELECT log.id, new.column3, new.column4, new.column5 FROM (VALUES {new}) AS new \
             LEFT JOIN log ON log.scope = new.column1 AND log.name = new.column2 \
             AND log.ends = new.column3 AND log.state = 0"
        )
    })
});

/// Appends to a log that is open and ends at the given number, or does nothing.
pub(super) const APPEND: &str = "INSERT INTO chunk (log, begins, count, data) SELECT id, ?3, ?4, ?5 FROM log \
                                 WHERE scope = ?1 AND name = ?2 AND ends = ?3 AND state = 0 AND ?4 > 0";

/// Records to append to a log, in one row.
#[derive(Debug)]
pub(super) struct Append {
    pub(super) key: LogKey,
    pub(super) at: u64,
    /// The number of records.
    pub(super) count: usize,
    pub(super) data: Vec<u8>,
}

impl Append {
    /// Appends within a transaction; returns the problem of the log if nothing was appended.
    pub(super) async fn run(
        &self,
        connection: &mut SqliteConnection,
    ) -> Result<Result<(), LogError>, StoreError> {
        let Self { key, at, count, data } = self;
        let appended = sqlx::query(APPEND)
            .bind(key.scope.as_str())
            .bind(key.name.as_str())
            .bind(int(*at))
            .bind(int(*count as u64))
            .bind(data.as_slice())
            .execute(&mut *connection)
            .await
            .map_err(errors::of)?;
        if appended.rows_affected() > 0 {
            return Ok(Ok(()));
        }
        let head = match readable(key, head(connection, key).await?) {
            Ok(head) => head,
            Err(error) => return Ok(Err(error)),
        };
        let (name, at, end) = (key.name.clone(), *at, head.ends);
        Ok(match head.state {
            OPEN if *count == 0 && at == end => Ok(()),
            OPEN => Err(LogError::Behind { name, at, end }),
            _ => Err(LogError::Closed { name }),
        })
    }
}

/// Appends all of them or none. This is one round trip to the thread of the connection, and the first result is the end.
pub(super) async fn append_all(
    connection: &mut SqliteConnection,
    appends: &[&Append],
) -> Result<(), StoreError> {
    let together = || StoreError::Unavailable { reason: "not together".to_owned() };
    let sql = appends.len().checked_sub(1).and_then(|more| STATEMENTS.get(more));
    let sql = sql.filter(|_| appends.iter().all(|append| append.count > 0)).ok_or_else(together)?;
    let mut query = sqlx::query(AssertSqlSafe(sql.as_str()));
    for Append { key, at, count, data } in appends {
        query = query
            .bind(key.scope.as_str())
            .bind(key.name.as_str())
            .bind(int(*at))
            .bind(int(*count as u64))
            .bind(data.as_slice());
    }
    let mut done = connection.fetch_many(query);
    done.try_next().await.map(drop).map_err(errors::of)
}
