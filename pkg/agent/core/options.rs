//! Options for reading a stream of chunks.

use std::sync::Arc;

use serde_json::Value;

use forgeline_parser::{DEFAULT_MAX_CALL_BYTES, ToolDialect, ToolSchemas};
use forgeline_types::{Text, setters};

/// Options for reading a stream of chunks.
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
#[expect(clippy::struct_excessive_bools, reason = "independent settings")]
#[non_exhaustive]
pub struct StreamOptions {
    /// The dialect of tool calls in the message text. Default: recognised by their opener.
    pub tools: ToolDialect,
    /// Names and JSON schemas of the known tools, used to type arguments written as XML. Default: none.
    pub schemas: ToolSchemas,
    /// Reads calls in Markdown code, for models that wrap their calls in fences. Default: `false`,
    /// a marker in a code span or fence is text.
    pub calls_in_code: bool,
    /// Ends the answer when its text or reasoning repeats itself: the same sentence or line eight times in a
    /// row, or 2 KiB that repeat the text before them. The finish reason is then
    /// [`Repetition`](forgeline_types::FinishReason::Repetition). Needs `keep_content`. Default: `false`.
    pub stop_repetition: bool,
    /// Keeps text, thinking and calls in the completion. Default: `true`; otherwise the completion
    /// contains only the metadata, and memory does not grow with the stream.
    pub keep_content: bool,
    /// Maximum length of the body of one call in text, and of the arguments of a native one, in
    /// bytes. Default: 4 MiB. A longer one ends the stream with an error.
    pub max_call_bytes: usize,
    /// Requires a call without a marker to name a known tool. Default: `false`.
    #[doc(hidden)]
    pub bare_of_known: bool,
}

impl Default for StreamOptions {
    fn default() -> Self {
        Self {
            tools: ToolDialect::AUTO,
            schemas: Arc::from([]),
            calls_in_code: false,
            stop_repetition: false,
            keep_content: true,
            max_call_bytes: DEFAULT_MAX_CALL_BYTES,
            bare_of_known: false,
        }
    }
}

impl StreamOptions {
    /// Sets [`schemas`](Self::schemas).
    #[must_use]
    pub fn schemas<S: Into<Arc<Value>>>(
        mut self,
        schemas: impl IntoIterator<Item = (Text, S)>,
    ) -> Self {
        self.schemas = schemas.into_iter().map(|(name, schema)| (name, schema.into())).collect();
        self
    }

    setters! {
        StreamOptions:
        tools(ToolDialect),
        calls_in_code(bool),
        stop_repetition(bool),
        keep_content(bool),
        max_call_bytes(usize),
    }
}

/// The end of a stream of chunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum StreamEnd {
    /// The stream is exhausted; without its protocol's terminal marker, that is an error.
    Done,
    /// The consumer cancelled the stream.
    Cancelled,
}
