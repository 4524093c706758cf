//! The conversation store.

use super::{
    ConversationKey, ConversationRecord, ConversationStatus, Entry, RunWriter, StoreFuture,
    StoredMessage,
};
use forgeline_types::{Text, setters};

/// Conversations by scope and id, with their messages and the journals of their agents.
///
/// An entry is stored completely or not at all, and never changes. A conversation has one writer at a time: each append states the position of its entry.
/// The store does not decide who may see a conversation: it finds conversations in the scope of the key, and the service compares the owner.
///
/// Every operation completes within 10 s, if necessary with [`StoreError::Slow`](crate::StoreError::Slow). Unreadable data is an error, and is never overwritten. Long runs of
/// base64 in entries, such as images, are stored once per content.
///
/// # Cancel safety
///
/// If a future is dropped, its changes are made either completely or not at all.
pub trait ConversationStore: Send + Sync + 'static {
    /// Creates a conversation.
    ///
    /// # Errors
    ///
    /// Returns [`StoreError::Exists`](crate::StoreError::Exists) if there is a conversation with this key.
    fn begin(&self, conversation: ConversationRecord) -> StoreFuture<'_, ()>;

    /// Returns a conversation, without its messages.
    ///
    /// # Errors
    ///
    /// Returns [`StoreError::NotFound`](crate::StoreError::NotFound) if there is no such conversation.
    fn get<'a>(&'a self, key: &'a ConversationKey) -> StoreFuture<'a, ConversationRecord>;

    /// Returns the conversations of a scope, most recently changed first.
    ///
    /// # Errors
    ///
    /// Returns [`StoreError::BadCursor`](crate::StoreError::BadCursor) if `after` is not the `next` of a page.
    fn list(&self, query: ConversationQuery) -> StoreFuture<'_, ConversationPage>;

    /// Adds an entry to a conversation that has `at` entries. A run that writes its journal states its right to write; what belongs to no run is added with
    /// `None`. An engine that does not have the run lets each writer in.
    ///
    /// # Errors
    ///
    /// Returns [`StoreError::Fenced`](crate::StoreError::Fenced) if the writer no longer owns the run, [`StoreError::Behind`](crate::StoreError::Behind) if it has more or fewer, [`StoreError::Ended`](crate::StoreError::Ended), or [`StoreError::NotFound`](crate::StoreError::NotFound).
    fn append<'a>(
        &'a self,
        key: &'a ConversationKey,
        at: u64,
        entry: Entry,
        writer: Option<&'a RunWriter>,
    ) -> StoreFuture<'a, ()>;

    /// Returns at most `most` lines of the journal, from entry `from` on, each with the number of its entry.
    ///
    /// # Errors
    ///
    /// Returns [`StoreError::NotFound`](crate::StoreError::NotFound) or [`StoreError::Corrupt`](crate::StoreError::Corrupt).
    fn lines<'a>(
        &'a self,
        key: &'a ConversationKey,
        from: u64,
        most: usize,
    ) -> StoreFuture<'a, Vec<(u64, String)>>;

    /// Returns at most `most` messages, from number `from` on.
    ///
    /// # Errors
    ///
    /// Returns [`StoreError::NotFound`](crate::StoreError::NotFound) or [`StoreError::Corrupt`](crate::StoreError::Corrupt).
    fn messages<'a>(
        &'a self,
        key: &'a ConversationKey,
        from: u64,
        most: usize,
    ) -> StoreFuture<'a, Vec<StoredMessage>>;

    /// Sets the title.
    ///
    /// # Errors
    ///
    /// Returns [`StoreError::NotFound`](crate::StoreError::NotFound), or [`StoreError::Ended`](crate::StoreError::Ended) for an erased conversation.
    fn rename<'a>(
        &'a self,
        key: &'a ConversationKey,
        title: Text,
        at_ms: u64,
    ) -> StoreFuture<'a, ()>;

    /// Sets the status. Setting the current status again changes nothing.
    ///
    /// # Errors
    ///
    /// Returns [`StoreError::NotFound`](crate::StoreError::NotFound), or [`StoreError::Ended`](crate::StoreError::Ended) if the current status [is the last](ConversationStatus::is_last).
    fn set_status<'a>(
        &'a self,
        key: &'a ConversationKey,
        status: ConversationStatus,
        at_ms: u64,
    ) -> StoreFuture<'a, ()>;

    /// Deletes a conversation with all its data; returns `false` if there was none.
    ///
    /// # Errors
    ///
    /// Returns an error if the store cannot be used.
    fn delete<'a>(&'a self, key: &'a ConversationKey) -> StoreFuture<'a, bool>;

    /// Erases all conversations of an owner in a scope; an owner with an empty name has none.
    ///
    /// # Errors
    ///
    /// Returns an error if the store cannot be used.
    fn erase<'a>(
        &'a self,
        scope: &'a str,
        owner: &'a str,
        mode: EraseMode,
    ) -> StoreFuture<'a, Erased>;
}

/// The mode of an erasure.
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
    /// Deletes everything.
    Hard,
    /// Keeps the number, the times and the roles of messages; deletes their content, the owner, the title and the journal.
    Tombstone,
    /// Counts what would be erased, without changing anything: a dry run.
    Count,
}

impl EraseMode {
    /// Returns `true` if nothing is to be changed.
    #[must_use]
    pub fn is_dry_run(self) -> bool {
        self == Self::Count
    }
}

/// The numbers of erased items, or of those that would be erased.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Erased {
    /// The number of conversations.
    pub conversations: u64,
    /// The number of messages in them.
    pub messages: u64,
    /// The number of runs.
    pub runs: u64,
    /// The number of streams that the owner created.
    pub streams: u64,
    /// The number of audit rows of the owner or about the owner's data, which stay in their chain without content.
    pub audit: u64,
}

impl Erased {
    /// Returns the numbers of conversations and messages, without runs and streams.
    #[must_use]
    pub fn new(conversations: u64, messages: u64) -> Self {
        Self { conversations, messages, ..Self::default() }
    }
}

/// The filter and position of a list of conversations.
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
    /// The owner to list, if only one.
    pub owner: Option<Text>,
    /// The agent to list, if only one.
    pub agent: Option<Text>,
    /// The [`next`](ConversationPage::next) of the previous page.
    pub after: Option<Text>,
    /// The maximum number of conversations of the page.
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

/// A page of a list of conversations.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConversationPage {
    /// The conversations.
    pub conversations: Vec<ConversationRecord>,
    /// The position where the list continues; `None` at its end.
    pub next: Option<Text>,
}

impl ConversationPage {
    /// Returns a page.
    #[must_use]
    pub fn new(conversations: Vec<ConversationRecord>, next: Option<Text>) -> Self {
        Self { conversations, next }
    }
}
