//! The part of a request that a provider refuses.

use serde::{Deserialize, Serialize};

/// The part of a request because of which a provider refused the whole request. It is part of the conversation, so that every later
/// request is refused too, unless it is left out.
///
/// # Examples
///
/// ```
/// use forgeline::{llm::{ProviderError, RefusedContent, StatusError}, types::ErrorCode};
///
/// let words = "maximum context length is 8192 tokens, but 9001 tokens were sent";
/// let error = ProviderError::Status(Box::new(StatusError::new(400, ErrorCode::ContextExceeded, words)));
/// let refused = RefusedContent::context(Some(8192), Some(9001));
/// assert_eq!(error.refused_content(), Some(refused));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RefusedContent {
    /// The whole is longer than the model may read.
    #[non_exhaustive]
    Context {
        /// The number of tokens that the model may read, if the error says it.
        window: Option<u64>,
        /// The number of tokens of the request, if the error says it.
        tokens: Option<u64>,
    },
    /// An image or a document.
    Media,
    /// A signature of reasoning, or reasoning that is encrypted.
    Proof,
}

impl RefusedContent {
    /// Creates the refusal of a request that is too long, with what the server said of the sizes.
    #[must_use]
    pub fn context(window: Option<u64>, tokens: Option<u64>) -> Self {
        Self::Context { window, tokens }
    }
}
