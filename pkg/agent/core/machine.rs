//! The event machine: chunks in, events out; no async, no clock.

use std::{ops::ControlFlow, sync::Arc};

use super::{
    StreamEnd, StreamOptions,
    call::OpenCall,
    native_calls::NativeCalls,
    recovered::recover_calls,
    writer::{EventWriter, Section},
};
use crate::{
    llm::{
        ContentType, ProviderError, StreamChunk,
        parser::{ParsedContent, TokenKind, ToolCallParser},
    },
    types::{AgentError, AgentEvent, CallOutcome, Completion, ErrorCode, FinishReason, Json, Text},
};

/// The name of the [`Custom`](AgentEvent::Custom) event that tells, once a response, of choices beside
/// the first: they are not read. Its data is `{"count": n}`.
pub const IGNORED_CHOICES: &str = "ignored_choices";

/// Turns the chunks of one response into events. The async drivers beside it only feed it.
///
/// However the chunks are cut, the events are the same once adjacent deltas of one kind are joined.
/// Every start has exactly one end, on every path; adjacent text of one chunk is one event.
///
/// # Examples
///
/// ```
/// use forgeline::agent::core::{StreamEnd, StreamMachine, StreamOptions};
/// use forgeline::{llm::StreamChunk, types::FinishReason};
///
/// let mut machine = StreamMachine::new(&StreamOptions::default());
/// let mut kinds = Vec::new();
/// let mut emit = |event: forgeline::types::AgentEvent| kinds.push(event.kind().to_owned());
/// let _ = machine.chunk(StreamChunk::message("Hi"), &mut emit);
/// let _ = machine.chunk(StreamChunk::end(FinishReason::Stop), &mut emit);
/// let completion = machine.finish(StreamEnd::Done, &mut emit);
/// assert_eq!(kinds, ["message_start", "message_content", "message_end"]);
/// assert!(completion.complete);
/// ```
#[derive(Debug)]
pub struct StreamMachine {
    parser: ToolCallParser,
    /// The call that the parser is in.
    text_call: Option<OpenCall>,
    native: NativeCalls,
    writer: EventWriter,
    /// The end of reasoning that was never closed; complete calls in it are sent at the end.
    unclosed_calls: Option<Text>,
    /// Choices beside the first that the response held; they are told of once, at its end.
    other_choices: u32,
    /// Whether the closing events and the error, if any, were emitted.
    has_ended: bool,
}

impl StreamMachine {
    /// A machine for one response.
    #[must_use]
    pub fn new(options: &StreamOptions) -> Self {
        Self {
            parser: ToolCallParser::new(&options.tools)
                .schemas(Arc::clone(&options.schemas))
                .max_call_bytes(options.max_call_bytes)
                .calls_in_code(options.calls_in_code),
            text_call: None,
            native: NativeCalls::default(),
            writer: EventWriter::new(!options.tools.is_none(), options.keep_content),
            unclosed_calls: None,
            other_choices: 0,
            has_ended: false,
        }
    }

    /// Takes one chunk. `Break` when a limit was passed: everything has ended with an error event,
    /// and nothing more is taken.
    pub fn chunk(
        &mut self,
        chunk: StreamChunk,
        emit: &mut impl FnMut(AgentEvent),
    ) -> ControlFlow<()> {
        if self.has_ended {
            return ControlFlow::Break(());
        }
        chunk.note_facts(&mut self.writer.completion);
        if let Some(details) = &chunk.details {
            self.other_choices = self.other_choices.max(details.ignored_choices);
            if let Some(text) = &details.unclosed_calls {
                self.unclosed_calls = Some(text.clone());
            }
        }
        if chunk.has_content() {
            match chunk.content_type {
                ContentType::Message => self.message(&chunk.content, chunk.tokens(), emit),
                ContentType::Thinking => self.other(Section::Thinking, &chunk.content, emit),
                ContentType::Refusal => {
                    self.other(Section::Message { refusal: true }, &chunk.content, emit);
                }
            }
        }
        if chunk.ends_section {
            self.end_text(emit);
            self.writer.end_section(emit);
        }
        for delta in chunk.tool_calls {
            self.end_text(emit);
            self.native.delta(delta, &mut self.writer, emit);
        }
        if chunk.finished {
            let cut = self.is_cut_by_length();
            self.native.end_all(cut, &mut self.writer, emit);
        }
        self.writer.flush(emit);
        if let Some(call) = &mut self.text_call {
            call.flush(emit);
        }
        for event in chunk.details.map(|details| details.events).into_iter().flatten() {
            emit(event);
        }
        match self.parser.over_limit_at() {
            Some(offset) => {
                self.over_limit(offset, emit);
                ControlFlow::Break(())
            }
            None => ControlFlow::Continue(()),
        }
    }

    /// Text of the answer: calls are taken out of it.
    fn message(&mut self, text: &str, tokens: TokenKind, emit: &mut impl FnMut(AgentEvent)) {
        self.native.start_all(emit);
        let Self { parser, text_call, writer, .. } = self;
        let out = &mut |content: ParsedContent<'_>| take(content, text_call, writer, emit);
        match tokens {
            TokenKind::Unknown => parser.parse(text, out),
            TokenKind::Special | TokenKind::Ordinary => parser.parse_token(text, tokens, out),
        }
    }

    /// Content that the provider has typed.
    fn other(&mut self, section: Section, text: &str, emit: &mut impl FnMut(AgentEvent)) {
        self.end_text(emit);
        self.native.start_all(emit);
        if let Some(call) = &mut self.text_call {
            call.start(emit);
        }
        self.writer.text(section, text, emit);
    }

    /// Something else than message text follows: what was held back as a possible marker is text.
    fn end_text(&mut self, emit: &mut impl FnMut(AgentEvent)) {
        let Self { parser, text_call, writer, .. } = self;
        parser.end_section(&mut |content| take(content, text_call, writer, emit));
    }

    fn is_cut_by_length(&self) -> bool {
        self.writer.completion.finish_reason == Some(FinishReason::Length)
    }

    fn over_limit(&mut self, offset: u64, emit: &mut impl FnMut(AgentEvent)) {
        let message = format!("the call at byte {offset} of the answer is longer than its limit");
        self.end(Some(AgentError::new(ErrorCode::Decode, message)), emit);
    }

    /// Takes the error that ended the stream: everything open ends, then the error event.
    pub fn fail(&mut self, error: &ProviderError, emit: &mut impl FnMut(AgentEvent)) {
        self.writer.completion.error_raw = error.raw().cloned();
        self.end(Some(error.to_agent_error()), emit);
    }

    /// Ends the stream and gives the whole answer. Without the protocol's terminal marker, and
    /// without an error that tells why, that is the error
    /// [`EndedEarly`](ErrorCode::EndedEarly).
    pub fn finish(mut self, end: StreamEnd, emit: &mut impl FnMut(AgentEvent)) -> Completion {
        let error = match end {
            StreamEnd::Cancelled => {
                Some(AgentError::new(ErrorCode::Cancelled, "the run was cancelled"))
            }
            StreamEnd::Done if !self.writer.completion.complete => {
                let message = "the response ended early; what had arrived is kept";
                Some(AgentError::new(ErrorCode::EndedEarly, message).retryable(true))
            }
            StreamEnd::Done => None,
        };
        self.end(error, emit);
        self.writer.completion.fenced_calls = self.parser.hidden_calls();
        self.writer.completion
    }

    fn end(&mut self, error: Option<AgentError>, emit: &mut impl FnMut(AgentEvent)) {
        if std::mem::replace(&mut self.has_ended, true) {
            return;
        }
        let is_whole = error.is_none() && self.writer.completion.complete;
        let cut = self.is_cut_by_length() || !is_whole;
        let Self { parser, text_call, native, writer, .. } = self;
        parser.flush(!cut, &mut |content| take(content, text_call, writer, emit));
        if let Some(call) = text_call.take() {
            writer.keep_call(call.end(CallOutcome::Incomplete, Vec::new(), |_| None, emit));
        }
        native.end_all(cut, writer, emit);
        writer.end_section(emit);
        if let Some(text) = self.unclosed_calls.take().filter(|_| !cut) {
            recover_calls(&text, parser.fresh(), writer, emit);
        }
        if self.other_choices > 0 {
            let data = serde_json::json!({ "count": self.other_choices });
            emit(AgentEvent::Custom { name: IGNORED_CHOICES.into(), data });
        }
        if let Some(error) = error {
            writer.completion.error = Some(error.clone());
            emit(AgentEvent::Error { error, partial: writer.has_content() });
        }
    }
}

/// One piece of message text.
fn take(
    content: ParsedContent<'_>,
    open: &mut Option<OpenCall>,
    writer: &mut EventWriter,
    emit: &mut impl FnMut(AgentEvent),
) {
    match content {
        ParsedContent::Text(text) => writer.text(Section::Message { refusal: false }, text, emit),
        ParsedContent::Marker(_) => writer.end_section(emit),
        ParsedContent::CallStart => *open = Some(writer.begin_call(emit)),
        ParsedContent::CallEnd { outcome, repairs } => {
            if let Some(call) = open.take() {
                let call =
                    call.end(outcome.into(), repairs.to_vec(), |json| Json::parse(json).ok(), emit);
                writer.keep_call(call);
            }
        }
        ParsedContent::CallName(_)
        | ParsedContent::CallId(_)
        | ParsedContent::CallServer(_)
        | ParsedContent::CallBody(_)
        | ParsedContent::CallVerbatim(_)
        | ParsedContent::CallArguments(_)
        | ParsedContent::CallSource(_) => {
            if let Some(call) = open {
                take_part(content, call, emit);
            }
        }
    }
}

/// One piece of a call.
pub(super) fn take_part(
    content: ParsedContent<'_>,
    call: &mut OpenCall,
    emit: &mut impl FnMut(AgentEvent),
) {
    match content {
        ParsedContent::CallName(name) => call.name(name, emit),
        ParsedContent::CallId(id) => call.id(id.into()),
        ParsedContent::CallServer(name) => call.server(name),
        ParsedContent::CallBody(text) => call.body(text, emit),
        ParsedContent::CallVerbatim(text) => {
            call.arguments(text);
            call.source(text);
            call.body(text, emit);
        }
        ParsedContent::CallArguments(json) => call.arguments(json),
        ParsedContent::CallSource(text) => call.source(text),
        ParsedContent::Text(_)
        | ParsedContent::Marker(_)
        | ParsedContent::CallStart
        | ParsedContent::CallEnd { .. } => {}
    }
}
