//! The commands of shared stores.

use std::sync::atomic::Ordering;

use super::StoreHandle;
use forgeline_store::{
    CommandSent, CommandStore, LogKey, RunCommand, RunWriter, StoreError, StoreFuture,
    StoredCommand, Stores,
};

impl StoreHandle {
    /// Does an operation, and counts it.
    fn counted<'a, T: Send + 'a>(
        &'a self,
        operation: impl FnOnce(&'a Stores) -> StoreFuture<'a, T> + Send + 'a,
    ) -> StoreFuture<'a, T> {
        self.0.statements.fetch_add(1, Ordering::SeqCst);
        self.with(operation)
    }
}

impl CommandStore for StoreHandle {
    fn send<'a>(&'a self, run: &'a LogKey, command: RunCommand) -> StoreFuture<'a, CommandSent> {
        self.0.longest_key.fetch_max(command.key.len(), Ordering::SeqCst);
        self.counted(move |stores| {
            Box::pin(async move {
                let commands = &stores.commands;
                let sent = commands.send(run, command.clone()).await?;
                if let CommandSent::New(number) = sent
                    && self.0.loses_sends.load(Ordering::SeqCst)
                {
                    // The store does it again when its connection is back.
                    commands.wait_for_answer(run, number).await?;
                    return commands.send(run, command).await;
                }
                Ok(sent)
            })
        })
    }

    fn unanswered<'a>(
        &'a self,
        run: &'a LogKey,
        from: u64,
        most: usize,
    ) -> StoreFuture<'a, Vec<StoredCommand>> {
        self.counted(move |stores| stores.commands.unanswered(run, from, most))
    }

    fn answer<'a>(
        &'a self,
        writer: &'a RunWriter,
        number: u64,
        answer: String,
    ) -> StoreFuture<'a, ()> {
        let fewer = |left: usize| left.checked_sub(1);
        if self.0.lost_answers.fetch_update(Ordering::SeqCst, Ordering::SeqCst, fewer).is_ok() {
            let lost = StoreError::unavailable("the connection is lost");
            return Box::pin(std::future::ready(Err(lost)));
        }
        self.counted(move |stores| stores.commands.answer(writer, number, answer))
    }

    fn wait<'a>(&'a self, run: &'a LogKey, from: u64) -> StoreFuture<'a, ()> {
        if self.0.hides_commands.load(Ordering::SeqCst) {
            return Box::pin(std::future::pending());
        }
        self.counted(move |stores| stores.commands.wait(run, from))
    }

    fn wait_for_answer<'a>(&'a self, run: &'a LogKey, number: u64) -> StoreFuture<'a, String> {
        self.counted(move |stores| stores.commands.wait_for_answer(run, number))
    }
}
