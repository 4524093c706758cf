//! The lines of a stored journal, each with its messages.

use std::{collections::VecDeque, sync::Arc};

use forgeline_agent::journal::{JournalLine, JournalStep};
use forgeline_store::{ConversationKey, ConversationStore, StoreError, StoredMessage};
use forgeline_types::Message;

/// Maximum number of lines or messages read at a time.
const PAGE: usize = 256;

/// A line of a stored journal.
pub(super) struct StoredLine {
    /// The step that it records; `None` if it cannot be read.
    pub(super) step: Option<JournalStep>,
    text: String,
    /// The messages that the step added.
    pub(super) messages: Vec<Arc<Message>>,
}

impl StoredLine {
    /// Returns the line for an agent. A line of an earlier format contains its messages itself.
    pub(super) fn into_line(self) -> JournalLine {
        let line = JournalLine::new(self.text);
        match self.step {
            Some(JournalStep::InputTaken { is_whole: true, .. }) => line,
            _ => line.messages(self.messages),
        }
    }
}

/// A reader of the lines of a conversation, which are stored without the messages that they added.
pub(super) struct LineReader<'s> {
    store: &'s dyn ConversationStore,
    key: &'s ConversationKey,
    /// The number of entries that were read.
    entries: u64,
    /// The number of messages of these entries.
    messages: u64,
    /// The messages that were read ahead.
    ahead: VecDeque<StoredMessage>,
}

impl<'s> LineReader<'s> {
    pub(super) fn new(store: &'s dyn ConversationStore, key: &'s ConversationKey) -> Self {
        Self { store, key, entries: 0, messages: 0, ahead: VecDeque::new() }
    }

    /// Reads the next lines; returns `None` at the end.
    pub(super) async fn read_page(&mut self) -> Result<Option<Vec<StoredLine>>, StoreError> {
        let page = self.store.lines(self.key, self.entries, PAGE).await?;
        if page.is_empty() {
            return Ok(None);
        }
        let mut lines = Vec::with_capacity(page.len());
        for (entry, text) in page {
            // An entry without a line has one message.
            self.messages += entry.saturating_sub(self.entries);
            self.entries = entry + 1;
            let step = JournalLine::read_step(&text);
            let messages = match step {
                Some(
                    JournalStep::InputTaken { messages, .. }
                    | JournalStep::MessagesGiven { messages, .. },
                ) => self.read_messages(messages).await?,
                _ => Vec::new(),
            };
            lines.push(StoredLine { step, text, messages });
        }
        Ok(Some(lines))
    }

    /// Reads the next messages. If there are fewer, their line is found to be damaged when it is restored.
    async fn read_messages(&mut self, count: usize) -> Result<Vec<Arc<Message>>, StoreError> {
        let mut messages = Vec::new();
        for number in (self.messages..).take(count) {
            while self.ahead.front().is_some_and(|message| message.number < number) {
                self.ahead.pop_front();
            }
            if self.ahead.is_empty() {
                self.ahead.extend(self.store.messages(self.key, number, PAGE).await?);
            }
            messages.extend(self.ahead.pop_front().map(|stored| Arc::new(stored.message)));
        }
        self.messages += count as u64;
        Ok(messages)
    }
}
