//! The owners of runs: claims, releases, and nodes that died.

use std::time::Duration;

use super::{
    PostgresStore,
    free_runs::{free_runs, lost_runs},
    life::{BeatUse, int_ms},
    pool::RepeatRule,
    run_rows::{note_columns, run_columns, run_with_notes},
    values::{column, count, values},
};
use crate::{LogKey, NodeId, RunWriter, StoreError, StoredRun, integers::int};

/// Claims the oldest runs that are free; those that another node is claiming at this moment are passed over. A node that was stopped since its last beat
/// gets none: it would claim a run, and lose it to the next reaper, again and again.
const CLAIM: &str = concat!(
    "WITH free AS (
        SELECT no ",
    free_runs!(),
    " AND state_version <= $3
        AND EXISTS (SELECT FROM forgeline.node WHERE id = $1 AND until > clock_timestamp()
            AND beat_at >= clock_timestamp() - $4 * interval '1 millisecond')
        ORDER BY no LIMIT $2 FOR UPDATE SKIP LOCKED),
    run AS (
        UPDATE forgeline.run SET node = $1, epoch = epoch + 1, state_version = $3, not_before = NULL
        FROM free WHERE run.no = free.no RETURNING run.*)
    SELECT ",
    run_columns!(),
    ", ",
    note_columns!(),
    " FROM run ORDER BY run.no"
);

/// Takes runs away from dead nodes. A node is dead if its time is over, if it has never said that it is alive, or if the lock of its session is free and it
/// has been silent for longer than a beat; a node whose own session is young takes none, because a failover of the database frees all locks at once.
const REAP: &str = concat!(
    "
WITH reaper AS (
    SELECT id FROM forgeline.node WHERE id = $1 AND session_at <= clock_timestamp() - $2 * interval '1 millisecond'),
lost AS (
    SELECT run.no ",
    lost_runs!("$1", "$3"),
    " AND EXISTS (SELECT FROM reaper)
    ORDER BY run.no LIMIT 1000 FOR UPDATE OF run SKIP LOCKED)
UPDATE forgeline.run SET node = NULL, epoch = epoch + 1, takeovers = takeovers + 1
FROM lost WHERE run.no = lost.no RETURNING run.scope, run.id"
);

/// Forgets nodes that have been dead for a day.
const FORGET: &str =
    "DELETE FROM forgeline.node WHERE until < clock_timestamp() - interval '1 day'";

const RELEASE: &str = "UPDATE forgeline.run SET node = NULL, epoch = epoch + 1, takeovers = 0, \
     not_before = CASE WHEN $4 > 0 THEN clock_timestamp() + $4 * interval '1 millisecond' END \
     WHERE scope = $1 AND id = $2 AND epoch = $3 AND epoch > 0 AND ended_ms IS NULL RETURNING no";

const OWNED: &str =
    "SELECT scope, id, epoch FROM forgeline.run WHERE ended_ms IS NULL AND node = $1 ORDER BY no";

/// Maximum time for which a run is released, in milliseconds: 100 years.
const MAX_WAIT_MS: i64 = 100 * 365 * 86_400_000;

impl PostgresStore {
    pub(super) async fn claim_runs(
        &self,
        node: &NodeId,
        most: usize,
        version: u32,
    ) -> Result<Vec<StoredRun>, StoreError> {
        self.0.nodes.beat(node, self.0.times, BeatUse::Alone).await?;
        let version = i32::try_from(version).unwrap_or(i32::MAX);
        let (node, most, silent) = (node.as_str(), int(most as u64), int_ms(self.0.times.silent));
        let values = values![node, most, version, silent];
        // Where it is unknown whether runs were claimed, they are among the node's.
        let rows = self.0.pool.rows(RepeatRule::Unsafe, CLAIM, values).await?;
        rows.iter().map(run_with_notes).collect()
    }

    pub(super) async fn reap_runs(&self, node: &NodeId) -> Result<Vec<LogKey>, StoreError> {
        // A node without a session would not know how young it is.
        self.0.nodes.beat(node, self.0.times, BeatUse::Alone).await?;
        let times = self.0.times;
        let (id, settled, silent) = (node.as_str(), int_ms(times.settled), int_ms(times.silent));
        let rows = self.0.pool.rows(RepeatRule::Safe, REAP, values![id, settled, silent]).await?;
        if !rows.is_empty() {
            self.0.pool.rows(RepeatRule::Safe, FORGET, values![]).await?;
        }
        let key = |row: &tokio_postgres::Row| {
            Ok(LogKey::new(column::<&str>(row, 0)?, column::<&str>(row, 1)?))
        };
        rows.iter().map(key).collect()
    }

    pub(super) async fn release_run(
        &self,
        writer: &RunWriter,
        wait: Duration,
    ) -> Result<(), StoreError> {
        let (scope, id) = (writer.run.scope.as_str(), writer.run.name.as_str());
        let (epoch, wait_ms) = (int(writer.epoch), int_ms(wait).min(MAX_WAIT_MS));
        let values = values![scope, id, epoch, wait_ms];
        match self.0.pool.row(RepeatRule::Unsafe, RELEASE, values).await? {
            Some(_) => Ok(()),
            None => Err(self.run_refusal(writer).await),
        }
    }

    pub(super) async fn owned_runs(&self, node: &NodeId) -> Result<Vec<RunWriter>, StoreError> {
        let id = node.as_str();
        let rows = self.0.pool.rows(RepeatRule::Safe, OWNED, values![id]).await?;
        let writer = |row: &tokio_postgres::Row| {
            let key = LogKey::new(column::<&str>(row, 0)?, column::<&str>(row, 1)?);
            Ok(RunWriter::new(key, count(row, 2)?))
        };
        rows.iter().map(writer).collect()
    }
}
