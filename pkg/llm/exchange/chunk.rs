//! The chunks of a provider's stream: typed content, deltas of native tool calls, and the end.

use serde::{Deserialize, Serialize};

use super::call_deltas::{ToolCallDelta, ToolCallDeltas};
use forgeline_parser::TokenKind;
use forgeline_types::{
    AgentEvent, Completion, FinishReason, Json, MessageRole, Signature, Text, UsageInfo,
};

/// The type of the content of a [`StreamChunk`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ContentType {
    /// The answer; it may still contain tool calls written as text.
    #[default]
    Message,
    /// Reasoning.
    Thinking,
    /// The answer, marked by the provider as a refusal.
    Refusal,
}

/// One step of a provider's stream, decoded and typed.
///
/// Within a chunk the content precedes the tool-call deltas. An error is not a chunk: the
/// stream yields `Err(ProviderError)` and ends.
///
/// # Examples
///
/// ```
/// use forgeline::llm::StreamChunk;
///
/// let chunk = StreamChunk::thinking("Let me see.");
/// assert!(chunk.is_thinking() && !chunk.is_last());
/// let kept = serde_json::to_string(&chunk)?;
/// assert_eq!(serde_json::from_str::<StreamChunk>(&kept)?, chunk);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[expect(clippy::struct_excessive_bools, reason = "a section's end and the stream's are two facts")]
#[non_exhaustive]
pub struct StreamChunk {
    /// The content delta; empty if the chunk carries something else.
    pub content: Text,
    /// The type of the content.
    pub content_type: ContentType,
    /// `true` if the section of the content ends here, with or without content.
    pub ends_section: bool,
    /// The role of the author, if the provider sends it.
    pub role: Option<MessageRole>,
    /// Deltas of native tool calls, in order.
    pub tool_calls: ToolCallDeltas,
    /// `true` once the protocol's terminal marker has been seen.
    pub finished: bool,
    /// The reason why the model stopped, once known.
    pub finish_reason: Option<FinishReason>,
    /// The tokens used so far; later reports replace earlier ones field by field.
    pub usage: Option<UsageInfo>,
    /// The rare parts, boxed so that a text delta stays small.
    pub details: Option<Box<ChunkDetails>>,
}

/// The rare parts of a [`StreamChunk`]. A field that is set replaces the value from earlier chunks.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[expect(clippy::struct_excessive_bools, reason = "facts that have nothing in common")]
#[non_exhaustive]
pub struct ChunkDetails {
    /// The vendor's own name for the finish reason.
    pub finish_reason_raw: Option<Text>,
    /// The vendor's usage object.
    pub usage_raw: Option<Json>,
    /// The model that answers, as the server names it.
    pub model: Option<Text>,
    /// The server's id of the response.
    pub response_id: Option<Text>,
    /// Bytes delivered as message before a closing tag showed that they were reasoning.
    pub late_thinking_bytes: u64,
    /// `true` if a tool call opens inside reasoning, at the start of the thinking that follows. If that
    /// reasoning is never closed, the complete calls from here on may be intended as calls.
    pub call_in_thinking: bool,
    /// `true` if a message for a person begins, up to the end of its section: text in it that looks like a call
    /// is text.
    pub prose: bool,
    /// The text that the model wrote here around its reasoning: a marker as spelled, or whitespace that belongs to one. A
    /// chunk with framing is empty otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub framing: Option<Text>,
    /// The kind of tokens that the content came from, if the provider has token ids.
    pub tokens: TokenKind,
    /// The provider's signature of the reasoning or call before this chunk, to be sent back unchanged
    /// with it. A chunk with a signature has no content.
    pub signature: Option<Signature>,
    /// Events from the provider, to be emitted unchanged after the chunk's content and calls.
    pub events: Vec<AgentEvent>,
    /// The number of further answers that the server sent besides the first, which were asked for and are ignored.
    pub ignored_choices: u32,
}

impl StreamChunk {
    /// Creates a delta of the answer.
    #[must_use]
    pub fn message(content: impl Into<Text>) -> Self {
        Self { content: content.into(), ..Self::default() }
    }

    /// Creates a delta of reasoning.
    #[must_use]
    pub fn thinking(content: impl Into<Text>) -> Self {
        Self { content_type: ContentType::Thinking, ..Self::message(content) }
    }

    /// Creates a chunk of deltas of native tool calls.
    #[must_use]
    pub fn calls(tool_calls: impl IntoIterator<Item = ToolCallDelta>) -> Self {
        Self { tool_calls: tool_calls.into_iter().collect(), ..Self::default() }
    }

    /// Creates a chunk of events from the provider.
    #[must_use]
    pub fn events(events: Vec<AgentEvent>) -> Self {
        let details = ChunkDetails { events, ..ChunkDetails::default() };
        Self { details: Some(Box::new(details)), ..Self::default() }
    }

    /// Creates a chunk with the signature of the preceding reasoning or call, for `protocol`.
    #[must_use]
    pub fn signature(protocol: impl Into<Text>, proof: impl Into<Text>) -> Self {
        let signature = Some(Signature::new(protocol, proof));
        let details = ChunkDetails { signature, ..ChunkDetails::default() };
        Self { details: Some(Box::new(details)), ..Self::default() }
    }

    /// Creates a chunk that ends the response.
    #[must_use]
    pub fn end(finish_reason: FinishReason) -> Self {
        Self { finished: true, finish_reason: Some(finish_reason), ..Self::default() }
    }

    /// Records in `completion` the facts about the response as a whole.
    pub(crate) fn note_facts(&self, completion: &mut Completion) {
        completion.complete |= self.finished;
        completion.role = self.role.or(completion.role);
        if let Some(reason) = &self.finish_reason {
            completion.finish_reason = Some(reason.clone());
        }
        if let Some(usage) = &self.usage {
            completion.usage.get_or_insert_default().merge(usage);
        }
        if let Some(details) = self.details.as_deref() {
            let raw = &details.finish_reason_raw;
            completion.finish_reason_raw = raw.clone().or(completion.finish_reason_raw.take());
            completion.usage_raw = details.usage_raw.clone().or(completion.usage_raw.take());
            completion.model = details.model.clone().or(completion.model.take());
            completion.response_id = details.response_id.clone().or(completion.response_id.take());
            completion.late_thinking_bytes += details.late_thinking_bytes;
        }
    }

    /// Returns `true` once the protocol's terminal marker has been seen.
    #[must_use]
    pub fn is_last(&self) -> bool {
        self.finished
    }

    /// Returns the kind of tokens that the content came from.
    #[must_use]
    pub fn tokens(&self) -> TokenKind {
        self.details.as_ref().map(|details| details.tokens).unwrap_or_default()
    }

    /// Returns `true` if the chunk delivers part of the answer: content, a call, a signature or an item. After
    /// such a chunk, the request is not retried.
    #[must_use]
    pub fn is_delivery(&self) -> bool {
        let of_answer = |event: &AgentEvent| matches!(event, AgentEvent::ProviderItem(item) if !item.is_unknown_event());
        self.has_content()
            || !self.tool_calls.is_empty()
            || self.details.as_deref().is_some_and(|details| {
                details.signature.is_some() || details.events.iter().any(of_answer)
            })
    }

    /// Returns `true` for a report on what happened before the answer, such as failed attempts.
    pub fn is_notice(&self) -> bool {
        let events = self.details.as_deref().map_or(&[][..], |details| &details.events);
        !events.is_empty() && events.iter().all(super::is_notice)
    }

    /// Returns `true` if the chunk carries nothing.
    pub(crate) fn is_empty(&self) -> bool {
        self.content.is_empty()
            && !self.ends_section
            && self.role.is_none()
            && self.tool_calls.is_empty()
            && !self.finished
            && self.finish_reason.is_none()
            && self.usage.is_none()
            && self.details.is_none()
    }

    /// Returns `true` if there is content.
    #[must_use]
    pub fn has_content(&self) -> bool {
        !self.content.is_empty()
    }

    /// Returns `true` if the content is reasoning.
    #[must_use]
    pub fn is_thinking(&self) -> bool {
        self.content_type == ContentType::Thinking
    }

    /// Returns `true` if the content is the answer, a refusal included.
    #[must_use]
    pub fn is_message(&self) -> bool {
        !self.is_thinking()
    }
}
