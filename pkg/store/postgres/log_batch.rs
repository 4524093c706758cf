//! Appends that are made by one statement.

use tokio::{
    sync::{OwnedSemaphorePermit, oneshot},
    time::Instant,
};

use super::{
    errors::StatementFailure,
    session::StatementSession,
    setup::DeltaCommit,
    values::{column, values},
};
use crate::{LogKey, LogRecord, StoreError, integers::int};

/// Appends to each log that is open, ends where the append begins and, if it is the log of a run, is written by the run's newest claim; a run that the database
/// does not have has none. The row of the run is locked, so that no claim comes between the check and the write.
macro_rules! append_statement {
    ($first:literal, $from:literal) => {
        concat!(
            "
WITH ",
            $first,
            "allowed AS (
    SELECT input.* FROM ",
            $from,
            "unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[])
    WITH ORDINALITY AS input (scope, name, at, count, bytes, epoch, nr)
    LEFT JOIN LATERAL (
        SELECT epoch FROM forgeline.run WHERE run.scope = input.scope AND run.id = input.name FOR NO KEY UPDATE
    ) AS run ON input.epoch IS NOT NULL
    WHERE input.epoch IS NULL OR input.epoch > 0 AND coalesce(run.epoch = input.epoch, true)),
grown AS (
    UPDATE forgeline.log SET head = log.head + allowed.count, bytes = log.bytes + allowed.bytes
    FROM allowed WHERE log.scope = allowed.scope AND log.name = allowed.name
    AND log.head = allowed.at AND log.state = 0 RETURNING log.no, allowed.at, allowed.nr),
added AS (
    INSERT INTO forgeline.event (log, seq, kind, data)
    SELECT grown.no, grown.at + event.place, event.kind, event.data FROM grown
    JOIN unnest($7::bigint[], $8::bigint[], $9::text[], $10::bytea[]) AS event (nr, place, kind, data)
    ON event.nr = grown.nr)
SELECT nr, no FROM grown"
        )
    };
}

const APPEND: &str = append_statement!("", "");

/// The same, without a wait for the disk and for standbys.
const APPEND_ASYNC: &str = append_statement!(
    "quick AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true)), ",
    "quick CROSS JOIN "
);

/// The kinds of the events that carry a piece of the model's answer.
const DELTA_KINDS: [&str; 3] = ["thinking_content", "message_content", "tool_call_content"];

/// An append that waits for the writer.
pub(super) struct QueuedAppend {
    pub(super) key: LogKey,
    pub(super) at: u64,
    pub(super) records: Vec<LogRecord>,
    /// The epoch of its writer; `None` for a log of no run.
    pub(super) epoch: Option<u64>,
    pub(super) began: Instant,
    pub(super) bytes: usize,
    pub(super) reply: oneshot::Sender<Result<(), StoreError>>,
    /// The share of the queue, which is free again once the append is answered.
    #[expect(dead_code, reason = "it is kept until then")]
    pub(super) quota: OwnedSemaphorePermit,
}

impl QueuedAppend {
    /// Returns the number after the last record.
    pub(super) fn end(&self) -> u64 {
        self.at.saturating_add(self.records.len() as u64)
    }

    pub(super) fn answer(self, done: Result<(), StoreError>) {
        // The caller may no longer wait.
        drop(self.reply.send(done));
    }
}

/// The appends of one log that follow one another.
#[derive(Default)]
pub(super) struct JoinedAppend {
    pub(super) appends: Vec<QueuedAppend>,
}

impl JoinedAppend {
    pub(super) fn key(&self) -> Option<&LogKey> {
        self.appends.first().map(|append| &append.key)
    }

    /// Returns `true` if an append continues the last of these.
    pub(super) fn is_continued_by(&self, next: &QueuedAppend) -> bool {
        self.appends.last().is_some_and(|last| last.end() == next.at && last.epoch == next.epoch)
    }

    fn has_deltas_only(&self) -> bool {
        self.records().all(|record| DELTA_KINDS.contains(&record.kind.as_str()))
    }

    fn records(&self) -> impl Iterator<Item = &LogRecord> {
        self.appends.iter().flat_map(|append| &append.records)
    }
}

/// Makes appends with one statement; returns the number of the log for each that was made, and `None` for the others.
pub(super) async fn append(
    session: &StatementSession,
    batch: &[JoinedAppend],
    deltas: DeltaCommit,
) -> Result<Vec<Option<i64>>, StatementFailure> {
    let (mut scopes, mut names, mut ends) = (Vec::new(), Vec::new(), Vec::new());
    let (mut counts, mut sizes, mut epochs) = (Vec::new(), Vec::new(), Vec::new());
    let (mut numbers, mut places) = (Vec::new(), Vec::new());
    let (mut kinds, mut data) = (Vec::new(), Vec::new());
    for (nr, joined) in (1_i64..).zip(batch) {
        let Some(first) = joined.appends.first() else { continue };
        scopes.push(first.key.scope.as_str());
        names.push(first.key.name.as_str());
        ends.push(int(first.at));
        epochs.push(first.epoch.map(int));
        let before = kinds.len();
        let mut size = 0;
        for (place, record) in (0_i64..).zip(joined.records()) {
            numbers.push(nr);
            places.push(place);
            kinds.push(record.kind.as_str());
            data.push(record.data.as_ref());
            size += record.kind.len() + record.data.len();
        }
        counts.push(int((kinds.len() - before) as u64));
        sizes.push(int(size as u64));
    }
    let given = values![scopes, names, ends, counts, sizes, epochs, numbers, places, kinds, data];
    let statement =
        if deltas == DeltaCommit::Async && batch.iter().all(JoinedAppend::has_deltas_only) {
            APPEND_ASYNC
        } else {
            APPEND
        };
    let rows = session.rows(statement, given).await;
    let mut logs = vec![None; batch.len()];
    for row in rows.map_err(|error| StatementFailure::of(&error))? {
        let (nr, no) = numbered(&row).map_err(StatementFailure::Refused)?;
        if let Some(place) = usize::try_from(nr - 1).ok().and_then(|at| logs.get_mut(at)) {
            *place = Some(no);
        }
    }
    Ok(logs)
}

fn numbered(row: &tokio_postgres::Row) -> Result<(i64, i64), StoreError> {
    Ok((column(row, 0)?, column(row, 1)?))
}
