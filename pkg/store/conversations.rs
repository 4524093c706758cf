//! The store of conversations.

use futures_core::future::BoxFuture;

use super::{Conversation, ConversationKey, ConversationStatus, Entry, StoreError, StoredMessage};
use crate::types::{Text, setters};

/// Conversations by scope and id, with their messages and the journals of their agents.
///
/// An entry is kept whole or not at all, and stays as it is. A conversation has one writer at a time: each entry says where it
/// stands. Who may see a conversation is not decided here: a store finds what is in the scope of the key, and the service compares
/// the owner.
///
/// Each wait ends within 10 s, with [`StoreError::Slow`] if need be. What cannot be read is an error, and is never written over.
/// Long runs of base64 in entries, such as pictures, are stored once for each content.
///
/// # Cancel safety
///
/// A wait that is dropped has changed all that it was to change, or nothing.
pub trait ConversationStore: Send + Sync + 'static {
    /// Begins a conversation.
    ///
    /// # Errors
    ///
    /// [`StoreError::Exists`] when there is one of this name.
    fn begin(&self, conversation: Conversation) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Returns a conversation, without its messages.
    ///
    /// # Errors
    ///
    /// [`StoreError::NotFound`].
    fn get<'a>(
        &'a self,
        key: &'a ConversationKey,
    ) -> BoxFuture<'a, Result<Conversation, StoreError>>;

    /// Returns the conversations of a scope, those that changed last first.
    ///
    /// # Errors
    ///
    /// [`StoreError::BadCursor`].
    fn list(&self, query: ConversationQuery)
    -> BoxFuture<'_, Result<ConversationPage, StoreError>>;

    /// Adds an entry, before which the conversation has `at` entries.
    ///
    /// # Errors
    ///
    /// [`StoreError::Behind`] when it has more or fewer, [`StoreError::Ended`], [`StoreError::NotFound`].
    fn append<'a>(
        &'a self,
        key: &'a ConversationKey,
        at: u64,
        entry: Entry,
    ) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Returns at most this many lines of the journal, each with the number of its entry, from the entry `from` on.
    ///
    /// # Errors
    ///
    /// [`StoreError::NotFound`], [`StoreError::Corrupt`].
    fn lines<'a>(
        &'a self,
        key: &'a ConversationKey,
        from: u64,
        most: usize,
    ) -> BoxFuture<'a, Result<Vec<(u64, String)>, StoreError>>;

    /// Returns at most this many messages, from the number `from` on.
    ///
    /// # Errors
    ///
    /// [`StoreError::NotFound`], [`StoreError::Corrupt`].
    fn messages<'a>(
        &'a self,
        key: &'a ConversationKey,
        from: u64,
        most: usize,
    ) -> BoxFuture<'a, Result<Vec<StoredMessage>, StoreError>>;

    /// Sets the title.
    ///
    /// # Errors
    ///
    /// [`StoreError::NotFound`], and [`StoreError::Ended`] of an erased conversation.
    fn rename<'a>(
        &'a self,
        key: &'a ConversationKey,
        title: Text,
        at_ms: u64,
    ) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Sets the status. The status that it has already changes nothing.
    ///
    /// # Errors
    ///
    /// [`StoreError::NotFound`], and [`StoreError::Ended`] when the one that it has [is the last](ConversationStatus::is_last).
    fn set_status<'a>(
        &'a self,
        key: &'a ConversationKey,
        status: ConversationStatus,
        at_ms: u64,
    ) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Deletes a conversation with all it has; `false` when there was none.
    ///
    /// # Errors
    ///
    /// When the store cannot be used.
    fn delete<'a>(&'a self, key: &'a ConversationKey) -> BoxFuture<'a, Result<bool, StoreError>>;

    /// Erases all conversations of an owner in a scope; an owner without a name has none.
    ///
    /// # Errors
    ///
    /// When the store cannot be used.
    fn erase<'a>(
        &'a self,
        scope: &'a str,
        owner: &'a str,
        mode: EraseMode,
    ) -> BoxFuture<'a, Result<Erased, StoreError>>;
}

/// The way to erase.
///
/// # Examples
///
/// ```
/// use forgeline::store::EraseMode;
///
/// assert!(EraseMode::Count.is_dry_run() && !EraseMode::Hard.is_dry_run());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum EraseMode {
    /// Deletes.
    Hard,
    /// Leaves the number, the times and the roles of messages, and drops what was said, by whom, the title and the journal.
    Tombstone,
    /// Counts what would be erased, and changes nothing: a dry run.
    Count,
}

impl EraseMode {
    /// Returns `true` when nothing is to change.
    #[must_use]
    pub fn is_dry_run(self) -> bool {
        self == Self::Count
    }
}

/// The things that were erased, or would be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Erased {
    /// The number of conversations.
    pub conversations: u64,
    /// The number of messages in them.
    pub messages: u64,
}

impl Erased {
    /// Returns these numbers.
    #[must_use]
    pub fn new(conversations: u64, messages: u64) -> Self {
        Self { conversations, messages }
    }
}

/// The choice and the place of a list of conversations.
///
/// # Examples
///
/// ```
/// use forgeline::store::ConversationQuery;
///
/// let query = ConversationQuery::new("team-a", 50).owner("ann").agent("main");
/// assert_eq!(query.owner.as_deref(), Some("ann"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConversationQuery {
    /// The scope.
    pub scope: Text,
    /// The owner, if only one's are wanted.
    pub owner: Option<Text>,
    /// The agent, if only one's are wanted.
    pub agent: Option<Text>,
    /// The [`next`](ConversationPage::next) of the page before.
    pub after: Option<Text>,
    /// Most conversations of the page.
    pub most: usize,
}

impl ConversationQuery {
    /// Returns a query for the first page of a scope.
    #[must_use]
    pub fn new(scope: impl Into<Text>, most: usize) -> Self {
        Self { scope: scope.into(), owner: None, agent: None, after: None, most }
    }

    setters! {
        ConversationQuery:
        owner(some into Text),
        agent(some into Text),
        after(some into Text),
    }
}

/// Some conversations of a list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConversationPage {
    /// The conversations.
    pub conversations: Vec<Conversation>,
    /// The place where the list goes on; `None` at its end.
    pub next: Option<Text>,
}

impl ConversationPage {
    /// Returns a page.
    #[must_use]
    pub fn new(conversations: Vec<Conversation>, next: Option<Text>) -> Self {
        Self { conversations, next }
    }
}
