//! From a model's text to events: both parsers and the state machine, without HTTP or a runtime.

use std::{ops::ControlFlow, sync::Arc};

use serde_json::Value;

use super::{StreamEnd, StreamMachine, StreamOptions, utf8::Utf8Decoder};
use forgeline_llm::{ContentTyper, StreamChunk};
use forgeline_parser::{Dialect, ThinkingParser};
use forgeline_types::{AgentEvent, CallOutcome, Completion, FinishReason, Text, ToolCall};

/// Reads a model's text, in pieces cut anywhere, as events: reasoning, message text and tool calls.
///
/// One value holds everything that the text needs: a decoder that joins cut UTF-8 characters, the
/// [`ThinkingParser`], and the [`StreamMachine`] with its
/// [`ToolCallParser`](forgeline_parser::ToolCallParser). The pipeline does no I/O and needs no runtime. The
/// events do not depend on where the bytes are cut, once adjacent deltas of one kind are joined.
///
/// # Examples
///
/// ```
/// use forgeline::{TextPipeline, types::{AgentEvent, ThinkingContentEvent}};
///
/// let answer = "<think>\nAsk the clock.\n</think>\n\nA moment… \
///     <tool_call>{\"name\": \"clock\", \"arguments\": {\"zone\": \"UTC\"}}</tool_call>";
///
/// let mut pipeline = TextPipeline::for_model("Qwen/Qwen3-8B");
/// let mut thinking = String::new();
/// for bytes in answer.as_bytes().chunks(5) {
///     pipeline.push_bytes(bytes, |event| {
///         if let AgentEvent::ThinkingContent(ThinkingContentEvent { content, .. }) = event {
///             thinking.push_str(&content);
///         }
///     });
/// }
/// let completion = pipeline.finish(|_| {});
///
/// assert_eq!(thinking, "Ask the clock.");
/// assert_eq!(completion.text, "A moment… ");
/// let call = &completion.tool_calls[0];
/// assert_eq!((call.name.as_str(), call.arguments_raw.as_str()), ("clock", r#"{"zone": "UTC"}"#));
/// ```
#[derive(Debug)]
pub struct TextPipeline {
    dialect: Dialect,
    prompt_tail: Option<String>,
    options: StreamOptions,
    finish_reason: Option<FinishReason>,
    decoder: Utf8Decoder,
    /// The parsers, once any text has been read.
    stages: Option<PipelineStages>,
}

impl TextPipeline {
    /// Creates a pipeline for an answer of the model with this id; see [`Dialect::for_model`].
    #[must_use]
    pub fn for_model(id: &str) -> Self {
        Self::new(Dialect::for_model(id))
    }

    /// Creates a pipeline for an answer in this dialect.
    #[must_use]
    pub fn new(dialect: Dialect) -> Self {
        Self {
            dialect,
            prompt_tail: None,
            options: StreamOptions::default(),
            finish_reason: None,
            decoder: Utf8Decoder::default(),
            stages: None,
        }
    }

    /// Sets the names and JSON schemas of the known tools, used to type arguments that are not
    /// written as JSON. Default: none.
    ///
    /// # Examples
    ///
    /// ```
    /// use forgeline::{TextPipeline, types::Text};
    /// use serde_json::json;
    ///
    /// let schema = json!({"properties": {"code": {"type": "string"}}});
    /// let mut pipeline = TextPipeline::for_model("Qwen/Qwen3-Coder-30B")
    ///     .schemas([(Text::from("open"), schema)]);
    ///
    /// let call = "<function=open>\n<parameter=code>\n0042\n</parameter>\n</function>";
    /// pipeline.push_bytes(format!("<tool_call>\n{call}\n</tool_call>").as_bytes(), |_| {});
    /// let completion = pipeline.finish(|_| {});
    /// let arguments = completion.tool_calls[0].arguments.as_ref().unwrap();
    /// assert_eq!(arguments.as_str(), r#"{"code":"0042"}"#);
    /// ```
    #[must_use]
    pub fn schemas<S: Into<Arc<Value>>>(
        mut self,
        schemas: impl IntoIterator<Item = (Text, S)>,
    ) -> Self {
        self.options = self.options.schemas(schemas);
        self
    }

    /// Sets the end of the prompt, which determines whether the answer starts inside reasoning.
    /// Default: as the dialect defines.
    #[must_use]
    pub fn prompt_tail(mut self, tail: impl Into<String>) -> Self {
        self.prompt_tail = Some(tail.into());
        self
    }

    /// Sets the maximum length of the body of one call, in bytes. Default: 4 MiB. A longer one ends
    /// the events with an error.
    #[must_use]
    pub fn max_call_bytes(mut self, bytes: usize) -> Self {
        self.options = self.options.max_call_bytes(bytes);
        self
    }

    /// Sets the reason why the model stopped. Default: not known. After
    /// [`Length`](FinishReason::Length) or [`ContextExceeded`](FinishReason::ContextExceeded) an
    /// unfinished call stays incomplete.
    #[must_use]
    pub fn finish_reason(mut self, reason: FinishReason) -> Self {
        self.finish_reason = Some(reason);
        self
    }

    /// Takes the next bytes, which may end inside a character or a marker. Bytes that are not UTF-8
    /// become U+FFFD, as the WHATWG Encoding Standard specifies.
    pub fn push_bytes(&mut self, bytes: &[u8], emit: impl FnMut(AgentEvent)) {
        let text = self.decoder.push(bytes);
        self.push_text(text, emit);
    }

    fn push_text(&mut self, text: String, mut emit: impl FnMut(AgentEvent)) {
        if !text.is_empty() {
            self.stages().chunk(StreamChunk::message(text), &mut emit);
        }
    }

    fn stages(&mut self) -> &mut PipelineStages {
        let Self { dialect, prompt_tail, options, stages, .. } = self;
        stages.get_or_insert_with(|| PipelineStages::new(dialect, prompt_tail.as_deref(), options))
    }

    /// Ends the text and returns the whole answer, which is [`complete`](Completion::complete) when
    /// neither reasoning nor a call was open at the end.
    pub fn finish(mut self, mut emit: impl FnMut(AgentEvent)) -> Completion {
        let rest = std::mem::take(&mut self.decoder).finish();
        self.push_text(rest, &mut emit);
        let mut end = StreamChunk::default();
        (end.finished, end.finish_reason) = (true, self.finish_reason.take());
        self.stages().chunk(end, &mut emit);
        let Some(stages) = self.stages else { return Completion::default() };
        let is_in_thinking = stages.typer.is_in_thinking();
        let mut completion = stages.finish(&mut emit);
        let is_open = |call: &ToolCall| call.outcome == CallOutcome::Incomplete;
        completion.complete = !is_in_thinking && !completion.tool_calls.iter().any(is_open);
        completion
    }
}

/// Content typing followed by the state machine.
#[derive(Debug)]
struct PipelineStages {
    typer: ContentTyper,
    machine: StreamMachine,
    /// `Break` once a limit was exceeded: further chunks are ignored.
    flow: ControlFlow<()>,
}

impl PipelineStages {
    fn new(dialect: &Dialect, prompt_tail: Option<&str>, options: &StreamOptions) -> Self {
        let Dialect { tools, thinking, starts_inside, .. } = dialect;
        let parser = || ThinkingParser::new(thinking, tools);
        let typer = match prompt_tail {
            _ if thinking.is_none() => ContentTyper::new(thinking, tools),
            Some(tail) => ContentTyper::with_parser(parser().after_prompt(tail)),
            None if *starts_inside => ContentTyper::with_parser(parser().starting_inside()),
            None => ContentTyper::new(thinking, tools),
        };
        let machine = StreamMachine::new(&options.clone().tools(tools.clone()));
        Self { typer, machine, flow: ControlFlow::Continue(()) }
    }

    fn chunk(&mut self, chunk: StreamChunk, emit: &mut impl FnMut(AgentEvent)) {
        let Self { typer, machine, flow } = self;
        typer.push(chunk, &mut |chunk| {
            if flow.is_continue() {
                *flow = machine.chunk(chunk, emit);
            }
        });
    }

    fn finish(mut self, emit: &mut impl FnMut(AgentEvent)) -> Completion {
        let Self { typer, machine, flow } = &mut self;
        typer.finish(&mut |chunk| {
            if flow.is_continue() {
                *flow = machine.chunk(chunk, emit);
            }
        });
        self.machine.finish(StreamEnd::Done, emit)
    }
}
