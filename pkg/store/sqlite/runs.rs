//! The run store of [`SqliteStore`].

use std::sync::Arc;

use futures_core::future::BoxFuture;
use sqlx::{Row as _, SqliteConnection, sqlite::SqliteRow};

use super::{
    SqliteStore, errors,
    owned_rows::OwnedRows,
    rows::{int, number},
    within,
    writer::work,
};
use crate::{
    EraseMode, LogKey, RunBegun, RunChange, RunPage, RunProgress, RunQuery, RunRecord, RunRequest,
    RunStore, StoreError, cursor::Cursor,
};

/// Maximum number of runs that a sweep deletes at a time.
const MAX_SWEPT: i64 = 1_000;

fn read(row: &SqliteRow) -> Result<RunRecord, StoreError> {
    let text = |name: &str| row.try_get::<String, _>(name).map_err(errors::of);
    let maybe = |name: &str| row.try_get::<Option<String>, _>(name).map_err(errors::of);
    let int = |name: &str| row.try_get::<Option<i64>, _>(name).map_err(errors::of);
    let begun_ms = number(int("begun_ms")?.unwrap_or_default());
    let key = LogKey::new(text("scope")?, text("name")?);
    let mut run =
        RunRecord::new(key, text("conversation")?, text("owner")?, text("agent")?, begun_ms);
    let progress = text("progress")?;
    let unknown =
        || StoreError::Corrupt { reason: format!("unknown progress `{progress}` of a run") };
    let known = RunProgress::ALL.into_iter().find(|known| known.as_str() == progress);
    run.progress = known.ok_or_else(unknown)?;
    let digest = int("digest")?.unwrap_or_default();
    run.request = maybe("request")?.map(|key| RunRequest::new(key, digest.cast_unsigned()));
    (run.input, run.end) = (maybe("input")?, maybe("run_end")?);
    run.about = maybe("about")?;
    run.resumed = u32::try_from(int("resumed")?.unwrap_or_default()).unwrap_or(u32::MAX);
    run.ended_ms = int("ended_ms")?.map(number);
    run.usage = maybe("usage")?.and_then(|usage| serde_json::from_str(&usage).ok());
    Ok(run)
}

fn not_found(key: &LogKey) -> StoreError {
    StoreError::NotFound { what: "run", name: key.name.clone() }
}

async fn find(connection: &mut SqliteConnection, key: &LogKey) -> Result<RunRecord, StoreError> {
    let row = sqlx::query("SELECT * FROM run WHERE scope = ? AND name = ?")
        .bind(key.scope.as_str())
        .bind(key.name.as_str())
        .fetch_optional(connection)
        .await
        .map_err(errors::of)?;
    read(&row.ok_or_else(|| not_found(key))?)
}

async fn of_request(
    connection: &mut SqliteConnection,
    scope: &str,
    owner: &str,
    request: &str,
) -> Result<Option<RunRecord>, StoreError> {
    let row = sqlx::query("SELECT * FROM run WHERE scope = ? AND owner = ? AND request = ?")
        .bind(scope)
        .bind(owner)
        .bind(request)
        .fetch_optional(connection)
        .await
        .map_err(errors::of)?;
    row.as_ref().map(read).transpose()
}

async fn begin(connection: &mut SqliteConnection, run: &RunRecord) -> Result<RunBegun, StoreError> {
    if let Some(request) = &run.request {
        let earlier = of_request(connection, &run.key.scope, &run.owner, &request.key).await?;
        if let Some(earlier) = earlier {
            let is_same = earlier.request == run.request;
            let same = RunBegun::Same(Box::new(earlier));
            return Ok(if is_same { same } else { RunBegun::Other });
        }
    }
    let inserted = sqlx::query(
        "INSERT INTO run (scope, name, conversation, owner, agent, progress, request, digest, input, begun_ms, about) \
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (scope, name) DO NOTHING",
    )
    .bind(run.key.scope.as_str())
    .bind(run.key.name.as_str())
    .bind(run.conversation.as_str())
    .bind(run.owner.as_str())
    .bind(run.agent.as_str())
    .bind(run.progress.as_str())
    .bind(run.request.as_ref().map(|request| request.key.as_str()))
    .bind(run.request.as_ref().map(|request| request.digest.cast_signed()))
    .bind(run.input.as_deref())
    .bind(int(run.begun_ms))
    .bind(run.about.as_deref())
    .execute(connection)
    .await
    .map_err(errors::of)?;
    if inserted.rows_affected() == 0 {
        return Err(StoreError::Exists { what: "run", name: run.key.name.clone() });
    }
    Ok(RunBegun::New)
}

async fn change(
    connection: &mut SqliteConnection,
    key: &LogKey,
    change: &RunChange,
) -> Result<(), StoreError> {
    let has_ended = change.progress.has_ended();
    let usage = change.usage.as_ref().and_then(|usage| serde_json::to_string(usage).ok());
    let changed = sqlx::query(
        "UPDATE run SET progress = ?1, resumed = CASE WHEN ?9 THEN 0 ELSE resumed + ?2 END, \
         input = CASE WHEN ?3 THEN NULL ELSE COALESCE(?10, input) END, ended_ms = CASE WHEN ?3 THEN ?4 END, \
         run_end = CASE WHEN ?3 THEN ?5 END, usage = CASE WHEN ?3 THEN ?6 END \
         WHERE scope = ?7 AND name = ?8 AND ended_ms IS NULL",
    )
    .bind(change.progress.as_str())
    .bind(i64::from(change.is_resumed))
    .bind(has_ended)
    .bind(int(change.at_ms))
    .bind(change.end.as_deref())
    .bind(usage)
    .bind(key.scope.as_str())
    .bind(key.name.as_str())
    .bind(change.is_put_away)
    .bind(change.input.as_deref())
    .execute(&mut *connection)
    .await
    .map_err(errors::of)?;
    if changed.rows_affected() == 0 {
        find(connection, key).await?;
        return Err(StoreError::Ended { what: "run", name: key.name.clone() });
    }
    Ok(())
}

const OF_SCOPE: &str = "SELECT * FROM run WHERE scope = ?1 AND (?2 IS NULL OR owner = ?2) \
     AND ?3 IS NULL AND (?4 IS NULL OR (begun_ms, name) < (?4, ?5)) \
     ORDER BY begun_ms DESC, name DESC LIMIT ?6";
const OF_CONVERSATION: &str = "SELECT * FROM run WHERE scope = ?1 AND conversation = ?3 \
     AND (?2 IS NULL OR owner = ?2) AND (?4 IS NULL OR (begun_ms, name) < (?4, ?5)) \
     ORDER BY begun_ms DESC, name DESC LIMIT ?6";

async fn list(connection: &mut SqliteConnection, query: &RunQuery) -> Result<RunPage, StoreError> {
    let after = Cursor::read(query.after.as_ref())?;
    // Each statement has an index that yields the order.
    let sql = if query.conversation.is_some() { OF_CONVERSATION } else { OF_SCOPE };
    let rows = sqlx::query(sql)
        .bind(query.scope.as_str())
        .bind(query.owner.as_deref())
        .bind(query.conversation.as_deref())
        .bind(after.as_ref().map(|after| int(after.at_ms)))
        .bind(after.as_ref().map(|after| after.name.as_str()))
        .bind(int(query.most as u64).saturating_add(1))
        .fetch_all(connection)
        .await
        .map_err(errors::of)?;
    let page = rows.iter().take(query.most).map(read).collect::<Result<Vec<_>, _>>()?;
    let is_more = rows.len() > page.len();
    let place =
        |last: &RunRecord| Cursor { at_ms: last.begun_ms, name: last.key.name.clone() }.write();
    let next = page.last().filter(|_| is_more).map(place);
    Ok(RunPage::new(page, next))
}

async fn sweep(
    connection: &mut SqliteConnection,
    before_ms: u64,
    keep: u64,
) -> Result<Vec<LogKey>, StoreError> {
    let rows: Vec<(String, String)> = sqlx::query_as(
        "DELETE FROM run WHERE id IN (SELECT id FROM (SELECT id, ended_ms, \
         row_number() OVER (ORDER BY ended_ms DESC, id DESC) AS place FROM run WHERE ended_ms IS NOT NULL) \
         WHERE ended_ms < ? OR place > ? ORDER BY ended_ms, id LIMIT ?) RETURNING scope, name",
    )
    .bind(int(before_ms))
    .bind(int(keep))
    .bind(MAX_SWEPT)
    .fetch_all(connection)
    .await
    .map_err(errors::of)?;
    Ok(rows.into_iter().map(|(scope, name)| LogKey::new(scope, name)).collect())
}

const OWNED: OwnedRows = OwnedRows {
    count: "SELECT count(*) FROM run WHERE scope = ?1 AND owner = ?2",
    delete: "DELETE FROM run WHERE scope = ?1 AND owner = ?2",
    bury: "UPDATE run SET owner = '', request = NULL, digest = NULL, input = NULL, run_end = NULL, about = NULL \
           WHERE scope = ?1 AND owner = ?2",
};

impl RunStore for SqliteStore {
    fn begin(&self, run: RunRecord) -> BoxFuture<'_, Result<RunBegun, StoreError>> {
        let (bytes, run) =
            ([&run.input, &run.about].into_iter().flatten().map(String::len).sum(), Arc::new(run));
        let write = work(move |connection| {
            let run = Arc::clone(&run);
            Box::pin(async move { begin(connection, &run).await })
        });
        Box::pin(self.0.writer.write(bytes, write, None))
    }

    fn of_request<'a>(
        &'a self,
        scope: &'a str,
        owner: &'a str,
        request: &'a str,
    ) -> BoxFuture<'a, Result<Option<RunRecord>, StoreError>> {
        Box::pin(within(async move {
            let mut reader = self.0.readers.acquire().await.map_err(errors::of)?;
            of_request(&mut reader, scope, owner, request).await
        }))
    }

    fn get<'a>(&'a self, key: &'a LogKey) -> BoxFuture<'a, Result<RunRecord, StoreError>> {
        Box::pin(within(async move {
            let mut reader = self.0.readers.acquire().await.map_err(errors::of)?;
            find(&mut reader, key).await
        }))
    }

    fn change<'a>(
        &'a self,
        key: &'a LogKey,
        to: RunChange,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        let shared = Arc::new((key.clone(), to));
        let write = work(move |connection| {
            let shared = Arc::clone(&shared);
            Box::pin(async move { change(connection, &shared.0, &shared.1).await })
        });
        Box::pin(self.0.writer.write(0, write, None))
    }

    fn open(&self, most: usize) -> BoxFuture<'_, Result<Vec<RunRecord>, StoreError>> {
        Box::pin(within(async move {
            let rows = sqlx::query("SELECT * FROM run WHERE ended_ms IS NULL ORDER BY id LIMIT ?")
                .bind(int(most as u64))
                .fetch_all(&self.0.readers)
                .await
                .map_err(errors::of)?;
            rows.iter().map(read).collect()
        }))
    }

    fn list(&self, query: RunQuery) -> BoxFuture<'_, Result<RunPage, StoreError>> {
        Box::pin(within(async move {
            let mut reader = self.0.readers.acquire().await.map_err(errors::of)?;
            list(&mut reader, &query).await
        }))
    }

    fn sweep(&self, before_ms: u64, keep: u64) -> BoxFuture<'_, Result<Vec<LogKey>, StoreError>> {
        let write = work(move |connection| Box::pin(sweep(connection, before_ms, keep)));
        Box::pin(async move {
            let swept = self.0.writer.write(0, write, None).await?;
            if !swept.is_empty() {
                self.deleted();
            }
            Ok(swept)
        })
    }

    fn delete<'a>(&'a self, key: &'a LogKey) -> BoxFuture<'a, Result<bool, StoreError>> {
        let key = Arc::new(key.clone());
        let write = work(move |connection| {
            let key = Arc::clone(&key);
            Box::pin(async move {
                let deleted = sqlx::query("DELETE FROM run WHERE scope = ? AND name = ?")
                    .bind(key.scope.as_str())
                    .bind(key.name.as_str())
                    .execute(connection)
                    .await
                    .map_err(errors::of)?;
                Ok(deleted.rows_affected() > 0)
            })
        });
        Box::pin(async move {
            let was_there = self.0.writer.write(0, write, None).await?;
            self.deleted();
            Ok(was_there)
        })
    }

    fn erase<'a>(
        &'a self,
        scope: &'a str,
        owner: &'a str,
        mode: EraseMode,
    ) -> BoxFuture<'a, Result<u64, StoreError>> {
        self.erase_rows(&OWNED, scope, owner, mode)
    }
}
