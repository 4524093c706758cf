//! Answers of a model as plain data, for subjects to encode in their vendor's format.

use bytes::Bytes;
use serde_json::Value;

use forgeline_types::FinishReason;

/// An answer of a model, for a [`Subject`](super::Subject) to encode in its wire format.
///
/// # Examples
///
/// ```
/// use forgeline::testing::conformance::{Answer, AnswerEnd};
///
/// let answer = Answer::text(["Hel", "lo"]);
/// assert_eq!(answer.parts.len(), 1);
/// assert!(matches!(answer.end, AnswerEnd::Finish(_)));
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Answer {
    /// The parts, in order.
    pub parts: Vec<AnswerPart>,
    /// The tokens that the server reports; `None` omits the report if the protocol allows it.
    pub usage: Option<AnswerUsage>,
    /// The way in which the answer ends.
    pub end: AnswerEnd,
}

/// One part of an [`Answer`]. Each string is one delta, sent as a separate event.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum AnswerPart {
    /// Text for the user.
    Text(Vec<String>),
    /// Reasoning.
    #[non_exhaustive]
    Thinking {
        /// The pieces of the reasoning.
        deltas: Vec<String>,
        /// The vendor's signature of the reasoning, which must be sent back in the next request.
        signature: Option<String>,
    },
    /// Parallel calls. A protocol that can interleave their deltas should: the
    /// first delta of each call, then the second of each, and so on.
    Calls(Vec<AnswerCall>),
    /// Text that the vendor marks as a refusal.
    Refusal(Vec<String>),
}

/// One native tool call of an [`Answer`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct AnswerCall {
    /// The vendor's id of the call; protocols without ids omit it.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// The JSON text of the arguments in pieces; empty for a call without arguments.
    pub arguments: Vec<String>,
}

impl AnswerCall {
    /// Returns the complete JSON text of the arguments; empty for a call without arguments.
    #[must_use]
    pub fn arguments(&self) -> String {
        self.arguments.concat()
    }
}

/// The tokens of an [`Answer`], counted as in [`UsageInfo`](forgeline_types::UsageInfo): the input includes
/// cached tokens, the output includes the reasoning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct AnswerUsage {
    /// Tokens of the prompt, including those of a cache.
    pub input: u64,
    /// Tokens of the answer, including those of its reasoning.
    pub output: u64,
    /// The portion of `input` that was read from a cache.
    pub cache_read: Option<u64>,
    /// The portion of `input` that was written to a cache.
    pub cache_write: Option<u64>,
    /// The portion of `output` that was reasoning.
    pub reasoning: Option<u64>,
}

impl AnswerUsage {
    /// Returns `true` if only input and output are counted.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.cache_read.is_none() && self.cache_write.is_none() && self.reasoning.is_none()
    }
}

/// The end of an [`Answer`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum AnswerEnd {
    /// A complete answer, with the vendor's value for this reason and everything else that ends a stream.
    Finish(FinishReason),
    /// An error that the server reports in the stream.
    #[non_exhaustive]
    Error {
        /// The vendor's code or type.
        code: String,
        /// The vendor's message.
        message: String,
    },
    /// A truncated answer: nothing follows the last delta.
    Cut,
}

impl Answer {
    /// Creates an empty, complete answer.
    #[must_use]
    pub fn empty() -> Self {
        Self { parts: Vec::new(), usage: None, end: AnswerEnd::Finish(FinishReason::Stop) }
    }

    /// Creates a complete answer of text.
    #[must_use]
    pub fn text<'t>(deltas: impl IntoIterator<Item = &'t str>) -> Self {
        Self::empty().part(AnswerPart::Text(strings(deltas)))
    }

    /// Adds a part.
    #[must_use]
    pub fn part(mut self, part: AnswerPart) -> Self {
        self.parts.push(part);
        self
    }

    pub(in crate::conformance) fn thinking(deltas: &[&str], signature: Option<&str>) -> Self {
        let deltas = strings(deltas.iter().copied());
        Self::empty().part(AnswerPart::Thinking { deltas, signature: signature.map(str::to_owned) })
    }

    pub(in crate::conformance) fn calls(calls: &[(&str, &str, &[&str])]) -> Self {
        let call = |(id, name, arguments): &(&str, &str, &[&str])| AnswerCall {
            id: (*id).to_owned(),
            name: (*name).to_owned(),
            arguments: strings(arguments.iter().copied()),
        };
        Self::empty().part(AnswerPart::Calls(calls.iter().map(call).collect()))
    }

    pub(in crate::conformance) fn refusal(deltas: &[&str]) -> Self {
        Self::empty().part(AnswerPart::Refusal(strings(deltas.iter().copied())))
    }

    pub(in crate::conformance) fn usage(mut self, usage: AnswerUsage) -> Self {
        self.usage = Some(usage);
        self
    }

    pub(in crate::conformance) fn finish(mut self, reason: FinishReason) -> Self {
        self.end = AnswerEnd::Finish(reason);
        self
    }

    pub(in crate::conformance) fn error(mut self, code: &str, message: &str) -> Self {
        self.end = AnswerEnd::Error { code: code.to_owned(), message: message.to_owned() };
        self
    }

    pub(in crate::conformance) fn cut(mut self) -> Self {
        self.end = AnswerEnd::Cut;
        self
    }
}

fn strings<'t>(texts: impl IntoIterator<Item = &'t str>) -> Vec<String> {
    texts.into_iter().map(str::to_owned).collect()
}

/// Formats a frame of server-sent events, with the name of the event if the protocol has names.
///
/// # Examples
///
/// ```
/// use forgeline::testing::conformance::sse_frame;
/// use serde_json::json;
///
/// assert_eq!(sse_frame(Some("ping"), &json!({})), "event: ping\ndata: {}\n\n");
/// ```
#[must_use]
pub fn sse_frame(event: Option<&str>, data: &Value) -> Bytes {
    let event = event.map(|name| format!("event: {name}\n")).unwrap_or_default();
    Bytes::from(format!("{event}data: {data}\n\n"))
}

/// Formats a frame of JSON lines.
///
/// # Examples
///
/// ```
/// use forgeline::testing::conformance::ndjson_frame;
/// use serde_json::json;
///
/// assert_eq!(ndjson_frame(&json!({ "done": true })), "{\"done\":true}\n");
/// ```
#[must_use]
pub fn ndjson_frame(value: &Value) -> Bytes {
    Bytes::from(format!("{value}\n"))
}
