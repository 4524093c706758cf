//! The trait of journals.

use futures_core::future::BoxFuture;

use crate::types::Text;

/// The work of a journal.
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

/// The journal of one conversation: lines of text that are kept in order.
///
/// An agent with a journal writes down all that happens to its runs, each message included, before the
/// loop goes on; [`DefaultAgent::resume`](crate::agent::DefaultAgent::resume) goes on from there, in
/// another process too. Each line is one JSON object without line ends, with a number and a digest of
/// itself and of the lines before it: what was edited, lost or put elsewhere is noticed. The digest is
/// not a signature. The lines hold what the conversation holds, but no keys.
///
/// A journal serves one agent at a time; its futures hold what they need, behind `Arc`s.
///
/// # Examples
///
/// A journal in a table of lines:
///
/// ```
/// use std::sync::{Arc, Mutex};
/// use forgeline::agent::journal::{Journal, JournalError, JournalFuture};
///
/// #[derive(Clone, Default)]
/// struct Table(Arc<Mutex<Vec<String>>>);
///
/// impl Journal for Table {
///     fn append(&self, line: String) -> JournalFuture<()> {
///         let table = Arc::clone(&self.0);
///         Box::pin(async move {
///             let mut lines = table.lock().map_err(|_| JournalError::new("the table is broken"))?;
///             lines.push(line);
///             Ok(())
///         })
///     }
///
///     fn read(&self) -> JournalFuture<Vec<String>> {
///         let table = Arc::clone(&self.0);
///         Box::pin(async move {
///             let lines = table.lock().map_err(|_| JournalError::new("the table is broken"))?;
///             Ok(lines.clone())
///         })
///     }
/// }
/// ```
pub trait Journal: Send + Sync {
    /// Appends a line. Once the future has ended, the line is kept.
    ///
    /// # Errors
    ///
    /// When the line could not be kept; the run ends with this error.
    fn append(&self, line: String) -> JournalFuture<()>;

    /// Returns all lines, the oldest first; a line whose appending had not ended may be among them.
    ///
    /// # Errors
    ///
    /// When the lines cannot be read.
    fn read(&self) -> JournalFuture<Vec<String>>;
}
