//! The row of a log.

use std::sync::Arc;

use super::{
    pool::{RepeatRule, SessionPool},
    values::{column, count, values},
};
use crate::{LogKey, LogRecord, RunWriter, StoreError, integers::int};

pub(super) const OPEN: i16 = 0;
pub(super) const CLOSED: i16 = 1;
pub(super) const RETIRED: i16 = 2;

/// The data of a log, without its records.
pub(super) struct LogRow {
    pub(super) no: i64,
    pub(super) head: u64,
    pub(super) state: i16,
    /// The epoch of the run with the same key, if there is one.
    pub(super) epoch: Option<u64>,
}

/// Reads the rows of logs.
#[derive(Clone)]
pub(super) struct LogHeads(pub(super) Arc<SessionPool>);

impl LogHeads {
    /// Returns a log, unless there is none.
    pub(super) async fn find(&self, key: &LogKey) -> Result<Option<LogRow>, StoreError> {
        let sql = "SELECT log.no, log.head, log.state, run.epoch FROM forgeline.log \
                   LEFT JOIN forgeline.run ON run.scope = log.scope AND run.id = log.name \
                   WHERE log.scope = $1 AND log.name = $2";
        let (scope, name) = (key.scope.as_str(), key.name.as_str());
        let row = self.0.row(RepeatRule::Safe, sql, values![scope, name]).await?;
        let Some(row) = row else { return Ok(None) };
        let epoch = column::<Option<i64>>(&row, 3)?.map(crate::integers::number);
        let (no, state) = (column(&row, 0)?, column(&row, 2)?);
        Ok(Some(LogRow { no, head: count(&row, 1)?, state, epoch }))
    }

    /// Returns a log whose records are available.
    pub(super) async fn readable(&self, key: &LogKey) -> Result<LogRow, StoreError> {
        match self.find(key).await? {
            None => Err(StoreError::no_log(key)),
            Some(head) if head.state == RETIRED => Err(StoreError::log_retired(key)),
            Some(head) => Ok(head),
        }
    }

    /// Returns the reason for which an append was not made; `None` if it could be made now.
    pub(super) async fn refusal(
        &self,
        key: &LogKey,
        at: u64,
        epoch: Option<u64>,
    ) -> Option<StoreError> {
        let head = match self.readable(key).await {
            Ok(head) => head,
            Err(error) => return Some(error),
        };
        let writer = epoch.map(|epoch| RunWriter::new(key.clone(), epoch));
        if let Err(fenced) = head.fence(writer.as_ref()) {
            return Some(fenced);
        }
        if head.state != OPEN {
            return Some(StoreError::log_closed(key));
        }
        (head.head != at).then(|| StoreError::log_behind(key, at, head.head))
    }

    /// Returns the number of a log if it has exactly these records at this place: an append whose outcome was unknown was made.
    pub(super) async fn holds(
        &self,
        key: &LogKey,
        at: u64,
        records: &[LogRecord],
    ) -> Result<Option<i64>, StoreError> {
        let sql = "SELECT log.no, event.kind, event.data FROM forgeline.log \
                   JOIN forgeline.event ON event.log = log.no AND event.seq >= $3 AND event.seq < $3 + $4 \
                   WHERE log.scope = $1 AND log.name = $2 ORDER BY event.seq";
        let (scope, name) = (key.scope.as_str(), key.name.as_str());
        let (at, most) = (int(at), int(records.len() as u64));
        let rows = self.0.rows(RepeatRule::Safe, sql, values![scope, name, at, most]).await?;
        let mut no = None;
        if rows.len() != records.len() {
            return Ok(None);
        }
        for (row, record) in rows.iter().zip(records) {
            if record.kind != column::<&str>(row, 1)? || record.data != column::<&[u8]>(row, 2)? {
                return Ok(None);
            }
            no = Some(column(row, 0)?);
        }
        Ok(no)
    }
}
