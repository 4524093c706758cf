//! Encoding of events as the chunks of a Chat Completions stream.

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::gateway::{
    AnswerPiece, AnswerWriter, data, end_of, known_counts as known, to_json as json,
};
use forgeline_types::{AgentError, AgentEvent, Completion, FinishReason, Json, Text, UsageInfo};

/// A writer of the events of one response as the chunks of a streamed Chat Completions response, for a
/// server whose clients speak that protocol.
///
/// Pure: no I/O, no clock. Each chunk is one line of JSON without a line end, ready to be the data of a
/// Server-Sent Event: write `data: `, the chunk and two newlines, and [`DONE`](Self::DONE) as the
/// last event. Message text becomes `content`, or `refusal` if the provider marked it as one;
/// reasoning becomes `reasoning_content`; a call becomes `tool_calls` with its index, id, name and the
/// deltas of its arguments. Events of the agent's turn, such as tool results, have no chunk.
///
/// # Examples
///
/// ```
/// use forgeline::{
///     llm::openai::ChunkWriter,
///     types::{AgentEvent, MessageContentEvent, FinishReason},
/// };
///
/// let mut writer = ChunkWriter::new("chatcmpl-1", "my-model").created(1_700_000_000);
/// let event = AgentEvent::MessageContent(MessageContentEvent::new("Hi"));
/// assert_eq!(
///     writer.event(&event).as_deref(),
///     Some(concat!(
///         r#"{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"#,
///         r#""model":"my-model","choices":[{"index":0,"#,
///         r#""delta":{"role":"assistant","content":"Hi"},"finish_reason":null}]}"#,
///     )),
/// );
/// assert!(writer.finish(&FinishReason::Stop).ends_with(r#""finish_reason":"stop"}]}"#));
/// ```
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
pub struct ChunkWriter {
    id: Text,
    model: Text,
    created: u64,
    has_role: bool,
    /// `true` once a call was written.
    has_calls: bool,
    /// The calls whose names are not yet known.
    unnamed: Vec<u32>,
}

#[derive(Serialize)]
struct WrittenChunk<'a> {
    id: &'a str,
    object: &'static str,
    created: u64,
    model: &'a str,
    choices: &'a [WrittenChoice<'a>],
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<Value>,
}

#[derive(Serialize)]
struct WrittenChoice<'a> {
    index: u32,
    delta: WrittenDelta<'a>,
    finish_reason: Option<&'a str>,
}

#[derive(Serialize)]
struct WrittenDelta<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<&'static str>,
    #[serde(flatten)]
    said: Option<DeltaMember<'a>>,
}

/// The single member of a delta besides the role.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum DeltaMember<'a> {
    Content(&'a str),
    Refusal(&'a str),
    ReasoningContent(&'a str),
    ToolCalls([WrittenCall<'a>; 1]),
}

#[derive(Default, Serialize)]
struct WrittenCall<'a> {
    index: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    r#type: Option<&'static str>,
    function: WrittenFunction<'a>,
}

#[derive(Default, Serialize)]
struct WrittenFunction<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    arguments: &'a str,
}

impl ChunkWriter {
    /// The data of the event that ends the stream.
    pub const DONE: &'static str = "[DONE]";

    /// Creates a writer for one response with this id, answered by `model`.
    #[must_use]
    pub fn new(id: impl Into<Text>, model: impl Into<Text>) -> Self {
        let (id, model) = (id.into(), model.into());
        Self { id, model, created: 0, has_role: false, has_calls: false, unnamed: Vec::new() }
    }

    /// Sets the time of the response, in seconds since the Unix epoch. Default: 0.
    #[must_use]
    pub fn created(mut self, unix_seconds: u64) -> Self {
        self.created = unix_seconds;
        self
    }

    /// Returns the chunk for an event; `None` if the protocol has none for it.
    ///
    /// An [`Error`](AgentEvent::Error) becomes a chunk with an `error` object, after which no other
    /// chunk should be written.
    #[must_use]
    pub fn event(&mut self, event: &AgentEvent) -> Option<String> {
        let said = match AnswerPiece::of(event)? {
            AnswerPiece::Thinking(content) => DeltaMember::ReasoningContent(content),
            AnswerPiece::Text { text, is_refusal: true } => DeltaMember::Refusal(text),
            AnswerPiece::Text { text, is_refusal: false } => DeltaMember::Content(text),
            AnswerPiece::CallStart { index, id, name } => {
                self.has_calls = true;
                if name.is_none() {
                    self.unnamed.push(index);
                }
                let function = WrittenFunction { name: name.map(Text::as_str), arguments: "" };
                let (id, r#type) = (Some(id.as_str()), Some("function"));
                DeltaMember::ToolCalls([WrittenCall { index, id, r#type, function }])
            }
            AnswerPiece::Arguments { index, json } if !json.is_empty() => {
                let function = WrittenFunction { name: None, arguments: json };
                DeltaMember::ToolCalls([WrittenCall { index, function, ..WrittenCall::default() }])
            }
            AnswerPiece::CallEnd { index, name: Some(name), .. }
                if self.unnamed.contains(&index) =>
            {
                self.unnamed.retain(|unnamed| *unnamed != index);
                let function = WrittenFunction { name: Some(name), arguments: "" };
                DeltaMember::ToolCalls([WrittenCall { index, function, ..WrittenCall::default() }])
            }
            AnswerPiece::Usage(usage) => return Some(self.usage(usage)),
            AnswerPiece::Failed(error) => return Some(failure(error)),
            AnswerPiece::Arguments { .. }
            | AnswerPiece::CallEnd { .. }
            | AnswerPiece::ThinkingEnd
            | AnswerPiece::TextEnd
            | AnswerPiece::Item(_) => return None,
        };
        Some(self.delta(Some(said), None))
    }

    /// Returns the chunk that ends the answer.
    ///
    /// An answer that broke off has no such chunk: its last chunk is that of its error. A model that writes its calls as text
    /// stops after them; clients of this protocol run calls only when the reason is `tool_calls`, so that is written.
    #[must_use]
    pub fn finish(&mut self, reason: &FinishReason) -> String {
        self.delta(None, Some(reason_of(reason, self.has_calls)))
    }

    /// Returns the body of a response that is sent whole, from the completion of the answer.
    ///
    /// An answer that failed has no such body: its [`error`](Completion::error) is for a status of the response.
    ///
    /// # Examples
    ///
    /// ```
    /// use forgeline::{llm::openai::ChunkWriter, types::{Completion, FinishReason}};
    ///
    /// let mut completion = Completion::default();
    /// completion.text = "Hi".into();
    /// completion.finish_reason = Some(FinishReason::Stop);
    /// let body = ChunkWriter::new("chatcmpl-1", "my-model").complete(&completion);
    /// let body: serde_json::Value = serde_json::from_str(&body)?;
    /// assert_eq!(body["choices"][0]["message"]["content"], "Hi");
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    #[must_use]
    pub fn complete(&self, completion: &Completion) -> String {
        let Self { id, model, created, .. } = self;
        let some = |text: &str| (!text.is_empty()).then(|| json!(text));
        let mut message = Map::new();
        message.insert("role".to_owned(), json!("assistant"));
        message.insert("content".to_owned(), some(&completion.text).unwrap_or_default());
        message.insert("refusal".to_owned(), some(&completion.refusal).unwrap_or_default());
        if let Some(thinking) = some(&completion.thinking) {
            message.insert("reasoning_content".to_owned(), thinking);
        }
        let calls: Vec<_> = completion
            .tool_calls
            .iter()
            .map(|call| {
                let arguments = call.arguments.as_ref().map_or(&*call.arguments_raw, Json::as_str);
                let function = json!({ "name": call.name, "arguments": arguments });
                json!({ "id": call.id, "type": "function", "function": function })
            })
            .collect();
        let has_calls = !calls.is_empty();
        if has_calls {
            message.insert("tool_calls".to_owned(), json!(calls));
        }
        let reason = reason_of(end_of(completion), has_calls);
        let choice =
            json!({ "index": 0, "message": message, "logprobs": null, "finish_reason": reason });
        let mut body = json!({
            "id": id,
            "object": "chat.completion",
            "created": created,
            "model": model,
            "choices": [choice],
        });
        if let Some(usage) = &completion.usage {
            body["usage"] = counts(usage);
        }
        json(&body)
    }

    /// Returns the body of a response that failed before anything was sent, with a status such as 502. In a stream, the event of the error has the same
    /// [chunk](Self::event).
    ///
    /// # Examples
    ///
    /// ```
    /// use forgeline::{llm::openai::ChunkWriter, types::{AgentError, ErrorCode}};
    ///
    /// let body = ChunkWriter::failure(&AgentError::new(ErrorCode::Overloaded, "try again later"));
    /// assert!(body.contains(r#""message":"try again later""#));
    /// ```
    #[must_use]
    pub fn failure(error: &AgentError) -> String {
        failure(error)
    }

    /// Returns the chunk with the token counts, which follows the end of the answer; unknown counts
    /// are 0.
    #[must_use]
    pub fn usage(&self, usage: &UsageInfo) -> String {
        self.chunk(&[], Some(counts(usage)))
    }

    fn delta(&mut self, said: Option<DeltaMember<'_>>, finish_reason: Option<&str>) -> String {
        let is_first = !std::mem::replace(&mut self.has_role, true);
        let delta = WrittenDelta { role: is_first.then_some("assistant"), said };
        self.chunk(&[WrittenChoice { index: 0, delta, finish_reason }], None)
    }

    fn chunk(&self, choices: &[WrittenChoice<'_>], usage: Option<Value>) -> String {
        let Self { id, model, created, .. } = self;
        let object = "chat.completion.chunk";
        json(&WrittenChunk { id, object, created: *created, model, choices, usage })
    }
}

impl AnswerWriter for ChunkWriter {
    fn frames(&mut self, event: &AgentEvent) -> String {
        let mut out = String::new();
        // The token counts come last, and only if they were asked for.
        let event = Some(event).filter(|event| !matches!(event, AgentEvent::TokenUsage(_)));
        if let Some(chunk) = event.and_then(|event| self.event(event)) {
            data(&mut out, &chunk);
        }
        out
    }

    fn last_frames(&mut self, reason: &FinishReason, usage: Option<&UsageInfo>) -> String {
        let mut out = String::new();
        data(&mut out, &self.finish(reason));
        if let Some(usage) = usage {
            data(&mut out, &self.usage(usage));
        }
        data(&mut out, Self::DONE);
        out
    }

    fn complete(&self, completion: &Completion) -> String {
        Self::complete(self, completion)
    }

    fn failure(error: &AgentError) -> String {
        failure(error)
    }
}

/// Returns the word for the reason of the end: a model that writes its calls as text stops after them, and clients of this
/// protocol run calls only if the word is `tool_calls`.
fn reason_of(reason: &FinishReason, has_calls: bool) -> &str {
    let stops = *reason == FinishReason::Stop;
    if stops && has_calls { FinishReason::ToolCalls.as_str() } else { reason.as_str() }
}

/// Returns the value of `usage`.
fn counts(usage: &UsageInfo) -> Value {
    let prompt_tokens = usage.input_tokens.unwrap_or_default();
    let completion_tokens = usage.output_tokens.unwrap_or_default();
    json!({
        "prompt_tokens": prompt_tokens,
        "completion_tokens": completion_tokens,
        "total_tokens": prompt_tokens.saturating_add(completion_tokens),
        "prompt_tokens_details": known([
            ("cached_tokens", usage.cache_read_tokens),
            ("cache_write_tokens", usage.cache_write_tokens),
        ]),
        "completion_tokens_details": known([("reasoning_tokens", usage.reasoning_tokens)]),
    })
}

/// Returns the body of a failure, which Responses has too.
pub(crate) fn failure(error: &AgentError) -> String {
    let AgentError { code, message, .. } = error;
    json(&json!({ "error": { "message": message, "type": "server_error", "code": code } }))
}
