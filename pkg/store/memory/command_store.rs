//! The command store of [`InMemoryStore`].

use super::{
    InMemoryStore,
    locks::{lock, ready},
    runs::RunTable,
};
use crate::{
    CommandSent, CommandStore, LogKey, MAX_UNANSWERED, RunCommand, RunWriter, StoreError,
    StoreFuture, StoredCommand, StoredRun,
};

impl RunTable {
    fn send(&mut self, run: &LogKey, command: RunCommand) -> Result<CommandSent, StoreError> {
        command.check_size()?;
        let has_ended = self.get(run)?.progress.has_ended();
        let commands = self.commands.entry(run.clone()).or_default();
        let earlier = commands.keys.get(&command.key).and_then(|number| commands.all.get(number));
        if let Some(earlier) = earlier {
            return Ok(CommandSent::Same(Box::new(earlier.clone())));
        }
        if has_ended {
            return Err(StoreError::run_ended(run));
        }
        if commands.unanswered(0).count() >= MAX_UNANSWERED {
            return Err(StoreError::too_many_commands(run));
        }
        let number = commands.next;
        commands.next += 1;
        commands.keys.insert(command.key.clone(), number);
        commands.all.insert(number, StoredCommand::new(number, command));
        Ok(CommandSent::New(number))
    }

    fn unanswered(&self, run: &LogKey, from: u64) -> Result<Vec<&StoredCommand>, StoreError> {
        self.get(run)?;
        let commands = self.commands.get(run);
        Ok(commands.into_iter().flat_map(|it| it.unanswered(from)).collect())
    }

    fn answer(
        &mut self,
        writer: &RunWriter,
        number: u64,
        answer: String,
    ) -> Result<(), StoreError> {
        let StoredRun { epoch, progress, .. } = self.get(&writer.run)?;
        writer.check(*epoch)?;
        let has_ended = progress.has_ended();
        let commands = self.commands.get_mut(&writer.run);
        match commands.and_then(|commands| commands.all.get_mut(&number)) {
            Some(StoredCommand { answer: Some(given), .. }) if *given == answer => Ok(()),
            Some(StoredCommand { answer: Some(_), .. }) => Err(StoreError::answered(number)),
            Some(open) => {
                (open.answer, open.command.body) = (Some(answer), String::new());
                Ok(())
            }
            None if has_ended => Err(StoreError::run_ended(&writer.run)),
            None => Err(StoreError::no_command(number)),
        }
    }

    /// Returns the answer to a command, if there is one yet.
    fn answer_to(&self, run: &LogKey, number: u64) -> Result<Option<String>, StoreError> {
        let has_ended = self.get(run)?.progress.has_ended();
        let command = self.commands.get(run).and_then(|commands| commands.all.get(&number));
        match command {
            Some(command) => Ok(command.answer.clone()),
            None if has_ended => Err(StoreError::run_ended(run)),
            None => Err(StoreError::no_command(number)),
        }
    }

    /// Returns whether a run has an unanswered command with this number or a later one.
    fn has_command(&self, run: &LogKey, from: u64) -> Result<bool, StoreError> {
        if self.get(run)?.progress.has_ended() {
            return Err(StoreError::run_ended(run));
        }
        Ok(!self.unanswered(run, from)?.is_empty())
    }
}

impl CommandStore for InMemoryStore {
    fn send<'a>(&'a self, run: &'a LogKey, command: RunCommand) -> StoreFuture<'a, CommandSent> {
        let sent = lock(&self.0.runs).send(run, command);
        self.0.waits.wake(run);
        ready(sent)
    }

    fn unanswered<'a>(
        &'a self,
        run: &'a LogKey,
        from: u64,
        most: usize,
    ) -> StoreFuture<'a, Vec<StoredCommand>> {
        let runs = lock(&self.0.runs);
        let open = runs.unanswered(run, from);
        ready(open.map(|open| open.into_iter().take(most).cloned().collect()))
    }

    fn answer<'a>(
        &'a self,
        writer: &'a RunWriter,
        number: u64,
        answer: String,
    ) -> StoreFuture<'a, ()> {
        let answered = lock(&self.0.runs).answer(writer, number, answer);
        self.0.waits.wake(&writer.run);
        ready(answered)
    }

    fn wait<'a>(&'a self, run: &'a LogKey, from: u64) -> StoreFuture<'a, ()> {
        let look = move || -> StoreFuture<'a, Option<()>> {
            ready(lock(&self.0.runs).has_command(run, from).map(|has| has.then_some(())))
        };
        Box::pin(self.0.waits.until(run, look))
    }

    fn wait_for_answer<'a>(&'a self, run: &'a LogKey, number: u64) -> StoreFuture<'a, String> {
        let look = move || -> StoreFuture<'a, Option<String>> {
            ready(lock(&self.0.runs).answer_to(run, number))
        };
        Box::pin(self.0.waits.until(run, look))
    }
}
