//! The conversation store of [`InMemoryStore`].

use super::{
    InMemoryStore,
    locks::{lock, ready},
};
use crate::{
    ConversationKey, ConversationPage, ConversationQuery, ConversationRecord, ConversationStatus,
    ConversationStore, Entry, EraseMode, Erased, RunWriter, StoreFuture, StoredMessage,
    conversation_record::to_message,
};
use forgeline_types::Text;

impl ConversationStore for InMemoryStore {
    fn begin(&self, conversation: ConversationRecord) -> StoreFuture<'_, ()> {
        // The lock of the runs is the only one taken while this one is held.
        let open = || lock(&self.0.runs).open_conversations();
        ready(lock(&self.0.conversations).begin(conversation, open))
    }

    fn get<'a>(&'a self, key: &'a ConversationKey) -> StoreFuture<'a, ConversationRecord> {
        ready(lock(&self.0.conversations).get(key).map(|kept| kept.head.clone()))
    }

    fn list(&self, query: ConversationQuery) -> StoreFuture<'_, ConversationPage> {
        ready(lock(&self.0.conversations).list(&query))
    }

    fn append<'a>(
        &'a self,
        key: &'a ConversationKey,
        at: u64,
        entry: Entry,
        writer: Option<&'a RunWriter>,
    ) -> StoreFuture<'a, ()> {
        let mut all = lock(&self.0.conversations);
        // Held while the entry is added, so that no claim comes in between.
        let runs = lock(&self.0.runs);
        ready(runs.check_writer(writer).and_then(|()| all.append(key, at, &entry)))
    }

    fn lines<'a>(
        &'a self,
        key: &'a ConversationKey,
        from: u64,
        most: usize,
    ) -> StoreFuture<'a, Vec<(u64, String)>> {
        let all = lock(&self.0.conversations);
        ready(all.get(key).and_then(|kept| {
            let lines = kept.lines.iter().filter(|(number, _)| *number >= from).take(most);
            lines.map(|(number, line)| Ok((*number, all.join(line)?))).collect()
        }))
    }

    fn messages<'a>(
        &'a self,
        key: &'a ConversationKey,
        from: u64,
        most: usize,
    ) -> StoreFuture<'a, Vec<StoredMessage>> {
        let all = lock(&self.0.conversations);
        ready(all.get(key).and_then(|kept| {
            let messages = (0..).zip(&kept.messages).skip_while(|(number, _)| *number < from);
            let read = |(number, (at_ms, text)): (u64, &(u64, String))| {
                Ok(StoredMessage::new(number, *at_ms, to_message(&all.join(text)?)?))
            };
            messages.take(most).map(read).collect()
        }))
    }

    fn rename<'a>(
        &'a self,
        key: &'a ConversationKey,
        title: Text,
        at_ms: u64,
    ) -> StoreFuture<'a, ()> {
        let mut all = lock(&self.0.conversations);
        ready(all.get_mut(key).and_then(|kept| kept.head.change(Some(title), None, at_ms)))
    }

    fn set_status<'a>(
        &'a self,
        key: &'a ConversationKey,
        status: ConversationStatus,
        at_ms: u64,
    ) -> StoreFuture<'a, ()> {
        let mut all = lock(&self.0.conversations);
        ready(all.get_mut(key).and_then(|kept| kept.head.change(None, Some(status), at_ms)))
    }

    fn delete<'a>(&'a self, key: &'a ConversationKey) -> StoreFuture<'a, bool> {
        ready(Ok(lock(&self.0.conversations).delete(key)))
    }

    fn erase<'a>(
        &'a self,
        scope: &'a str,
        owner: &'a str,
        mode: EraseMode,
    ) -> StoreFuture<'a, Erased> {
        ready(lock(&self.0.conversations).erase(scope, owner, mode))
    }
}
