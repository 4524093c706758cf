//! The command store of [`PostgresStore`].

use tokio_postgres::Row;

use super::{
    PostgresStore,
    pool::RepeatRule,
    run_fence::fenced,
    values::{column, count, values},
};
use crate::{
    CommandSent, CommandStore, LogKey, MAX_UNANSWERED, RunCommand, RunWriter, StoreError,
    StoreFuture, StoredCommand, integers::int,
};

/// Stores a command, unless the run has ended, has one with its key, or has too many. The row of the run is locked, so that commands are seen in the order
/// of their numbers, and none comes after the end.
const SEND: &str = "
WITH run AS (
    SELECT no, ended_ms IS NOT NULL AS has_ended FROM forgeline.run WHERE scope = $1 AND id = $2 FOR NO KEY UPDATE),
earlier AS (
    SELECT command.no, command.key, command.kind, command.body, command.answer
    FROM run JOIN forgeline.command ON command.run = run.no WHERE command.key = $3),
added AS (
    INSERT INTO forgeline.command (run, key, kind, body) SELECT no, $3, $4, $5 FROM run
    WHERE NOT has_ended AND NOT EXISTS (SELECT FROM earlier) AND $6 > (
        SELECT count(*) FROM forgeline.command WHERE command.run = run.no AND command.answer IS NULL)
    ON CONFLICT (run, key) DO NOTHING RETURNING no)
SELECT run.no, run.has_ended, added.no, earlier.no, earlier.key, earlier.kind, earlier.body, earlier.answer
FROM run LEFT JOIN added ON true LEFT JOIN earlier ON true";

const UNANSWERED: &str = "
SELECT run.ended_ms IS NOT NULL, command.no, command.key, command.kind, command.body, command.answer
FROM forgeline.run LEFT JOIN LATERAL (
    SELECT * FROM forgeline.command WHERE command.run = run.no AND command.answer IS NULL AND command.no >= $3
    AND run.ended_ms IS NULL ORDER BY command.no LIMIT $4) AS command ON true
WHERE run.scope = $1 AND run.id = $2 ORDER BY command.no";

const GET: &str = "
SELECT run.no, run.ended_ms IS NOT NULL, run.epoch, command.no IS NOT NULL, command.answer
FROM forgeline.run LEFT JOIN forgeline.command ON command.run = run.no AND command.no = $3
WHERE run.scope = $1 AND run.id = $2";

const ANSWER: &str = concat!(
    "WITH fenced AS (",
    fenced!("$1", "$2", "$3"),
    ") UPDATE forgeline.command SET answer = $5, answered_epoch = $3, body = '' FROM fenced \
     WHERE command.run = fenced.no AND command.no = $4 AND command.answer IS NULL RETURNING command.run"
);

/// Maximum number of attempts to store a command whose key another one has that is being stored at this moment.
const MAX_TRIES: usize = 3;

/// A command of a run as it was read, and its run.
struct FoundCommand {
    run: i64,
    has_ended: bool,
    epoch: u64,
    state: CommandState,
}

/// The existence of a command and of its answer.
enum CommandState {
    Missing,
    Unanswered,
    Answered(String),
}

/// Returns the command in columns of a row.
fn command(row: &Row, at: usize) -> Result<Option<StoredCommand>, StoreError> {
    let Some(number) = column::<Option<i64>>(row, at)? else { return Ok(None) };
    let (key, kind) = (column::<&str>(row, at + 1)?, column::<&str>(row, at + 2)?);
    let sent = RunCommand::new(key, kind, column::<&str>(row, at + 3)?);
    let mut found = StoredCommand::new(crate::integers::number(number), sent);
    found.answer = column(row, at + 4)?;
    Ok(Some(found))
}

impl PostgresStore {
    async fn send_command(
        &self,
        run: &LogKey,
        sent: &RunCommand,
    ) -> Result<CommandSent, StoreError> {
        sent.check_size()?;
        let (scope, id, most) = (run.scope.as_str(), run.name.as_str(), int(MAX_UNANSWERED as u64));
        let (key, kind, body) = (sent.key.as_str(), sent.kind.as_str(), sent.body.as_str());
        for _ in 0..MAX_TRIES {
            let values = values![scope, id, key, kind, body, most];
            // A command that was stored before is the same by its key.
            let row = self.0.pool.row(RepeatRule::Safe, SEND, values).await?;
            let row = row.ok_or_else(|| StoreError::no_run(run))?;
            if let Some(earlier) = command(&row, 3)? {
                // It may be this one, stored by a statement whose answer was lost.
                self.0.hub.commanded(column(&row, 0)?);
                return Ok(CommandSent::Same(Box::new(earlier)));
            }
            if let Some(number) = column::<Option<i64>>(&row, 2)? {
                self.0.hub.commanded(column(&row, 0)?);
                return Ok(CommandSent::New(crate::integers::number(number)));
            }
            if column::<bool>(&row, 1)? {
                return Err(StoreError::run_ended(run));
            }
        }
        Err(StoreError::too_many_commands(run))
    }

    async fn unanswered_commands(
        &self,
        run: &LogKey,
        from: u64,
        most: usize,
    ) -> Result<(bool, Vec<StoredCommand>), StoreError> {
        let (scope, id, from, most) =
            (run.scope.as_str(), run.name.as_str(), int(from), int(most as u64));
        let values = values![scope, id, from, most];
        let rows = self.0.pool.rows(RepeatRule::Safe, UNANSWERED, values).await?;
        let first = rows.first().ok_or_else(|| StoreError::no_run(run))?;
        let has_ended = column(first, 0)?;
        let found: Result<Vec<_>, _> = rows.iter().map(|row| command(row, 1)).collect();
        Ok((has_ended, found?.into_iter().flatten().collect()))
    }

    async fn command_of(&self, run: &LogKey, number: u64) -> Result<FoundCommand, StoreError> {
        let (scope, id, number) = (run.scope.as_str(), run.name.as_str(), int(number));
        let row = self.0.pool.row(RepeatRule::Safe, GET, values![scope, id, number]).await?;
        let row = row.ok_or_else(|| StoreError::no_run(run))?;
        let state = match column::<Option<String>>(&row, 4)? {
            Some(answer) => CommandState::Answered(answer),
            None if column(&row, 3)? => CommandState::Unanswered,
            None => CommandState::Missing,
        };
        let (run, has_ended) = (column(&row, 0)?, column(&row, 1)?);
        Ok(FoundCommand { run, has_ended, epoch: count(&row, 2)?, state })
    }

    async fn answer_command(
        &self,
        writer: &RunWriter,
        number: u64,
        answer: &str,
    ) -> Result<(), StoreError> {
        let (scope, id) = (writer.run.scope.as_str(), writer.run.name.as_str());
        let (epoch, no) = (int(writer.epoch), int(number));
        let values = values![scope, id, epoch, no, answer];
        // An answer that was given before is the same.
        if let Some(row) = self.0.pool.row(RepeatRule::Safe, ANSWER, values).await? {
            self.0.hub.commanded(column(&row, 0)?);
            return Ok(());
        }
        let found = self.command_of(&writer.run, number).await?;
        writer.check(found.epoch)?;
        match found.state {
            CommandState::Answered(earlier) if earlier == answer => {
                self.0.hub.commanded(found.run);
                Ok(())
            }
            CommandState::Answered(_) => Err(StoreError::answered(number)),
            CommandState::Missing | CommandState::Unanswered if found.has_ended => {
                Err(StoreError::run_ended(&writer.run))
            }
            CommandState::Missing | CommandState::Unanswered => Err(StoreError::no_command(number)),
        }
    }
}

impl CommandStore for PostgresStore {
    fn send<'a>(&'a self, run: &'a LogKey, command: RunCommand) -> StoreFuture<'a, CommandSent> {
        Box::pin(async move { self.send_command(run, &command).await })
    }

    fn unanswered<'a>(
        &'a self,
        run: &'a LogKey,
        from: u64,
        most: usize,
    ) -> StoreFuture<'a, Vec<StoredCommand>> {
        Box::pin(async move { Ok(self.unanswered_commands(run, from, most).await?.1) })
    }

    fn answer<'a>(
        &'a self,
        writer: &'a RunWriter,
        number: u64,
        answer: String,
    ) -> StoreFuture<'a, ()> {
        Box::pin(async move { self.answer_command(writer, number, &answer).await })
    }

    fn wait<'a>(&'a self, run: &'a LogKey, from: u64) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let no = self.command_of(run, 0).await?.run;
            let mut waiting = self.0.hub.commands.subscribe(no);
            loop {
                let (has_ended, found) = self.unanswered_commands(run, from, 1).await?;
                if has_ended {
                    return Err(StoreError::run_ended(run));
                }
                if !found.is_empty() {
                    return Ok(());
                }
                waiting.changed().await;
            }
        })
    }

    fn wait_for_answer<'a>(&'a self, run: &'a LogKey, number: u64) -> StoreFuture<'a, String> {
        Box::pin(async move {
            let no = self.command_of(run, number).await?.run;
            let mut waiting = self.0.hub.commands.subscribe(no);
            loop {
                let found = self.command_of(run, number).await?;
                match found.state {
                    CommandState::Answered(answer) => return Ok(answer),
                    CommandState::Missing | CommandState::Unanswered if found.has_ended => {
                        return Err(StoreError::run_ended(run));
                    }
                    CommandState::Missing => return Err(StoreError::no_command(number)),
                    CommandState::Unanswered => waiting.changed().await,
                }
            }
        })
    }
}
