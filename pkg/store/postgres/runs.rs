//! The run store of [`PostgresStore`].

use std::time::Duration;

use super::{
    PostgresStore,
    life::BeatUse,
    pool::RepeatRule,
    run_rows::{
        logged_end, note_columns, open_run, run_columns, run_with_end, run_with_notes,
        run_with_notes_and_end,
    },
    values::{column, values},
};
use crate::{
    ConversationKey, EraseMode, LogKey, NodeId, NodeNews, RunBegun, RunChange, RunPage, RunPlace,
    RunProgress, RunQuery, RunStore, RunWriter, ScopeConnections, StoreError, StoreFuture,
    StoredRun,
    integers::int,
    list_cursor::{ListCursor, page},
};
use forgeline_types::Text;

/// Adds a run, unless its scope has as many that have not ended as `$15`, if that is given: no more of them are counted.
const BEGIN: &str = "
WITH open AS (
    SELECT count(*) AS count FROM (
        SELECT FROM forgeline.run WHERE scope = $1 AND ended_ms IS NULL LIMIT coalesce($15::bigint, 0)) AS open),
begun AS (
    INSERT INTO forgeline.run (scope, id, conversation, owner, agent, progress, request, digest, input,
        begun_ms, about, node, epoch, state_version)
    SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14 FROM open
    WHERE $15 IS NULL OR open.count < $15 ON CONFLICT DO NOTHING RETURNING no)
SELECT EXISTS (SELECT FROM begun), $15 IS NOT NULL AND open.count >= $15 FROM open";

const GET: &str = concat!(
    "SELECT ",
    run_columns!(),
    ", ",
    note_columns!(),
    ", ",
    logged_end!(),
    " FROM forgeline.run WHERE scope = $1 AND id = $2"
);

const OF_REQUEST: &str = concat!(
    "SELECT ",
    run_columns!(),
    ", ",
    note_columns!(),
    ", ",
    logged_end!(),
    " FROM forgeline.run WHERE scope = $1 AND owner = $2 AND request = $3"
);

const OPEN: &str = concat!(
    "SELECT ",
    run_columns!(),
    ", ",
    note_columns!(),
    " FROM forgeline.run WHERE ended_ms IS NULL ORDER BY no LIMIT $1"
);

const OPEN_IN: &str = "SELECT id, begun_ms, progress FROM forgeline.run \
     WHERE scope = $1 AND conversation = $2 AND ended_ms IS NULL ORDER BY begun_ms, id";

/// Changes a run and its notes, if the claim is the newest and the run has not ended. A run that ends loses its notes and its unanswered commands.
const CHANGE: &str = "
WITH changed AS (
    UPDATE forgeline.run SET progress = $4, resumed = CASE WHEN $5 THEN 0 ELSE resumed + $6 END,
        input = CASE WHEN $7 THEN NULL ELSE input END, ended_ms = CASE WHEN $7 THEN $8::bigint END,
        run_end = CASE WHEN $7 THEN $9 END, usage = CASE WHEN $7 THEN $10 END
    WHERE scope = $1 AND id = $2 AND epoch = $3 AND epoch > 0 AND ended_ms IS NULL
    RETURNING no, ended_ms IS NOT NULL AS has_ended),
removed AS (
    DELETE FROM forgeline.run_note USING changed WHERE run_note.run = changed.no
    AND (changed.has_ended OR run_note.name = ANY($11) AND NOT run_note.name = ANY($12))),
added AS (
    INSERT INTO forgeline.run_note (run, name, data) SELECT changed.no, note.name, note.data
    FROM changed, unnest($12::text[], $13::text[]) WITH ORDINALITY AS note (name, data, place)
    WHERE NOT changed.has_ended ORDER BY note.place
    ON CONFLICT (run, name) DO UPDATE SET data = EXCLUDED.data, no = DEFAULT),
cut AS (
    DELETE FROM forgeline.command USING changed
    WHERE command.run = changed.no AND changed.has_ended AND command.answer IS NULL)
SELECT no, has_ended FROM changed";

const LIST: &str = concat!(
    "SELECT ",
    run_columns!(),
    ", ",
    logged_end!(),
    " FROM forgeline.run WHERE scope = $1 AND ($2::text IS NULL OR owner = $2) \
     AND ($3::text IS NULL OR conversation = $3) AND ($4::bigint IS NULL OR (begun_ms, id) < ($4, $5)) \
     AND ($7::text IS NULL OR agent = $7) AND ($8::text IS NULL OR progress = $8) \
     AND ($9::bigint IS NULL OR begun_ms >= $9) ORDER BY begun_ms DESC, id DESC LIMIT $6"
);

const OLD: &str = "
SELECT no, scope, id FROM (
    SELECT no, scope, id, ended_ms, row_number() OVER (ORDER BY ended_ms DESC, no DESC) AS place
    FROM forgeline.run WHERE ended_ms IS NOT NULL) AS ended
WHERE ended_ms < $1 OR place > $2 ORDER BY ended_ms, no LIMIT 1000";

/// Deletes runs by their numbers, which were read before: a statement whose answer is lost does not take the answer of the operation with it.
const DELETE: &str = "
WITH gone AS (DELETE FROM forgeline.run WHERE no = ANY($1) RETURNING no),
notes AS (DELETE FROM forgeline.run_note USING gone WHERE run_note.run = gone.no),
commands AS (DELETE FROM forgeline.command USING gone WHERE command.run = gone.no)
SELECT no FROM gone";

/// The statements that count, delete and bury the runs of an owner.
const ERASE: [&str; 3] = [
    "SELECT count(*) FROM forgeline.run WHERE scope = $1 AND owner = $2",
    "WITH gone AS (DELETE FROM forgeline.run WHERE scope = $1 AND owner = $2 RETURNING no),
     notes AS (DELETE FROM forgeline.run_note USING gone WHERE run_note.run = gone.no),
     commands AS (DELETE FROM forgeline.command USING gone WHERE command.run = gone.no)
     SELECT count(*) FROM gone",
    "WITH buried AS (
         UPDATE forgeline.run SET owner = '', request = NULL, digest = NULL, input = NULL, run_end = NULL, about = NULL
         WHERE scope = $1 AND owner = $2 RETURNING no),
     notes AS (DELETE FROM forgeline.run_note USING buried WHERE run_note.run = buried.no),
     commands AS (DELETE FROM forgeline.command USING buried WHERE command.run = buried.no)
     SELECT count(*) FROM buried",
];

/// Maximum number of attempts to add a run whose id or request another run has that goes away meanwhile.
const MAX_TRIES: usize = 4;

impl PostgresStore {
    pub(super) async fn run(&self, key: &LogKey) -> Result<StoredRun, StoreError> {
        let (scope, id) = (key.scope.as_str(), key.name.as_str());
        let row = self.0.pool.row(RepeatRule::Safe, GET, values![scope, id]).await?;
        run_with_notes_and_end(&row.ok_or_else(|| StoreError::no_run(key))?)
    }

    async fn request(
        &self,
        scope: &str,
        owner: &str,
        request: &str,
    ) -> Result<Option<StoredRun>, StoreError> {
        let values = values![scope, owner, request];
        let row = self.0.pool.row(RepeatRule::Safe, OF_REQUEST, values).await?;
        row.as_ref().map(run_with_notes_and_end).transpose()
    }

    async fn begin_run(
        &self,
        new: &StoredRun,
        node: Option<&NodeId>,
        most: Option<usize>,
    ) -> Result<RunBegun, StoreError> {
        let (scope, id) = (new.key.scope.as_str(), new.key.name.as_str());
        let (conversation, owner, agent) =
            (new.conversation.as_str(), new.owner.as_str(), new.agent.as_str());
        let request = new.request.as_ref().map(|request| request.key.as_str());
        let digest = new.request.as_ref().map(|request| request.digest.cast_signed());
        let (progress, begun_ms) = (new.progress.as_str(), int(new.begun_ms));
        let (input, about) = (new.input.as_deref(), new.about.as_deref());
        let (owned_by, epoch) = (node.map(NodeId::as_str), i64::from(node.is_some()));
        let version = i32::try_from(new.version).unwrap_or(i32::MAX);
        let most = most.map(|most| int(most as u64));
        for _ in 0..MAX_TRIES {
            if let Some(request) = request
                && let Some(earlier) = self.request(scope, owner, request).await?
            {
                return Ok(RunBegun::of_repeated(earlier, new));
            }
            let values = values![
                scope,
                id,
                conversation,
                owner,
                agent,
                progress,
                request,
                digest,
                input,
                begun_ms,
                about,
                owned_by,
                epoch,
                version,
                most
            ];
            let row = self.0.pool.row(RepeatRule::Unsafe, BEGIN, values).await?;
            let (is_new, is_full) = match row {
                Some(row) => (column(&row, 0)?, column(&row, 1)?),
                None => (false, false),
            };
            if is_new {
                return Ok(RunBegun::New);
            }
            if is_full {
                return Ok(RunBegun::TooMany);
            }
            let has_request = match request {
                Some(request) => self.request(scope, owner, request).await?.is_some(),
                None => false,
            };
            if !has_request && self.run(&new.key).await.is_ok() {
                break;
            }
        }
        Err(StoreError::exists("run", id))
    }

    async fn change_run(&self, writer: &RunWriter, change: &RunChange) -> Result<(), StoreError> {
        let (scope, id) = (writer.run.scope.as_str(), writer.run.name.as_str());
        let (epoch, progress) = (int(writer.epoch), change.progress.as_str());
        let (resumed, has_ended) = (i32::from(change.is_resumed), change.progress.has_ended());
        let (away, at_ms, end) = (change.is_put_away, int(change.at_ms), change.end.as_deref());
        let usage = change.usage.as_ref().and_then(|usage| serde_json::to_string(usage).ok());
        let usage = usage.as_deref();
        let removed: Vec<_> = change.removed.iter().map(Text::as_str).collect();
        let (mut names, mut data): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
        for note in &change.added {
            // The last one of a name counts.
            if let Some(at) = names.iter().position(|name| note.name == *name) {
                names.remove(at);
                data.remove(at);
            }
            names.push(&note.name);
            data.push(&note.data);
        }
        let values = values![
            scope, id, epoch, progress, away, resumed, has_ended, at_ms, end, usage, removed,
            names, data
        ];
        let Some(row) = self.0.pool.row(RepeatRule::Unsafe, CHANGE, values).await? else {
            return Err(self.run_refusal(writer).await);
        };
        if column::<bool>(&row, 1)? {
            self.0.hub.commanded(column(&row, 0)?);
        }
        Ok(())
    }

    /// Returns the error of a write that changed nothing because of its run.
    pub(super) async fn run_refusal(&self, writer: &RunWriter) -> StoreError {
        match self.run(&writer.run).await {
            Ok(run) => {
                let refused = writer.check(run.epoch).err();
                refused.unwrap_or_else(|| StoreError::run_ended(&writer.run))
            }
            Err(error) => error,
        }
    }
}

impl RunStore for PostgresStore {
    fn is_shared(&self) -> bool {
        true
    }

    fn begin<'a>(&'a self, run: StoredRun, node: Option<&'a NodeId>) -> StoreFuture<'a, RunBegun> {
        Box::pin(async move { self.begin_run(&run, node, None).await })
    }

    fn begin_within<'a>(
        &'a self,
        run: StoredRun,
        node: Option<&'a NodeId>,
        most: usize,
    ) -> StoreFuture<'a, RunBegun> {
        Box::pin(async move { self.begin_run(&run, node, Some(most)).await })
    }

    fn of_request<'a>(
        &'a self,
        scope: &'a str,
        owner: &'a str,
        request: &'a str,
    ) -> StoreFuture<'a, Option<StoredRun>> {
        Box::pin(self.request(scope, owner, request))
    }

    fn get<'a>(&'a self, key: &'a LogKey) -> StoreFuture<'a, StoredRun> {
        Box::pin(self.run(key))
    }

    fn change<'a>(&'a self, writer: &'a RunWriter, change: RunChange) -> StoreFuture<'a, ()> {
        Box::pin(async move { self.change_run(writer, &change).await })
    }

    fn beat<'a>(&'a self, node: &'a NodeId) -> StoreFuture<'a, NodeNews> {
        let beaten = self.0.nodes.beat(node, self.0.times, BeatUse::ForNews(None));
        Box::pin(async move { beaten.await.map(|(news, _)| news) })
    }

    fn beat_with<'a>(
        &'a self,
        node: &'a NodeId,
        connections: Vec<ScopeConnections>,
    ) -> StoreFuture<'a, (NodeNews, Option<Vec<ScopeConnections>>)> {
        Box::pin(async move {
            let usage = BeatUse::ForNews(Some(&connections));
            self.0.nodes.beat(node, self.0.times, usage).await
        })
    }

    fn claim<'a>(
        &'a self,
        node: &'a NodeId,
        most: usize,
        version: u32,
    ) -> StoreFuture<'a, Vec<StoredRun>> {
        Box::pin(self.claim_runs(node, most, version))
    }

    fn reap<'a>(&'a self, node: &'a NodeId) -> StoreFuture<'a, Vec<LogKey>> {
        Box::pin(self.reap_runs(node))
    }

    fn release<'a>(&'a self, writer: &'a RunWriter, wait: Duration) -> StoreFuture<'a, ()> {
        Box::pin(self.release_run(writer, wait))
    }

    fn owned<'a>(&'a self, node: &'a NodeId) -> StoreFuture<'a, Vec<RunWriter>> {
        Box::pin(self.owned_runs(node))
    }

    fn open(&self, most: usize) -> StoreFuture<'_, Vec<StoredRun>> {
        Box::pin(async move {
            let most = int(most as u64);
            let rows = self.0.pool.rows(RepeatRule::Safe, OPEN, values![most]).await?;
            rows.iter().map(run_with_notes).collect()
        })
    }

    fn open_in<'a>(&'a self, conversation: &'a ConversationKey) -> StoreFuture<'a, Vec<RunPlace>> {
        Box::pin(async move {
            let (scope, id) = (conversation.scope.as_str(), conversation.id.as_str());
            let rows = self.0.pool.rows(RepeatRule::Safe, OPEN_IN, values![scope, id]).await?;
            rows.iter().map(|row| open_run(scope, row)).collect()
        })
    }

    fn list(&self, query: RunQuery) -> StoreFuture<'_, RunPage> {
        Box::pin(async move {
            let after = ListCursor::read(query.after.as_ref())?;
            let (scope, owner) = (query.scope.as_str(), query.owner.as_deref());
            let conversation = query.conversation.as_deref();
            let at_ms = after.as_ref().map(|after| int(after.at_ms));
            let name = after.as_ref().map(|after| after.name.as_str());
            let most = int(query.most as u64).saturating_add(1);
            let (agent, progress) =
                (query.agent.as_deref(), query.progress.map(RunProgress::as_str));
            let since = query.since_ms.map(int);
            let values =
                values![scope, owner, conversation, at_ms, name, most, agent, progress, since];
            let rows = self.0.pool.rows(RepeatRule::Safe, LIST, values).await?;
            let found = rows.iter().map(run_with_end).collect::<Result<Vec<_>, _>>()?;
            let (page, next) = page(found, query.most, ListCursor::of_run);
            Ok(RunPage::new(page, next))
        })
    }

    fn sweep(&self, before_ms: u64, keep: u64) -> StoreFuture<'_, Vec<LogKey>> {
        Box::pin(async move {
            let (before, keep) = (int(before_ms), int(keep));
            let rows = self.0.pool.rows(RepeatRule::Safe, OLD, values![before, keep]).await?;
            let numbers = rows.iter().map(|row| column(row, 0)).collect::<Result<Vec<i64>, _>>()?;
            if !numbers.is_empty() {
                self.0.pool.rows(RepeatRule::Safe, DELETE, values![numbers]).await?;
            }
            let key = |row: &tokio_postgres::Row| {
                Ok(LogKey::new(column::<&str>(row, 1)?, column::<&str>(row, 2)?))
            };
            rows.iter().map(key).collect()
        })
    }

    fn delete<'a>(&'a self, key: &'a LogKey) -> StoreFuture<'a, bool> {
        Box::pin(async move {
            let (scope, id) = (key.scope.as_str(), key.name.as_str());
            let sql = "SELECT no FROM forgeline.run WHERE scope = $1 AND id = $2";
            let row = self.0.pool.row(RepeatRule::Safe, sql, values![scope, id]).await?;
            let Some(row) = row else { return Ok(false) };
            let no: i64 = column(&row, 0)?;
            self.0.pool.rows(RepeatRule::Safe, DELETE, values![vec![no]]).await?;
            self.0.hub.commanded(no);
            Ok(true)
        })
    }

    fn erase<'a>(
        &'a self,
        scope: &'a str,
        owner: &'a str,
        mode: EraseMode,
    ) -> StoreFuture<'a, u64> {
        Box::pin(async move {
            let erased = self.erase_owned(ERASE, scope, owner, mode).await?;
            self.0.hub.commands.wake_all();
            Ok(erased)
        })
    }
}
