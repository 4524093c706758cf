//! A stored conversation.

use serde::{Deserialize, Serialize};

use super::StoreError;
use forgeline_types::{Message, Part, Text};

/// The key of a conversation: its id in its scope. Conversations of other scopes are not found.
///
/// # Examples
///
/// ```
/// use forgeline::store::ConversationKey;
///
/// assert_ne!(ConversationKey::new("team-a", "c1"), ConversationKey::new("team-b", "c1"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ConversationKey {
    /// The tenant, team or project.
    pub scope: Text,
    /// The id, unique in the scope.
    pub id: Text,
}

impl ConversationKey {
    /// Returns the key of a conversation in a scope.
    #[must_use]
    pub fn new(scope: impl Into<Text>, id: impl Into<Text>) -> Self {
        Self { scope: scope.into(), id: id.into() }
    }
}

/// The stored data of a conversation, without its messages.
///
/// # Examples
///
/// ```
/// use forgeline::store::{ConversationRecord, ConversationKey, ConversationStatus};
///
/// let new = ConversationRecord::new(ConversationKey::new("team-a", "c1"), "ann", "main", 1_000);
/// assert_eq!((new.status, new.messages), (ConversationStatus::Active, 0));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConversationRecord {
    /// The key.
    pub key: ConversationKey,
    /// The id of the caller that owns it; empty once it was erased.
    pub owner: Text,
    /// The name of its agent.
    pub agent: Text,
    /// Its title, if it has one.
    pub title: Option<Text>,
    /// The status: active, ended or erased.
    pub status: ConversationStatus,
    /// The time it was created, in milliseconds since the Unix epoch.
    pub created_ms: u64,
    /// The time of its last change, in milliseconds since the Unix epoch.
    pub updated_ms: u64,
    /// The number of its entries.
    pub entries: u64,
    /// The number of its messages.
    pub messages: u64,
}

impl ConversationRecord {
    /// Returns a new conversation, created at this time.
    #[must_use]
    pub fn new(
        key: ConversationKey,
        owner: impl Into<Text>,
        agent: impl Into<Text>,
        created_ms: u64,
    ) -> Self {
        Self {
            key,
            owner: owner.into(),
            agent: agent.into(),
            title: None,
            status: ConversationStatus::Active,
            created_ms,
            updated_ms: created_ms,
            entries: 0,
            messages: 0,
        }
    }

    /// Checks that an entry can be added at this position.
    pub(super) fn check_end(&self, at: u64) -> Result<(), StoreError> {
        if self.status.is_last() {
            return Err(self.ended());
        }
        let (name, end) = (self.key.id.clone(), self.entries);
        if at == end {
            Ok(())
        } else {
            Err(StoreError::Behind { what: "conversation", name, at, end })
        }
    }

    /// Changes the title or the status, if the current status allows it.
    pub(super) fn change(
        &mut self,
        title: Option<Text>,
        status: Option<ConversationStatus>,
        at_ms: u64,
    ) -> Result<(), StoreError> {
        let is_refused = match status {
            Some(status) => self.status.is_last() && self.status != status,
            None => self.status == ConversationStatus::Erased,
        };
        if is_refused {
            return Err(self.ended());
        }
        self.title = title.or(self.title.take());
        (self.status, self.updated_ms) = (status.unwrap_or(self.status), at_ms);
        Ok(())
    }

    fn ended(&self) -> StoreError {
        StoreError::Ended { what: "conversation", name: self.key.id.clone() }
    }
}

/// The status of a conversation.
///
/// # Examples
///
/// ```
/// use forgeline::store::ConversationStatus;
///
/// assert!(ConversationStatus::Ended.is_last() && !ConversationStatus::Active.is_last());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ConversationStatus {
    /// The conversation is active.
    Active,
    /// The conversation has ended; it can be read, but not added to.
    Ended,
    /// The owner was erased; only the number, the times and the roles of its messages are left.
    Erased,
}

impl ConversationStatus {
    /// Returns `true` if no other status follows.
    #[must_use]
    pub fn is_last(self) -> bool {
        self != Self::Active
    }
}

/// All values, in the order of their numbers in a database.
#[cfg(any(feature = "sqlite", feature = "postgres"))]
pub(super) const STATUSES: [ConversationStatus; 3] =
    [ConversationStatus::Active, ConversationStatus::Ended, ConversationStatus::Erased];

/// Returns the number of a status in a database.
#[cfg(any(feature = "sqlite", feature = "postgres"))]
pub(super) fn status_number(status: ConversationStatus) -> i64 {
    STATUSES.iter().zip(0..).find(|(other, _)| **other == status).map_or(0, |(_, number)| number)
}

/// An addition to a conversation, stored completely or not at all.
///
/// # Examples
///
/// ```
/// use forgeline::{store::Entry, types::Message};
///
/// let entry = Entry::new(1_000).message(Message::user("Hi."));
/// assert_eq!(entry.messages.len(), 1);
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Entry {
    /// The line of the agent's `Journal`, from which another process resumes a run.
    pub line: Option<String>,
    /// The messages that the entry adds.
    pub messages: Vec<Message>,
    /// The time, in milliseconds since the Unix epoch.
    pub at_ms: u64,
}

impl Entry {
    /// Returns an entry with this time, without a line and messages.
    #[must_use]
    pub fn new(at_ms: u64) -> Self {
        Self { line: None, messages: Vec::new(), at_ms }
    }

    /// Sets the line of the journal.
    #[must_use]
    pub fn line(mut self, line: impl Into<String>) -> Self {
        self.line = Some(line.into());
        self
    }

    /// Adds a message.
    #[must_use]
    pub fn message(mut self, message: Message) -> Self {
        self.messages.push(message);
        self
    }
}

/// A message of a conversation.
///
/// # Examples
///
/// ```
/// use forgeline::{store::StoredMessage, types::Message};
///
/// let stored = StoredMessage::new(0, 1_000, Message::user("Hi."));
/// assert_eq!(stored.message.text(), "Hi.");
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct StoredMessage {
    /// Its number in the conversation, from 0.
    pub number: u64,
    /// The time, in milliseconds since the Unix epoch.
    pub at_ms: u64,
    /// The message; in an erased conversation, one with the same role and `[erased]` in place of each part.
    pub message: Message,
}

impl StoredMessage {
    /// Returns a message with its number and time.
    #[must_use]
    pub fn new(number: u64, at_ms: u64, message: Message) -> Self {
        Self { number, at_ms, message }
    }
}

/// The text that replaces erased content.
const ERASED: &str = "[erased]";

/// Returns a message with the same role and number of parts, and without the original content.
pub(super) fn erased(message: &Message) -> Message {
    let mut left = message.clone();
    left.parts = message.parts.iter().map(|_| Part::text(ERASED.to_owned())).collect();
    left
}

pub(super) fn to_json(message: &Message) -> Result<String, StoreError> {
    serde_json::to_string(message)
        .map_err(|error| StoreError::Corrupt { reason: error.to_string() })
}

pub(super) fn to_message(json: &str) -> Result<Message, StoreError> {
    serde_json::from_str(json).map_err(|error| {
        // The error contains the position, but not the text.
        let reason = format!("a message is truncated or invalid at column {}", error.column());
        StoreError::Corrupt { reason }
    })
}

impl StoreError {
    /// Returns the error of a conversation that does not exist.
    pub(crate) fn no_conversation(key: &ConversationKey) -> Self {
        Self::NotFound { what: "conversation", name: key.id.clone() }
    }
}
