//! The run store of [`SqliteStore`].

use std::{sync::Arc, time::Duration};

use rusqlite::{Connection, params};

use super::{
    SqliteStore,
    owned_rows::OwnedRows,
    run_claims,
    run_rows::{find, read, read_notes, refusal},
    statements::{execute, int, read_rows, rows},
};
use crate::{
    EraseMode, LogKey, NodeId, NodeNews, RunBegun, RunChange, RunNote, RunPage, RunProgress,
    RunQuery, RunStore, RunWriter, StoreError, StoreFuture, StoredRun,
    list_cursor::{ListCursor, page},
};

/// Maximum number of runs that a sweep deletes at a time.
const MAX_SWEPT: i64 = 1_000;

/// Changes the notes of a run.
fn change_notes(
    connection: &Connection,
    key: &LogKey,
    change: &RunChange,
) -> Result<(), StoreError> {
    let (scope, run) = (key.scope.as_str(), key.name.as_str());
    let delete = "DELETE FROM run_note WHERE name = ? \
                  AND run = (SELECT id FROM run WHERE scope = ? AND name = ?)";
    for name in change.removed.iter().chain(change.added.iter().map(|note| &note.name)) {
        execute(connection, delete, [name.as_str(), scope, run])?;
    }
    let insert = "INSERT INTO run_note (run, name, data) \
                  SELECT id, ?, ? FROM run WHERE scope = ? AND name = ? AND ended_ms IS NULL";
    for RunNote { name, data } in &change.added {
        execute(connection, insert, [name.as_str(), data, scope, run])?;
    }
    Ok(())
}

fn of_request(
    connection: &Connection,
    scope: &str,
    owner: &str,
    request: &str,
) -> Result<Option<StoredRun>, StoreError> {
    let sql = "SELECT * FROM run WHERE scope = ? AND owner = ? AND request = ?";
    let mut run = read_rows(connection, sql, [scope, owner, request], read)?.into_iter().next();
    run.iter_mut().try_for_each(|run| read_notes(connection, run))?;
    Ok(run)
}

fn begin(
    connection: &Connection,
    run: &StoredRun,
    node: Option<&NodeId>,
) -> Result<RunBegun, StoreError> {
    if let Some(request) = &run.request {
        let earlier = of_request(connection, &run.key.scope, &run.owner, &request.key)?;
        if let Some(earlier) = earlier {
            return Ok(RunBegun::of_repeated(earlier, run));
        }
    }
    let sql = "INSERT INTO run (scope, name, conversation, owner, agent, progress, request, digest, input, begun_ms, about, node, epoch, version) \
               VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (scope, name) DO NOTHING";
    let inserted = execute(
        connection,
        sql,
        params![
            run.key.scope.as_str(),
            run.key.name.as_str(),
            run.conversation.as_str(),
            run.owner.as_str(),
            run.agent.as_str(),
            run.progress.as_str(),
            run.request.as_ref().map(|request| request.key.as_str()),
            run.request.as_ref().map(|request| request.digest.cast_signed()),
            run.input.as_deref(),
            int(run.begun_ms),
            run.about.as_deref(),
            node.map(NodeId::as_str),
            node.is_some(),
            run.version,
        ],
    )?;
    if inserted == 0 {
        return Err(StoreError::Exists { what: "run", name: run.key.name.clone() });
    }
    Ok(RunBegun::New)
}

fn change(
    connection: &Connection,
    writer: &RunWriter,
    change: &RunChange,
) -> Result<(), StoreError> {
    let key = &writer.run;
    let has_ended = change.progress.has_ended();
    let usage = change.usage.as_ref().and_then(|usage| serde_json::to_string(usage).ok());
    let sql = "UPDATE run SET progress = ?1, resumed = CASE WHEN ?9 THEN 0 ELSE resumed + ?2 END, \
               input = CASE WHEN ?3 THEN NULL ELSE input END, ended_ms = CASE WHEN ?3 THEN ?4 END, \
               run_end = CASE WHEN ?3 THEN ?5 END, usage = CASE WHEN ?3 THEN ?6 END \
               WHERE scope = ?7 AND name = ?8 AND epoch = ?10 AND epoch > 0 AND ended_ms IS NULL";
    let changed = execute(
        connection,
        sql,
        params![
            change.progress.as_str(),
            i64::from(change.is_resumed),
            has_ended,
            int(change.at_ms),
            change.end.as_deref(),
            usage,
            key.scope.as_str(),
            key.name.as_str(),
            change.is_put_away,
            int(writer.epoch),
        ],
    )?;
    if changed == 0 {
        return Err(refusal(connection, writer));
    }
    change_notes(connection, key, change)
}

const OF_SCOPE: &str = "SELECT * FROM run WHERE scope = ?1 AND (?2 IS NULL OR owner = ?2) \
     AND ?3 IS NULL AND (?4 IS NULL OR (begun_ms, name) < (?4, ?5)) \
     AND (?7 IS NULL OR agent = ?7) AND (?8 IS NULL OR progress = ?8) AND (?9 IS NULL OR begun_ms >= ?9) \
     ORDER BY begun_ms DESC, name DESC LIMIT ?6";
const OF_CONVERSATION: &str = "SELECT * FROM run WHERE scope = ?1 AND conversation = ?3 \
     AND (?2 IS NULL OR owner = ?2) AND (?4 IS NULL OR (begun_ms, name) < (?4, ?5)) \
     AND (?7 IS NULL OR agent = ?7) AND (?8 IS NULL OR progress = ?8) AND (?9 IS NULL OR begun_ms >= ?9) \
     ORDER BY begun_ms DESC, name DESC LIMIT ?6";

fn list(connection: &Connection, query: &RunQuery) -> Result<RunPage, StoreError> {
    let after = ListCursor::read(query.after.as_ref())?;
    // Each statement has an index that yields the order.
    let sql = if query.conversation.is_some() { OF_CONVERSATION } else { OF_SCOPE };
    let found = read_rows(
        connection,
        sql,
        params![
            query.scope.as_str(),
            query.owner.as_deref(),
            query.conversation.as_deref(),
            after.as_ref().map(|after| int(after.at_ms)),
            after.as_ref().map(|after| after.name.as_str()),
            int(query.most as u64).saturating_add(1),
            query.agent.as_deref(),
            query.progress.map(RunProgress::as_str),
            query.since_ms.map(int),
        ],
        read,
    )?;
    let (page, next) = page(found, query.most, ListCursor::of_run);
    Ok(RunPage::new(page, next))
}

fn sweep(connection: &Connection, before_ms: u64, keep: u64) -> Result<Vec<LogKey>, StoreError> {
    let sql = "DELETE FROM run WHERE id IN (SELECT id FROM (SELECT id, ended_ms, \
               row_number() OVER (ORDER BY ended_ms DESC, id DESC) AS place FROM run WHERE ended_ms IS NOT NULL) \
               WHERE ended_ms < ? OR place > ? ORDER BY ended_ms, id LIMIT ?) RETURNING scope, name";
    let swept: Vec<(String, String)> =
        rows(connection, sql, [int(before_ms), int(keep), MAX_SWEPT])?;
    Ok(swept.into_iter().map(|(scope, name)| LogKey::new(scope, name)).collect())
}

const OWNED: OwnedRows = OwnedRows {
    count: "SELECT count(*) FROM run WHERE scope = ?1 AND owner = ?2",
    delete: &["DELETE FROM run WHERE scope = ?1 AND owner = ?2"],
    bury: "UPDATE run SET owner = '', request = NULL, digest = NULL, input = NULL, run_end = NULL, about = NULL \
           WHERE scope = ?1 AND owner = ?2",
};

impl RunStore for SqliteStore {
    fn begin<'a>(&'a self, run: StoredRun, node: Option<&'a NodeId>) -> StoreFuture<'a, RunBegun> {
        let node = node.cloned();
        let bytes = [&run.input, &run.about].into_iter().flatten().map(String::len).sum();
        let write = move |connection: &Connection| begin(connection, &run, node.as_ref());
        Box::pin(self.0.writer.write(bytes, write))
    }

    fn of_request<'a>(
        &'a self,
        scope: &'a str,
        owner: &'a str,
        request: &'a str,
    ) -> StoreFuture<'a, Option<StoredRun>> {
        let [scope, owner, request] = [scope, owner, request].map(str::to_owned);
        Box::pin(self.query(move |connection| of_request(connection, &scope, &owner, &request)))
    }

    fn get<'a>(&'a self, key: &'a LogKey) -> StoreFuture<'a, StoredRun> {
        let key = key.clone();
        Box::pin(self.query(move |connection| find(connection, &key)))
    }

    fn change<'a>(&'a self, writer: &'a RunWriter, to: RunChange) -> StoreFuture<'a, ()> {
        let (writer, run) = (writer.clone(), writer.run.clone());
        let waits = Arc::clone(&self.0.waits);
        let bytes = to.added.iter().map(|note| note.data.len()).sum();
        let write = move |connection: &Connection| change(connection, &writer, &to);
        Box::pin(self.0.writer.write_then(bytes, write, move |()| waits.wake(&run)))
    }

    fn beat<'a>(&'a self, node: &'a NodeId) -> StoreFuture<'a, NodeNews> {
        // One process has the file, and looks for itself.
        Box::pin(async move { Ok(NodeNews::new(self.owned(node).await?.len() as u64, true)) })
    }

    fn claim<'a>(
        &'a self,
        node: &'a NodeId,
        most: usize,
        version: u32,
    ) -> StoreFuture<'a, Vec<StoredRun>> {
        let node = node.clone();
        let write =
            move |connection: &Connection| run_claims::claim(connection, &node, most, version);
        Box::pin(self.0.writer.write(0, write))
    }

    fn reap<'a>(&'a self, node: &'a NodeId) -> StoreFuture<'a, Vec<LogKey>> {
        let node = node.clone();
        let write = move |connection: &Connection| run_claims::reap(connection, &node);
        Box::pin(self.0.writer.write(0, write))
    }

    fn release<'a>(&'a self, writer: &'a RunWriter, wait: Duration) -> StoreFuture<'a, ()> {
        let writer = writer.clone();
        let write = move |connection: &Connection| run_claims::release(connection, &writer, wait);
        Box::pin(self.0.writer.write(0, write))
    }

    fn owned<'a>(&'a self, node: &'a NodeId) -> StoreFuture<'a, Vec<RunWriter>> {
        let node = node.clone();
        Box::pin(self.query(move |connection| run_claims::owned(connection, &node)))
    }

    fn open(&self, most: usize) -> StoreFuture<'_, Vec<StoredRun>> {
        let sql = "SELECT * FROM run WHERE ended_ms IS NULL ORDER BY id LIMIT ?";
        Box::pin(self.query(move |connection| {
            let mut open = read_rows(connection, sql, [int(most as u64)], read)?;
            open.iter_mut().try_for_each(|run| read_notes(connection, run))?;
            Ok(open)
        }))
    }

    fn list(&self, query: RunQuery) -> StoreFuture<'_, RunPage> {
        Box::pin(self.query(move |connection| list(connection, &query)))
    }

    fn sweep(&self, before_ms: u64, keep: u64) -> StoreFuture<'_, Vec<LogKey>> {
        Box::pin(async move {
            let write = move |connection: &Connection| sweep(connection, before_ms, keep);
            let swept = self.0.writer.write(0, write).await?;
            if !swept.is_empty() {
                self.deleted();
            }
            Ok(swept)
        })
    }

    fn delete<'a>(&'a self, key: &'a LogKey) -> StoreFuture<'a, bool> {
        let (key, run, waits) = (key.clone(), key.clone(), Arc::clone(&self.0.waits));
        Box::pin(async move {
            let write = move |connection: &Connection| {
                let sql = "DELETE FROM run WHERE scope = ? AND name = ?";
                execute(connection, sql, [key.scope.as_str(), key.name.as_str()])
            };
            let deleted = self.0.writer.write_then(0, write, move |_| waits.wake(&run));
            let deleted = deleted.await?;
            self.deleted();
            Ok(deleted > 0)
        })
    }

    fn erase<'a>(
        &'a self,
        scope: &'a str,
        owner: &'a str,
        mode: EraseMode,
    ) -> StoreFuture<'a, u64> {
        Box::pin(async move {
            let erased = self.erase_rows(&OWNED, scope, owner, mode).await?;
            self.0.waits.wake_all();
            Ok(erased)
        })
    }
}
