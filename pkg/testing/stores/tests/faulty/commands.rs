//! Command stores with a fault.

use super::{Faulty, StoreFault};
use forgeline_store::{
    CommandSent, CommandStore, LogKey, MAX_COMMAND_BYTES, RunCommand, RunWriter, StoreError,
    StoreFuture, StoredCommand,
};

impl Faulty {
    async fn sends(
        &self,
        run: &LogKey,
        mut command: RunCommand,
    ) -> Result<CommandSent, StoreError> {
        let bytes = command.key.len() + command.kind.len() + command.body.len();
        if self.1 == StoreFault::CommandsOfAnyLength && bytes > MAX_COMMAND_BYTES {
            command.body.truncate(9);
        }
        let sent = self.0.commands.send(run, command.clone()).await;
        match (sent, self.1) {
            (Ok(CommandSent::Same(stored)), StoreFault::KeysTwice) if stored.answer.is_none() => {
                command.key.push_str(" again");
                self.0.commands.send(run, command).await
            }
            (Err(StoreError::Ended { .. }), StoreFault::CommandsAfterEnd) => {
                Ok(CommandSent::New(9))
            }
            (Err(StoreError::Full { .. }), StoreFault::CommandsOfAnyNumber)
                if bytes <= MAX_COMMAND_BYTES =>
            {
                Ok(CommandSent::New(9))
            }
            (sent, _) => sent,
        }
    }

    async fn reads(
        &self,
        run: &LogKey,
        from: u64,
        most: usize,
    ) -> Result<Vec<StoredCommand>, StoreError> {
        let open = self.0.commands.unanswered(run, from, most).await;
        let mut open = match (open, self.1) {
            (Err(StoreError::NotFound { .. }), StoreFault::CommandsOfUnknown) => Vec::new(),
            (open, _) => open?,
        };
        if self.1 == StoreFault::CommandsBackwards {
            open.reverse();
        }
        if self.1 == StoreFault::CommandsOfFirstOwner && self.0.runs.get(run).await?.epoch > 1 {
            open.clear();
        }
        Ok(open)
    }
}

impl CommandStore for Faulty {
    fn send<'a>(&'a self, run: &'a LogKey, command: RunCommand) -> StoreFuture<'a, CommandSent> {
        Box::pin(self.sends(run, command))
    }

    fn unanswered<'a>(
        &'a self,
        run: &'a LogKey,
        from: u64,
        most: usize,
    ) -> StoreFuture<'a, Vec<StoredCommand>> {
        Box::pin(self.reads(run, from, most))
    }

    fn answer<'a>(
        &'a self,
        writer: &'a RunWriter,
        number: u64,
        answer: String,
    ) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let owner = self.owner(writer).await?;
            let is_open = self.1 == StoreFault::AnswersOfAnyone;
            let writer = if is_open { &owner } else { writer };
            match self.0.commands.answer(writer, number, answer).await {
                Err(StoreError::Exists { .. }) if self.1 == StoreFault::AnswersTwice => Ok(()),
                answered => answered,
            }
        })
    }

    fn wait<'a>(&'a self, run: &'a LogKey, from: u64) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            if self.1 == StoreFault::WaitsForNothing {
                return self.0.commands.unanswered(run, from, 1).await.map(drop);
            }
            self.0.commands.wait(run, from).await
        })
    }

    fn wait_for_answer<'a>(&'a self, run: &'a LogKey, number: u64) -> StoreFuture<'a, String> {
        self.0.commands.wait_for_answer(run, number)
    }
}
