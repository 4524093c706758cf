//! How a stream of chunks is read.

use std::sync::Arc;

use serde_json::Value;

use crate::{llm::parser::ToolDialect, types::Text};

/// How a stream of chunks becomes events.
///
/// # Examples
///
/// ```
/// use forgeline::{agent::core::StreamOptions, llm::parser::ToolDialect};
///
/// let options = StreamOptions::default().tools(ToolDialect::FORGE);
/// assert!(options.keep_content);
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
#[expect(clippy::struct_excessive_bools, reason = "two settings that have nothing in common")]
pub struct StreamOptions {
    /// How tool calls are written in the message text. Default: recognised by their opener.
    pub tools: ToolDialect,
    /// Names and JSON schemas of the known tools, to type arguments written as XML. Default: none.
    pub schemas: Arc<[(Text, Value)]>,
    /// Whether calls in Markdown code are calls. Default: no, a marker in a span or fence is text.
    /// For models that wrap their calls in fences.
    pub calls_in_code: bool,
    /// Whether the completion keeps text, thinking and calls. Default: yes; without, the completion
    /// has the facts only, and memory does not grow with the stream.
    pub keep_content: bool,
    /// Longest body of one call, in bytes. Default: 4 MiB. A longer one ends the stream with an error.
    pub max_call_bytes: usize,
}

impl Default for StreamOptions {
    fn default() -> Self {
        Self {
            tools: ToolDialect::AUTO,
            schemas: Arc::from([]),
            calls_in_code: false,
            keep_content: true,
            max_call_bytes: 4 << 20,
        }
    }
}

impl StreamOptions {
    /// Sets [`tools`](Self::tools).
    #[must_use]
    pub fn tools(mut self, dialect: ToolDialect) -> Self {
        self.tools = dialect;
        self
    }

    /// Sets [`schemas`](Self::schemas).
    #[must_use]
    pub fn schemas(mut self, schemas: impl Into<Arc<[(Text, Value)]>>) -> Self {
        self.schemas = schemas.into();
        self
    }

    /// Sets [`calls_in_code`](Self::calls_in_code).
    #[must_use]
    pub fn calls_in_code(mut self, are_calls: bool) -> Self {
        self.calls_in_code = are_calls;
        self
    }

    /// Sets [`keep_content`](Self::keep_content).
    #[must_use]
    pub fn keep_content(mut self, keep: bool) -> Self {
        self.keep_content = keep;
        self
    }

    /// Sets [`max_call_bytes`](Self::max_call_bytes).
    #[must_use]
    pub fn max_call_bytes(mut self, bytes: usize) -> Self {
        self.max_call_bytes = bytes;
        self
    }
}

/// How a stream of chunks ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum StreamEnd {
    /// It ran out; without its protocol's terminal marker that is an error.
    Done,
    /// The consumer cancelled it.
    Cancelled,
}
