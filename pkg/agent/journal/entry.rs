//! The entries of a journal.

use std::{fmt, sync::Arc};

use super::JournalStep;
use forgeline_types::Message;

/// An entry to add to a journal: a step of a conversation, and the messages that the step added to it.
///
/// Its [`Display`](fmt::Display) form is one JSON object without line ends, with the messages. A journal that stores the messages elsewhere, as a
/// database does, stores the [head](Self::head) beside them and later returns both as a [`JournalLine`].
#[derive(Debug, Clone, PartialEq)]
pub struct JournalEntry {
    step: JournalStep,
    head: String,
    messages: Vec<Arc<Message>>,
    /// The messages as a JSON list; empty if there are none.
    list: String,
}

impl JournalEntry {
    pub(super) fn new(
        step: JournalStep,
        head: String,
        messages: Vec<Arc<Message>>,
        list: String,
    ) -> Self {
        Self { step, head, messages, list }
    }

    /// Returns the step.
    #[must_use]
    pub fn step(&self) -> &JournalStep {
        &self.step
    }

    /// Returns the entry without its messages: one JSON object without line ends.
    #[must_use]
    pub fn head(&self) -> &str {
        &self.head
    }

    /// Returns the messages that the step added to the conversation, in order.
    #[must_use]
    pub fn messages(&self) -> &[Arc<Message>] {
        &self.messages
    }
}

/// Writes the entry with its messages, without a line end.
impl fmt::Display for JournalEntry {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.head.strip_suffix('}').filter(|_| !self.list.is_empty()) {
            Some(head) => write!(formatter, "{head},\"messages\":{}}}", self.list),
            None => formatter.write_str(&self.head),
        }
    }
}

/// A line read from a journal: an entry with its messages, or the [head](JournalEntry::head) of one beside its messages.
///
/// # Examples
///
/// ```
/// use forgeline::agent::journal::{JournalLine, JournalStep};
///
/// let text = r#"{"n":0,"digest":"5d2f","record":"cleared"}"#;
/// assert_eq!(JournalLine::read_step(text), Some(JournalStep::Cleared));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct JournalLine {
    pub(super) text: String,
    pub(super) messages: Vec<Arc<Message>>,
}

impl JournalLine {
    /// Returns a line with this text. The text is checked when a conversation is restored from it.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), messages: Vec::new() }
    }

    /// Adds the messages that were stored beside the head of an entry.
    #[must_use]
    pub fn messages(mut self, messages: impl IntoIterator<Item = Arc<Message>>) -> Self {
        self.messages.extend(messages);
        self
    }

    /// Returns the step that the text of a line records; `None` if it cannot be read. Lines of earlier versions of the library are read too.
    #[must_use]
    pub fn read_step(text: &str) -> Option<JournalStep> {
        JournalStep::of_line(text)
    }
}
