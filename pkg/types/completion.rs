//! A whole answer.

use std::borrow::Borrow;

use serde::{Deserialize, Serialize};

use super::{
    AgentError, AgentEvent, FinishReason, Json, Message, MessageRole, Part, Text, ToolCall,
    UsageInfo,
};

/// A whole answer: the content of its events, and how it ended.
///
/// After a failure it holds what had arrived.
///
/// # Examples
///
/// ```
/// use forgeline::types::{Completion, Part};
///
/// let mut completion = Completion::default();
/// completion.text = "Hello".to_owned();
/// let message = completion.into_message();
/// assert_eq!(message.parts, [Part::Text { text: "Hello".to_owned() }]);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
#[serde(default)]
pub struct Completion {
    /// The content in order, with what the provider needs back in the next request: signatures of
    /// reasoning, items of its own. Empty where it is not needed: the agent keeps the conversation
    /// itself.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Part>,
    /// The message content, joined.
    pub text: String,
    /// The thinking content, joined.
    pub thinking: String,
    /// The message content that the provider marked as a refusal, joined.
    pub refusal: String,
    /// The calls in order, including those that were truncated or could not be read.
    pub tool_calls: Vec<ToolCall>,
    /// The role of the answer, if the provider reported one.
    #[serde(skip_serializing)]
    pub role: Option<MessageRole>,
    /// Reason for which the model stopped, in the common vocabulary.
    pub finish_reason: Option<FinishReason>,
    /// Tokens used.
    pub usage: Option<UsageInfo>,
    /// The vendor's word for that reason.
    pub finish_reason_raw: Option<Text>,
    /// The vendor's usage object.
    pub usage_raw: Option<Json>,
    /// The error object that the vendor sent inside the stream.
    pub error_raw: Option<Json>,
    /// The model that answered, as the server names it.
    pub model: Option<Text>,
    /// The server's id of the response.
    pub response_id: Option<Text>,
    /// `true` if the protocol's terminal marker was seen.
    pub complete: bool,
    /// Bytes sent as message before a closer showed that they had been reasoning.
    pub late_thinking_bytes: u64,
    /// Tool-call openers that a code span or fence hid.
    pub fenced_calls: u32,
    /// The failure, if there was one.
    pub error: Option<AgentError>,
}

impl Completion {
    /// Converts the answer into a message of the conversation, for the next request.
    #[must_use]
    pub fn into_message(self) -> Message {
        if !self.parts.is_empty() {
            return Message::new(MessageRole::Assistant, self.parts);
        }
        let mut parts = Vec::new();
        if !self.thinking.is_empty() {
            parts.push(Part::Thinking { text: self.thinking, signature: None });
        }
        if !self.text.is_empty() {
            parts.push(Part::Text { text: self.text });
        }
        parts.extend(self.tool_calls.into_iter().map(Part::ToolCall));
        Message::new(MessageRole::Assistant, parts)
    }
}

/// Joins events back into a [`Completion`].
///
/// # Examples
///
/// ```
/// use forgeline::types::{AgentEvent, CompletionBuilder};
///
/// let events = [
///     AgentEvent::MessageStart,
///     AgentEvent::MessageContent { content: "Hel".into(), refusal: false },
///     AgentEvent::MessageContent { content: "lo".into(), refusal: false },
///     AgentEvent::MessageEnd,
/// ];
/// assert_eq!(CompletionBuilder::from_events(&events).text, "Hello");
/// ```
#[derive(Debug, Default)]
pub struct CompletionBuilder {
    completion: Completion,
}

impl CompletionBuilder {
    /// Joins all of `events`.
    ///
    /// What events do not carry stays at its default: raw values, ids of the response, server
    /// names. `arguments_raw` is the joined JSON text.
    pub fn from_events<E: Borrow<AgentEvent>>(events: impl IntoIterator<Item = E>) -> Completion {
        let mut builder = Self::default();
        for event in events {
            builder.push(event.borrow());
        }
        builder.finish()
    }

    /// Adds one event.
    pub fn push(&mut self, event: &AgentEvent) {
        let completion = &mut self.completion;
        match event {
            AgentEvent::ThinkingContent { content } => completion.thinking.push_str(content),
            AgentEvent::MessageContent { content, refusal: false } => {
                completion.text.push_str(content);
            }
            AgentEvent::MessageContent { content, refusal: true } => {
                completion.refusal.push_str(content);
            }
            AgentEvent::ToolCallStart { index, id, tool_name } => {
                let mut call = ToolCall::pending(*index, id.clone());
                call.name = tool_name.clone().unwrap_or_default();
                completion.tool_calls.push(call);
            }
            AgentEvent::ToolCallContent { index, arguments, .. } => {
                if let Some(call) = self.call(*index) {
                    call.arguments_raw.push_str(arguments);
                }
            }
            AgentEvent::ToolCallEnd { index, tool_name, outcome, repairs } => {
                if let Some(call) = self.call(*index) {
                    call.name = tool_name.clone().unwrap_or_default();
                    call.outcome = outcome.clone();
                    call.repairs.clone_from(repairs);
                    call.arguments = parse_arguments(&call.arguments_raw);
                }
            }
            AgentEvent::Error { error, .. } => completion.error = Some(error.clone()),
            AgentEvent::TokenUsage { usage } => {
                completion.usage.get_or_insert_default().merge(usage);
            }
            AgentEvent::ThinkingStart
            | AgentEvent::ThinkingEnd
            | AgentEvent::MessageStart
            | AgentEvent::MessageEnd
            | AgentEvent::ApiCallStart { .. }
            | AgentEvent::ApiCallEnd { .. }
            | AgentEvent::ToolCall { .. }
            | AgentEvent::ToolResult { .. }
            | AgentEvent::ToolResultError { .. }
            | AgentEvent::NoToolCall
            | AgentEvent::UpdateBusy { .. }
            | AgentEvent::TurnEnd
            | AgentEvent::ProviderItem(_)
            | AgentEvent::Retry { .. }
            | AgentEvent::Failover { .. }
            | AgentEvent::Custom { .. }
            | AgentEvent::Unknown(_) => {}
        }
    }

    /// What the events came to.
    #[must_use]
    pub fn finish(self) -> Completion {
        self.completion
    }

    fn call(&mut self, index: u32) -> Option<&mut ToolCall> {
        self.completion.tool_calls.iter_mut().rev().find(|call| call.index == index)
    }
}

/// The arguments of a call from their text; absent, `null` and `"null"` are `{}`.
fn parse_arguments(text: &str) -> Option<Json> {
    match text.trim() {
        "" | "null" | "\"null\"" => Json::parse("{}").ok(),
        text => Json::parse(text).ok(),
    }
}
