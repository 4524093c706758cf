//! The command store of [`SqliteStore`].

use std::sync::Arc;

use rusqlite::{Connection, params};

use super::{
    SqliteStore,
    run_epochs::check_writer,
    statements::{execute, int, integer, number, row, rows},
};
use crate::{
    CommandSent, CommandStore, LogKey, MAX_UNANSWERED, RunCommand, RunWriter, StoreError,
    StoreFuture, StoredCommand,
};

/// A row of the table of commands.
type CommandRow = (i64, String, String, String, Option<String>);

fn command((id, key, kind, body, answer): CommandRow) -> StoredCommand {
    let mut found = StoredCommand::new(number(id), RunCommand::new(key, kind, body));
    found.answer = answer;
    found
}

/// Returns the row id of a run, and whether the run has ended.
fn run(connection: &Connection, key: &LogKey) -> Result<(i64, bool), StoreError> {
    let sql = "SELECT id, ended_ms IS NOT NULL FROM run WHERE scope = ? AND name = ?";
    let found = row(connection, sql, [key.scope.as_str(), key.name.as_str()])?;
    found.ok_or_else(|| StoreError::no_run(key))
}

fn send(
    connection: &Connection,
    key: &LogKey,
    sent: &RunCommand,
) -> Result<CommandSent, StoreError> {
    let (run, has_ended) = run(connection, key)?;
    let sql = "SELECT id, key, kind, body, answer FROM command WHERE run = ? AND key = ?";
    let earlier: Option<CommandRow> = row(connection, sql, params![run, sent.key.as_str()])?;
    if let Some(earlier) = earlier {
        return Ok(CommandSent::Same(Box::new(command(earlier))));
    }
    if has_ended {
        return Err(StoreError::run_ended(key));
    }
    let sql = "SELECT count(*) FROM command WHERE run = ? AND answer IS NULL";
    if number(integer(connection, sql, [run])?) >= MAX_UNANSWERED as u64 {
        return Err(StoreError::too_many_commands(key));
    }
    let sql = "INSERT INTO command (run, key, kind, body) VALUES (?, ?, ?, ?)";
    execute(connection, sql, params![run, sent.key.as_str(), sent.kind.as_str(), sent.body])?;
    Ok(CommandSent::New(number(connection.last_insert_rowid())))
}

fn unanswered(
    connection: &Connection,
    key: &LogKey,
    from: u64,
    most: usize,
) -> Result<Vec<StoredCommand>, StoreError> {
    let (run, _) = run(connection, key)?;
    let sql = "SELECT id, key, kind, body, answer FROM command \
               WHERE run = ? AND answer IS NULL AND id >= ? ORDER BY id LIMIT ?";
    let found: Vec<CommandRow> = rows(connection, sql, [run, int(from), int(most as u64)])?;
    Ok(found.into_iter().map(command).collect())
}

fn answer(
    connection: &Connection,
    writer: &RunWriter,
    number: u64,
    given: &str,
) -> Result<(), StoreError> {
    let (run, has_ended) = run(connection, &writer.run)?;
    check_writer(connection, Some(writer))?;
    match command_of(connection, run, number)?.map(|found| found.answer) {
        Some(Some(earlier)) if earlier == given => Ok(()),
        Some(Some(_)) => Err(StoreError::answered(number)),
        Some(None) => {
            let sql = "UPDATE command SET answer = ?, body = '' WHERE run = ? AND id = ?";
            execute(connection, sql, params![given, run, int(number)]).map(drop)
        }
        None if has_ended => Err(StoreError::run_ended(&writer.run)),
        None => Err(StoreError::no_command(number)),
    }
}

/// Returns the command of a run with this number, if there is one.
fn command_of(
    connection: &Connection,
    run: i64,
    number: u64,
) -> Result<Option<StoredCommand>, StoreError> {
    let sql = "SELECT id, key, kind, body, answer FROM command WHERE run = ? AND id = ?";
    let found: Option<CommandRow> = row(connection, sql, [run, int(number)])?;
    Ok(found.map(command))
}

fn answer_to(
    connection: &Connection,
    key: &LogKey,
    number: u64,
) -> Result<Option<String>, StoreError> {
    let (run, has_ended) = run(connection, key)?;
    match command_of(connection, run, number)? {
        Some(found) => Ok(found.answer),
        None if has_ended => Err(StoreError::run_ended(key)),
        None => Err(StoreError::no_command(number)),
    }
}

fn has_command(connection: &Connection, key: &LogKey, from: u64) -> Result<bool, StoreError> {
    if run(connection, key)?.1 {
        return Err(StoreError::run_ended(key));
    }
    Ok(!unanswered(connection, key, from, 1)?.is_empty())
}

impl CommandStore for SqliteStore {
    fn send<'a>(&'a self, run: &'a LogKey, command: RunCommand) -> StoreFuture<'a, CommandSent> {
        Box::pin(async move {
            command.check_size()?;
            let (key, woken, waits) = (run.clone(), run.clone(), Arc::clone(&self.0.waits));
            let bytes = command.bytes();
            let write = move |connection: &Connection| send(connection, &key, &command);
            self.0.writer.write_then(bytes, write, move |_| waits.wake(&woken)).await
        })
    }

    fn unanswered<'a>(
        &'a self,
        run: &'a LogKey,
        from: u64,
        most: usize,
    ) -> StoreFuture<'a, Vec<StoredCommand>> {
        let key = run.clone();
        Box::pin(self.query(move |connection| unanswered(connection, &key, from, most)))
    }

    fn answer<'a>(
        &'a self,
        writer: &'a RunWriter,
        number: u64,
        given: String,
    ) -> StoreFuture<'a, ()> {
        let (writer, run) = (writer.clone(), writer.run.clone());
        let waits = Arc::clone(&self.0.waits);
        let bytes = given.len();
        let write = move |connection: &Connection| answer(connection, &writer, number, &given);
        Box::pin(async move {
            self.0.writer.write_then(bytes, write, move |()| waits.wake(&run)).await?;
            self.deleted();
            Ok(())
        })
    }

    fn wait<'a>(&'a self, run: &'a LogKey, from: u64) -> StoreFuture<'a, ()> {
        let look = move || -> StoreFuture<'a, Option<()>> {
            let key = run.clone();
            let has = move |connection: &Connection| has_command(connection, &key, from);
            Box::pin(async move { Ok(self.query(has).await?.then_some(())) })
        };
        Box::pin(self.0.waits.until(run, look))
    }

    fn wait_for_answer<'a>(&'a self, run: &'a LogKey, number: u64) -> StoreFuture<'a, String> {
        let look = move || -> StoreFuture<'a, Option<String>> {
            let key = run.clone();
            Box::pin(self.query(move |connection| answer_to(connection, &key, number)))
        };
        Box::pin(self.0.waits.until(run, look))
    }
}
