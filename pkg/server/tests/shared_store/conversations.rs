//! The conversations of shared stores.

use super::StoreHandle;
use forgeline_store::{
    ConversationKey, ConversationPage, ConversationQuery, ConversationRecord, ConversationStatus,
    ConversationStore, Entry, EraseMode, Erased, RunWriter, StoreFuture, StoredMessage,
};
use forgeline_types::Text;

impl ConversationStore for StoreHandle {
    fn begin(&self, conversation: ConversationRecord) -> StoreFuture<'_, ()> {
        self.with(move |stores| stores.conversations.begin(conversation))
    }
    fn get<'a>(&'a self, key: &'a ConversationKey) -> StoreFuture<'a, ConversationRecord> {
        self.with(move |stores| stores.conversations.get(key))
    }
    fn list(&self, query: ConversationQuery) -> StoreFuture<'_, ConversationPage> {
        self.with(move |stores| stores.conversations.list(query))
    }
    fn append<'a>(
        &'a self,
        key: &'a ConversationKey,
        at: u64,
        entry: Entry,
        writer: Option<&'a RunWriter>,
    ) -> StoreFuture<'a, ()> {
        self.with(move |stores| stores.conversations.append(key, at, entry, writer))
    }
    fn lines<'a>(
        &'a self,
        key: &'a ConversationKey,
        from: u64,
        most: usize,
    ) -> StoreFuture<'a, Vec<(u64, String)>> {
        self.with(move |stores| stores.conversations.lines(key, from, most))
    }
    fn messages<'a>(
        &'a self,
        key: &'a ConversationKey,
        from: u64,
        most: usize,
    ) -> StoreFuture<'a, Vec<StoredMessage>> {
        self.with(move |stores| stores.conversations.messages(key, from, most))
    }
    fn rename<'a>(
        &'a self,
        key: &'a ConversationKey,
        title: Text,
        at_ms: u64,
    ) -> StoreFuture<'a, ()> {
        self.with(move |stores| stores.conversations.rename(key, title, at_ms))
    }
    fn set_status<'a>(
        &'a self,
        key: &'a ConversationKey,
        status: ConversationStatus,
        at_ms: u64,
    ) -> StoreFuture<'a, ()> {
        self.with(move |stores| stores.conversations.set_status(key, status, at_ms))
    }
    fn delete<'a>(&'a self, key: &'a ConversationKey) -> StoreFuture<'a, bool> {
        self.with(move |stores| stores.conversations.delete(key))
    }
    fn erase<'a>(
        &'a self,
        scope: &'a str,
        owner: &'a str,
        mode: EraseMode,
    ) -> StoreFuture<'a, Erased> {
        self.with(move |stores| stores.conversations.erase(scope, owner, mode))
    }
}
