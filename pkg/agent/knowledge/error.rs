//! The error of memory stores and knowledge indexes.

use forgeline_types::Text;

/// The error of memory stores and knowledge indexes. Its message is also shown to the model: it
/// quotes neither a file nor the text of another owner.
///
/// # Examples
///
/// ```
/// use forgeline::agent::knowledge::KnowledgeError;
///
/// let error = KnowledgeError::failed("the disk is full");
/// assert_eq!(error.to_string(), "the disk is full");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KnowledgeError {
    /// A part has no content.
    #[error("the {what} is empty; give one")]
    #[non_exhaustive]
    Empty {
        /// The part.
        what: &'static str,
    },
    /// A part is too large.
    #[error("the {what} has {bytes} bytes, more than {most}; shorten it")]
    #[non_exhaustive]
    TooLarge {
        /// The part.
        what: &'static str,
        /// The number of bytes of the part.
        bytes: usize,
        /// The maximum number of bytes.
        most: usize,
    },
    /// Another text is stored under the key.
    #[error(
        "the key `{key}` holds another memory; choose another key, or delete that memory first"
    )]
    #[non_exhaustive]
    Taken {
        /// The key.
        key: Text,
    },
    /// A limit is reached.
    #[error("the limit of {most} {what} is reached; delete what is no longer needed")]
    #[non_exhaustive]
    Full {
        /// The thing that is limited.
        what: &'static str,
        /// The maximum.
        most: usize,
    },
    /// The file cannot be read.
    #[error(
        "the file is damaged in line {line}, at byte {offset}: {problem}; restore a copy, \
         or move it away to start over"
    )]
    #[non_exhaustive]
    Damaged {
        /// The line, from 1.
        line: u64,
        /// The byte of the file, from 0.
        offset: u64,
        /// The problem.
        problem: &'static str,
    },
    /// Another version of the library wrote the file.
    #[error(
        "the file has version {found}, and this library reads {own}; use the version of the \
         library that wrote it"
    )]
    #[non_exhaustive]
    Version {
        /// The version of the file.
        found: u64,
        /// The version that is read.
        own: u64,
    },
    /// Another process is changing the file.
    #[error("another process is changing the file; retry")]
    Busy,
    /// The store failed.
    #[error("{message}")]
    #[non_exhaustive]
    Failed {
        /// The message.
        message: Text,
    },
}

impl KnowledgeError {
    /// Returns the error of a store that failed.
    #[must_use]
    pub fn failed(message: impl Into<Text>) -> Self {
        Self::Failed { message: message.into() }
    }
}
