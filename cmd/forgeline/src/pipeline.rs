//! The path from bytes to events of `replay` and `parse`.

use std::ops::ControlFlow;

use forgeline::{
    agent::core::{StreamEnd, StreamMachine, StreamOptions},
    llm::{
        BodyDecoder, ContentTyper, Progress, Protocol, ProviderError, StreamChunk,
        parser::{Dialect, ThinkingDialect, ThinkingParser, ToolDialect},
    },
    types::{AgentEvent, CallOutcome, Completion, FinishReason, Text, ToolCall},
};
use serde_json::Value;

use crate::utf8::Utf8Decoder;

/// The options of reading content.
#[derive(Debug, Clone)]
pub struct Reading {
    /// The dialect of tool calls.
    pub tools: ToolDialect,
    /// The dialect of reasoning.
    pub thinking: ThinkingDialect,
    /// Names and schemas of the known tools.
    pub schemas: Vec<(Text, Value)>,
    /// `true` when the answer starts inside reasoning; the end of a prompt overrides it.
    pub starts_inside: bool,
    /// The end of the prompt, which may have opened reasoning.
    pub prompt_tail: Option<String>,
}

impl Default for Reading {
    fn default() -> Self {
        Self::of(Dialect::default())
    }
}

impl Reading {
    /// Returns the options for a family of models.
    #[must_use]
    pub fn of(dialect: Dialect) -> Self {
        let (tools, thinking) = (dialect.tools, dialect.thinking);
        let starts_inside = dialect.starts_inside;
        Self { tools, thinking, schemas: Vec::new(), starts_inside, prompt_tail: None }
    }

    /// Returns the typer that separates reasoning from text.
    fn typer(&self) -> ContentTyper {
        let parser = || ThinkingParser::new(&self.thinking, &self.tools);
        match &self.prompt_tail {
            _ if self.thinking.is_none() => ContentTyper::new(&self.thinking, &self.tools),
            Some(tail) => ContentTyper::with_parser(parser().after_prompt(tail)),
            None if self.starts_inside => ContentTyper::with_parser(parser().starting_inside()),
            None => ContentTyper::new(&self.thinking, &self.tools),
        }
    }
}

/// Content typing and the event machine in a row.
#[derive(Debug)]
struct Stages {
    typer: ContentTyper,
    machine: StreamMachine,
    /// `Break` once a limit was passed: nothing more is taken.
    flow: ControlFlow<()>,
}

impl Stages {
    fn new(reading: Reading, max_call_bytes: usize) -> Self {
        let typer = reading.typer();
        let Reading { tools, schemas, .. } = reading;
        let options = StreamOptions::default().tools(tools).schemas(schemas);
        let machine = StreamMachine::new(&options.max_call_bytes(max_call_bytes));
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

    /// Ends the stream, whole or broken; held text is delivered before the error.
    fn finish(
        mut self,
        error: Option<&ProviderError>,
        emit: &mut impl FnMut(AgentEvent),
    ) -> Completion {
        let Self { typer, machine, flow } = &mut self;
        typer.finish(&mut |chunk| {
            if flow.is_continue() {
                *flow = machine.chunk(chunk, emit);
            }
        });
        if let Some(error) = error {
            machine.fail(error, emit);
        }
        self.machine.finish(StreamEnd::Done, emit)
    }
}

/// Reads a provider's response body, cut anywhere.
#[expect(missing_debug_implementations, reason = "decoders have none")]
pub struct BodyPipeline {
    decoder: Box<dyn BodyDecoder>,
    stages: Stages,
    error: Option<ProviderError>,
}

impl BodyPipeline {
    /// Returns a pipeline for one body.
    #[must_use]
    pub fn new(protocol: Protocol, reading: Reading) -> Self {
        let max_call_bytes = StreamOptions::default().max_call_bytes;
        let stages = Stages::new(reading, max_call_bytes);
        Self { decoder: protocol.decoder(), stages, error: None }
    }

    /// Takes the next bytes; after a decoding error, they are ignored.
    pub fn push(&mut self, bytes: &[u8], emit: &mut impl FnMut(AgentEvent)) {
        let Self { decoder, stages, error } = self;
        if error.is_none() {
            *error = decoder.push(bytes, &mut |chunk| stages.chunk(chunk, emit)).err();
        }
    }

    /// Takes the error of a connection that broke; it counts unless the answer was whole.
    pub fn broke(&mut self, broken: ProviderError, emit: &mut impl FnMut(AgentEvent)) {
        let Self { decoder, stages, error } = self;
        let is_whole = matches!(decoder.progress(), Progress::Complete | Progress::Done);
        if error.is_none() && !is_whole {
            // The text that the decoder holds comes first; its own error is of no interest.
            drop(decoder.finish(&mut |chunk| stages.chunk(chunk, emit)));
            *error = Some(broken);
        }
    }

    /// Ends the body.
    pub fn finish(mut self, emit: &mut impl FnMut(AgentEvent)) -> Completion {
        let Self { decoder, stages, error } = &mut self;
        if error.is_none() {
            *error = decoder.finish(&mut |chunk| stages.chunk(chunk, emit)).err();
        }
        self.stages.finish(self.error.as_ref(), emit)
    }
}

/// Reads the text that a model wrote, cut anywhere.
#[derive(Debug)]
pub struct TextPipeline {
    decoder: Utf8Decoder,
    stages: Stages,
}

impl TextPipeline {
    /// Returns a pipeline for one text.
    #[must_use]
    pub fn new(reading: Reading) -> Self {
        // The completion keeps the whole text anyway, so a limit would only refuse it.
        Self { decoder: Utf8Decoder::default(), stages: Stages::new(reading, usize::MAX >> 1) }
    }

    /// Takes the next bytes.
    pub fn push(&mut self, bytes: &[u8], emit: &mut impl FnMut(AgentEvent)) {
        let text = self.decoder.push(bytes);
        self.text(text, emit);
    }

    /// Ends the text; `finish` is why the model stopped, when that is known. The completion is
    /// complete when neither thinking nor a call was open at the end.
    pub fn finish(
        mut self,
        finish: Option<FinishReason>,
        emit: &mut impl FnMut(AgentEvent),
    ) -> Completion {
        let rest = std::mem::take(&mut self.decoder).finish();
        self.text(rest, emit);
        let mut end = StreamChunk::default();
        end.finished = true;
        end.finish_reason = finish;
        self.stages.chunk(end, emit);
        let is_in_thinking = self.stages.typer.is_in_thinking();
        let mut completion = self.stages.finish(None, emit);
        let is_open = |call: &ToolCall| call.outcome == CallOutcome::Incomplete;
        completion.complete = !is_in_thinking && !completion.tool_calls.iter().any(is_open);
        completion
    }

    fn text(&mut self, text: String, emit: &mut impl FnMut(AgentEvent)) {
        if !text.is_empty() {
            self.stages.chunk(StreamChunk::message(text), emit);
        }
    }
}
