//! The condition under which a writer may write its run, as a part of the statement that writes.

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
