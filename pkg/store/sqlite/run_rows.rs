//! The rows of runs.

use rusqlite::{Connection, Row, types::FromSql};

use super::{
    errors::store_error,
    statements::{number, read_rows, rows},
};
use crate::{LogKey, NodeId, RunNote, RunProgress, RunRequest, RunWriter, StoreError, StoredRun};

fn column<T: FromSql>(row: &Row<'_>, name: &str) -> Result<T, StoreError> {
    row.get(name).map_err(store_error)
}

pub(super) fn read(row: &Row<'_>) -> Result<StoredRun, StoreError> {
    let text = |name: &str| column::<String>(row, name);
    let maybe = |name: &str| column::<Option<String>>(row, name);
    let int = |name: &str| column::<Option<i64>>(row, name);
    let count = |name: &str| {
        Ok::<_, StoreError>(u32::try_from(int(name)?.unwrap_or_default()).unwrap_or(u32::MAX))
    };
    let begun_ms = number(int("begun_ms")?.unwrap_or_default());
    let key = LogKey::new(text("scope")?, text("name")?);
    let mut run =
        StoredRun::new(key, text("conversation")?, text("owner")?, text("agent")?, begun_ms);
    let progress = text("progress")?;
    let unknown =
        || StoreError::Corrupt { reason: format!("unknown progress `{progress}` of a run") };
    let known = RunProgress::ALL.into_iter().find(|known| known.as_str() == progress);
    run.progress = known.ok_or_else(unknown)?;
    let digest = int("digest")?.unwrap_or_default();
    run.request = maybe("request")?.map(|key| RunRequest::new(key, digest.cast_unsigned()));
    (run.input, run.end) = (maybe("input")?, maybe("run_end")?);
    run.about = maybe("about")?;
    run.resumed = count("resumed")?;
    run.ended_ms = int("ended_ms")?.map(number);
    run.usage = maybe("usage")?.and_then(|usage| serde_json::from_str(&usage).ok());
    run.epoch = number(int("epoch")?.unwrap_or_default());
    run.node = maybe("node")?.map(NodeId::new);
    run.takeovers = count("takeovers")?;
    run.not_before_ms = int("not_before_ms")?.map(number);
    run.version = count("version")?;
    Ok(run)
}

pub(super) fn find(connection: &Connection, key: &LogKey) -> Result<StoredRun, StoreError> {
    let sql = "SELECT * FROM run WHERE scope = ? AND name = ?";
    let found = read_rows(connection, sql, [key.scope.as_str(), key.name.as_str()], read)?;
    let mut run = found.into_iter().next().ok_or_else(|| StoreError::no_run(key))?;
    read_notes(connection, &mut run)?;
    Ok(run)
}

/// Reads the notes of a run.
pub(super) fn read_notes(connection: &Connection, run: &mut StoredRun) -> Result<(), StoreError> {
    let sql = "SELECT note.name, note.data FROM run_note AS note JOIN run ON run.id = note.run \
               WHERE run.scope = ? AND run.name = ? ORDER BY note.id";
    let key = [run.key.scope.as_str(), run.key.name.as_str()];
    let notes: Vec<(String, String)> = rows(connection, sql, key)?;
    run.notes = notes.into_iter().map(|(name, data)| RunNote::new(name, data)).collect();
    Ok(())
}

/// Returns the error of a write that changed nothing because of its run.
pub(super) fn refusal(connection: &Connection, writer: &RunWriter) -> StoreError {
    match find(connection, &writer.run) {
        Ok(run) => {
            let refused = writer.check(run.epoch).err();
            refused.unwrap_or_else(|| StoreError::run_ended(&writer.run))
        }
        Err(error) => error,
    }
}
