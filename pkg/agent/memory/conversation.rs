//! The conversation, kept whole.

use std::sync::Arc;

use crate::types::{Message, Transcript};

/// Keeps the conversation of an agent.
pub trait Memory: Send {
    /// Appends a message.
    fn add(&mut self, message: Message);

    /// The messages to send, the oldest first. Clones in constant time; while a clone is alive,
    /// the next [`add`](Self::add) costs a copy of the list of pointers.
    fn transcript(&self) -> &Transcript;

    /// Forgets everything.
    fn clear(&mut self);

    /// The last `count` messages, the oldest first.
    fn recent(&self, count: usize) -> &[Arc<Message>] {
        let messages = self.transcript();
        messages.get(messages.len().saturating_sub(count)..).unwrap_or_default()
    }

    /// How many messages there are.
    fn len(&self) -> usize {
        self.transcript().len()
    }

    /// Whether there is none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A memory that keeps every message.
///
/// # Examples
///
/// ```
/// use forgeline::{agent::memory::{ConversationMemory, Memory as _}, types::Message};
///
/// let mut memory = ConversationMemory::default();
/// memory.add(Message::user("Hello"));
/// memory.add(Message::assistant("Hi"));
/// assert_eq!(memory.recent(1)[0].text(), "Hi");
/// ```
#[derive(Debug, Clone, Default)]
pub struct ConversationMemory {
    transcript: Transcript,
}

impl From<Transcript> for ConversationMemory {
    fn from(transcript: Transcript) -> Self {
        Self { transcript }
    }
}

impl Memory for ConversationMemory {
    fn add(&mut self, message: Message) {
        self.transcript.push(message);
    }

    fn transcript(&self) -> &Transcript {
        &self.transcript
    }

    fn clear(&mut self) {
        self.transcript = Transcript::default();
    }
}
