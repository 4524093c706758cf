//! The path from bytes to events of `replay` and `parse`.

use std::ops::ControlFlow;

use forgeline::{
    TextPipeline,
    agent::core::{StreamEnd, StreamMachine, StreamOptions},
    llm::{
        BodyDecoder, ContentTyper, Progress, Protocol, ProviderError, StreamChunk,
        parser::{Dialect, ThinkingDialect, ThinkingParser, ToolDialect},
    },
    types::{AgentEvent, Completion, FinishReason, Text},
};
use serde_json::Value;

/// The options of reading content.
#[derive(Debug, Clone)]
pub struct ReadOptions {
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

impl Default for ReadOptions {
    fn default() -> Self {
        Self::for_dialect(Dialect::default())
    }
}

impl ReadOptions {
    /// Returns the options for a family of models.
    #[must_use]
    pub fn for_dialect(dialect: Dialect) -> Self {
        let (tools, thinking) = (dialect.tools, dialect.thinking);
        let starts_inside = dialect.starts_inside;
        Self { tools, thinking, schemas: Vec::new(), starts_inside, prompt_tail: None }
    }

    /// Returns a pipeline for a text that is read this way.
    #[must_use]
    pub fn text(self, finish: Option<FinishReason>) -> TextPipeline {
        let mut dialect = Dialect::default();
        (dialect.tools, dialect.thinking) = (self.tools, self.thinking);
        dialect.starts_inside = self.starts_inside;
        let pipeline = TextPipeline::new(dialect).schemas(self.schemas);
        let tail = self.prompt_tail.into_iter();
        let pipeline = tail.fold(pipeline, TextPipeline::prompt_tail);
        finish.into_iter().fold(pipeline, TextPipeline::finish_reason)
    }

    /// What separates reasoning from text.
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
struct PipelineStages {
    typer: ContentTyper,
    machine: StreamMachine,
    /// `Break` once a limit was passed: nothing more is taken.
    flow: ControlFlow<()>,
}

impl PipelineStages {
    fn new(reading: ReadOptions) -> Self {
        let typer = reading.typer();
        let ReadOptions { tools, schemas, .. } = reading;
        let machine = StreamMachine::new(&StreamOptions::default().tools(tools).schemas(schemas));
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
    stages: PipelineStages,
    error: Option<ProviderError>,
}

impl BodyPipeline {
    /// Returns a pipeline for one body.
    #[must_use]
    pub fn new(protocol: Protocol, reading: ReadOptions) -> Self {
        Self { decoder: protocol.decoder(), stages: PipelineStages::new(reading), error: None }
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
