//! Event logs and conversation stores with a fault.

use std::time::Duration;

use super::{Faulty, StoreFault};
use forgeline_store::{
    ConversationKey, ConversationPage, ConversationQuery, ConversationRecord, ConversationStatus,
    ConversationStore, Entry, EraseMode, Erased, EventLog, LogInfo, LogKey, LogPage, LogRecord,
    Retention, RunWriter, StoreError, StoreFuture, StoredMessage,
};
use forgeline_types::Text;

impl Faulty {
    /// Returns the right with which a log is written; `None` if the store does not look at this one.
    async fn writer_of_log<'w>(
        &self,
        key: &LogKey,
        writer: Option<&'w RunWriter>,
        ignores: StoreFault,
    ) -> Result<Option<&'w RunWriter>, StoreError> {
        let Some(writer) = writer else { return Ok(None) };
        let is_ignored = match self.1 {
            StoreFault::LogsOfOtherRuns => writer.run != *key,
            StoreFault::OwnerlessWritten => writer.epoch == 0,
            // Each earlier claim is good enough.
            fault if fault == ignores && writer.run == *key => {
                (1..=self.owner(writer).await?.epoch).contains(&writer.epoch)
            }
            _ => false,
        };
        Ok((!is_ignored).then_some(writer))
    }
}

impl EventLog for Faulty {
    fn create(&self, key: LogKey) -> StoreFuture<'_, ()> {
        self.0.log.create(key)
    }

    fn append<'a>(
        &'a self,
        key: &'a LogKey,
        at: u64,
        records: Vec<LogRecord>,
        writer: Option<&'a RunWriter>,
    ) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let writer = self.writer_of_log(key, writer, StoreFault::AppendsOfAnyone).await?;
            self.0.log.append(key, at, records, writer).await
        })
    }

    fn close<'a>(&'a self, key: &'a LogKey, writer: Option<&'a RunWriter>) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let writer = self.writer_of_log(key, writer, StoreFault::ClosesOfAnyone).await?;
            self.0.log.close(key, writer).await
        })
    }

    fn read<'a>(&'a self, key: &'a LogKey, from: u64, most: usize) -> StoreFuture<'a, LogPage> {
        self.0.log.read(key, from, most)
    }

    fn wait<'a>(&'a self, key: &'a LogKey, from: u64) -> StoreFuture<'a, ()> {
        self.0.log.wait(key, from)
    }

    fn retire<'a>(&'a self, key: &'a LogKey) -> StoreFuture<'a, ()> {
        self.0.log.retire(key)
    }

    fn remove<'a>(&'a self, key: &'a LogKey) -> StoreFuture<'a, ()> {
        self.0.log.remove(key)
    }

    fn trim<'a>(&'a self, key: &'a LogKey, before: u64) -> StoreFuture<'a, ()> {
        self.0.log.trim(key, before)
    }

    fn touch<'a>(&'a self, key: &'a LogKey) -> StoreFuture<'a, ()> {
        self.0.log.touch(key)
    }

    fn remove_unused<'a>(&'a self, key: &'a LogKey, unused: Duration) -> StoreFuture<'a, bool> {
        let is_wrong = self.1 == StoreFault::UsedLogsRemoved && unused < Duration::from_mins(1);
        self.0.log.remove_unused(key, if is_wrong { Duration::ZERO } else { unused })
    }

    fn list<'a>(
        &'a self,
        prefix: &'a str,
        after: Option<&'a LogKey>,
        most: usize,
    ) -> StoreFuture<'a, Vec<LogInfo>> {
        self.0.log.list(prefix, after, most)
    }

    fn sweep(&self, keep: Retention) -> StoreFuture<'_, u64> {
        self.0.log.sweep(keep)
    }
}

impl ConversationStore for Faulty {
    fn begin(&self, conversation: ConversationRecord) -> StoreFuture<'_, ()> {
        self.0.conversations.begin(conversation)
    }

    fn get<'a>(&'a self, key: &'a ConversationKey) -> StoreFuture<'a, ConversationRecord> {
        self.0.conversations.get(key)
    }

    fn list(&self, query: ConversationQuery) -> StoreFuture<'_, ConversationPage> {
        self.0.conversations.list(query)
    }

    fn append<'a>(
        &'a self,
        key: &'a ConversationKey,
        at: u64,
        entry: Entry,
        writer: Option<&'a RunWriter>,
    ) -> StoreFuture<'a, ()> {
        let writer = writer.filter(|_| self.1 != StoreFault::JournalsOfAnyone);
        self.0.conversations.append(key, at, entry, writer)
    }

    fn lines<'a>(
        &'a self,
        key: &'a ConversationKey,
        from: u64,
        most: usize,
    ) -> StoreFuture<'a, Vec<(u64, String)>> {
        self.0.conversations.lines(key, from, most)
    }

    fn messages<'a>(
        &'a self,
        key: &'a ConversationKey,
        from: u64,
        most: usize,
    ) -> StoreFuture<'a, Vec<StoredMessage>> {
        self.0.conversations.messages(key, from, most)
    }

    fn rename<'a>(
        &'a self,
        key: &'a ConversationKey,
        title: Text,
        at_ms: u64,
    ) -> StoreFuture<'a, ()> {
        self.0.conversations.rename(key, title, at_ms)
    }

    fn set_status<'a>(
        &'a self,
        key: &'a ConversationKey,
        status: ConversationStatus,
        at_ms: u64,
    ) -> StoreFuture<'a, ()> {
        self.0.conversations.set_status(key, status, at_ms)
    }

    fn delete<'a>(&'a self, key: &'a ConversationKey) -> StoreFuture<'a, bool> {
        self.0.conversations.delete(key)
    }

    fn erase<'a>(
        &'a self,
        scope: &'a str,
        owner: &'a str,
        mode: EraseMode,
    ) -> StoreFuture<'a, Erased> {
        self.0.conversations.erase(scope, owner, mode)
    }
}
