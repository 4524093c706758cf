//! The trait for journals.

use std::sync::Arc;

use futures_core::future::BoxFuture;

use super::{JournalEntry, JournalLine};
use forgeline_types::Text;

/// The future of a journal operation.
pub type JournalFuture<T> = BoxFuture<'static, Result<T, JournalError>>;

/// The error of a journal.
///
/// # Examples
///
/// ```
/// use forgeline::agent::journal::JournalError;
///
/// assert_eq!(JournalError::new("the disk is full").to_string(), "the disk is full");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
#[non_exhaustive]
pub struct JournalError {
    /// The message.
    pub message: Text,
}

impl JournalError {
    /// Returns an error with this message.
    #[must_use]
    pub fn new(message: impl Into<Text>) -> Self {
        Self { message: message.into() }
    }
}

/// The journal of one conversation: entries, kept in order.
///
/// A conversation with a journal records everything that happens to its runs, each message included, before the
/// loop continues; [`Conversation::resume`](crate::Conversation::resume) continues from there, in
/// another process too. Each entry has a number and a digest of itself and of the entries before it, so that edited, lost or moved entries are
/// detected. The digest is not a signature. The entries contain what the conversation contains, but no keys.
///
/// A journal serves one conversation at a time; its futures own what they need, behind `Arc`s.
///
/// # Examples
///
/// A journal stored in a table of lines:
///
/// ```
/// use std::sync::{Arc, Mutex};
/// use forgeline::agent::journal::{
///     Journal, JournalEntry, JournalError, JournalFuture, JournalLine,
/// };
///
/// #[derive(Clone, Default)]
/// struct Table(Arc<Mutex<Vec<String>>>);
///
/// impl Journal for Table {
///     fn append(&self, entry: &JournalEntry) -> JournalFuture<()> {
///         let (table, line) = (Arc::clone(&self.0), entry.to_string());
///         Box::pin(async move {
///             let mut lines = table.lock().map_err(|_| JournalError::new("the table is broken"))?;
///             lines.push(line);
///             Ok(())
///         })
///     }
///
///     fn read(&self) -> JournalFuture<Vec<JournalLine>> {
///         let table = Arc::clone(&self.0);
///         Box::pin(async move {
///             let lines = table.lock().map_err(|_| JournalError::new("the table is broken"))?;
///             Ok(lines.iter().map(|line| JournalLine::new(line.as_str())).collect())
///         })
///     }
/// }
/// ```
pub trait Journal: Send + Sync {
    /// Appends an entry. Once the future has completed, the entry is stored.
    ///
    /// # Errors
    ///
    /// Returns an error when the entry could not be stored; the run ends with this error.
    fn append(&self, entry: &JournalEntry) -> JournalFuture<()>;

    /// Returns all entries, the oldest first; one whose append had not completed may be among them.
    ///
    /// # Errors
    ///
    /// Returns an error when the entries cannot be read.
    fn read(&self) -> JournalFuture<Vec<JournalLine>>;
}

impl<J: Journal + ?Sized> Journal for Arc<J> {
    fn append(&self, entry: &JournalEntry) -> JournalFuture<()> {
        (**self).append(entry)
    }

    fn read(&self) -> JournalFuture<Vec<JournalLine>> {
        (**self).read()
    }
}
