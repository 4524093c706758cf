//! The rows of runs.

use tokio_postgres::{Row, types::FromSql};

use super::values::{column, count};
use crate::{
    LogKey, NodeId, RunNote, RunPlace, RunProgress, RunRequest, StoreError, StoredRun,
    integers::number,
};

/// The columns of a run, from a table or query with the name `run`, without its notes.
macro_rules! run_columns {
    () => {
        "run.scope, run.id, run.conversation, run.owner, run.agent, run.progress, run.request, run.digest, run.input, \
         run.about, run.resumed, run.begun_ms, run.ended_ms, run.run_end, run.usage, run.epoch, run.node, run.takeovers, \
         floor(extract(epoch FROM run.not_before) * 1000)::bigint AS not_before_ms, run.state_version"
    };
}
pub(super) use run_columns;

/// The names and the contents of the notes of a run, in their order.
macro_rules! note_columns {
    () => {
        "(SELECT array_agg(name ORDER BY no) FROM forgeline.run_note WHERE run_note.run = run.no) AS note_names, \
         (SELECT array_agg(data ORDER BY no) FROM forgeline.run_note WHERE run_note.run = run.no) AS note_data"
    };
}
pub(super) use note_columns;

/// The record of the end of a run whose log has it and whose row not yet: the log gets it first. A statement sees both as they were at one moment.
macro_rules! logged_end {
    () => {
        "CASE WHEN run.ended_ms IS NULL THEN (
            SELECT event.data FROM forgeline.log JOIN forgeline.event ON event.log = log.no AND event.seq = log.head - 1
            WHERE log.scope = run.scope AND log.name = run.id AND event.kind = 'run_end') END AS logged_end"
    };
}
pub(super) use logged_end;

fn named<'r, T: FromSql<'r>>(row: &'r Row, name: &str) -> Result<T, StoreError> {
    let other = |_| StoreError::corrupt(format!("column `{name}` of a run has another type"));
    row.try_get(name).map_err(other)
}

fn progress(name: &str) -> Result<RunProgress, StoreError> {
    let unknown = || StoreError::corrupt(format!("unknown progress `{name}` of a run"));
    let known = RunProgress::ALL.into_iter().find(|known| known.as_str() == name);
    known.ok_or_else(unknown)
}

/// Returns the open run of a scope in a row with its id, its time and its progress.
pub(super) fn open_run(scope: &str, row: &Row) -> Result<RunPlace, StoreError> {
    let key = LogKey::new(scope, column::<&str>(row, 0)?);
    Ok(RunPlace::new(key, count(row, 1)?, progress(column(row, 2)?)?))
}

/// Returns the run in a row without notes.
pub(super) fn run(row: &Row) -> Result<StoredRun, StoreError> {
    let text = |name: &str| named::<&str>(row, name);
    let maybe = |name: &str| named::<Option<String>>(row, name);
    let int = |name: &str| Ok::<_, StoreError>(named::<Option<i64>>(row, name)?.map(number));
    let small = |name: &str| {
        Ok::<_, StoreError>(u32::try_from(named::<i32>(row, name)?).unwrap_or_default())
    };
    let key = LogKey::new(text("scope")?, text("id")?);
    let begun_ms = int("begun_ms")?.unwrap_or_default();
    let mut run =
        StoredRun::new(key, text("conversation")?, text("owner")?, text("agent")?, begun_ms);
    run.progress = progress(text("progress")?)?;
    let digest = named::<Option<i64>>(row, "digest")?.unwrap_or_default();
    run.request = maybe("request")?.map(|key| RunRequest::new(key, digest.cast_unsigned()));
    (run.input, run.end, run.about) = (maybe("input")?, maybe("run_end")?, maybe("about")?);
    run.resumed = small("resumed")?;
    run.ended_ms = int("ended_ms")?;
    run.usage = maybe("usage")?.and_then(|usage| serde_json::from_str(&usage).ok());
    run.epoch = int("epoch")?.unwrap_or_default();
    run.node = maybe("node")?.map(NodeId::new);
    run.takeovers = small("takeovers")?;
    run.not_before_ms = int("not_before_ms")?;
    run.version = small("state_version")?;
    Ok(run)
}

/// Returns the run in a row without notes that has the end of its log.
pub(super) fn run_with_end(row: &Row) -> Result<StoredRun, StoreError> {
    let logged_end = named::<Option<Vec<u8>>>(row, "logged_end")?;
    let logged_end = logged_end.and_then(|end| String::from_utf8(end).ok());
    Ok(StoredRun { logged_end, ..run(row)? })
}

/// Returns the run in a row with its notes and the end of its log.
pub(super) fn run_with_notes_and_end(row: &Row) -> Result<StoredRun, StoreError> {
    let StoredRun { logged_end, .. } = run_with_end(row)?;
    Ok(StoredRun { logged_end, ..run_with_notes(row)? })
}

/// Returns the run in a row with its notes.
pub(super) fn run_with_notes(row: &Row) -> Result<StoredRun, StoreError> {
    let mut run = run(row)?;
    let names = named::<Option<Vec<String>>>(row, "note_names")?.unwrap_or_default();
    let data = named::<Option<Vec<String>>>(row, "note_data")?.unwrap_or_default();
    run.notes = names.into_iter().zip(data).map(|(name, data)| RunNote::new(name, data)).collect();
    Ok(run)
}
