//! The conditions under which a writer may write its run, and under which a run may be taken, as parts of statements.

use super::{
    PostgresStore,
    pool::RepeatRule,
    values::{count, values},
};
use crate::{RunWriter, StoreError};

/// Selects the run of a writer if its claim is the newest, and locks its row, so that no claim comes between the check and the write. Arguments: the
/// parameters with the scope, the id and the epoch.
macro_rules! fenced {
    ($scope:literal, $id:literal, $epoch:literal) => {
        concat!(
            "SELECT no FROM forgeline.run WHERE scope = ",
            $scope,
            " AND id = ",
            $id,
            " AND epoch = ",
            $epoch,
            " AND epoch > 0 FOR NO KEY UPDATE"
        )
    };
}
pub(super) use fenced;

/// The condition that there is no writer, that its run was selected as `fenced`, or that the database does not have the run.
macro_rules! is_written {
    ($scope:literal, $id:literal, $epoch:literal) => {
        concat!(
            "(",
            $epoch,
            "::bigint IS NULL OR EXISTS (SELECT FROM fenced) OR ",
            $epoch,
            " > 0 AND NOT EXISTS (SELECT FROM forgeline.run WHERE scope = ",
            $scope,
            " AND id = ",
            $id,
            "))"
        )
    };
}
pub(super) use is_written;

/// Selects from the runs that have no owner and may be claimed by now.
macro_rules! free_runs {
    () => {
        "FROM forgeline.run WHERE ended_ms IS NULL AND node IS NULL AND (not_before IS NULL OR not_before <= clock_timestamp())"
    };
}
pub(super) use free_runs;

/// Selects from the runs of dead nodes. Arguments: the parameters with the node that reaps, and with the silence after which a node whose lock is free is
/// dead, in milliseconds.
macro_rules! lost_runs {
    ($reaper:literal, $silent:literal) => {
        concat!(
            "FROM forgeline.run LEFT JOIN forgeline.node ON node.id = run.node
            WHERE run.ended_ms IS NULL AND run.node IS NOT NULL AND run.node <> ",
            $reaper,
            " AND (node.id IS NULL OR node.until < clock_timestamp() OR node.has_lock AND node.beat_at < clock_timestamp() - ",
            $silent,
            " * interval '1 millisecond' AND NOT EXISTS (
                SELECT FROM pg_locks JOIN pg_database ON pg_database.oid = pg_locks.database
                WHERE locktype = 'advisory' AND datname = current_database() AND classid = 1718579820
                AND objid = node.lock_key::oid AND objsubid = 2 AND granted))"
        )
    };
}
pub(super) use lost_runs;

impl PostgresStore {
    /// Refuses a writer whose claim of its run is not the newest. A run that the database does not have has no claim to compare.
    pub(super) async fn fence(&self, writer: Option<&RunWriter>) -> Result<(), StoreError> {
        let Some(writer) = writer else { return Ok(()) };
        let (scope, id) = (writer.run.scope.as_str(), writer.run.name.as_str());
        let sql = "SELECT epoch FROM forgeline.run WHERE scope = $1 AND id = $2";
        match self.0.pool.row(RepeatRule::Safe, sql, values![scope, id]).await? {
            Some(row) => writer.check(count(&row, 0)?),
            None if writer.epoch == 0 => Err(writer.fenced()),
            None => Ok(()),
        }
    }
}
