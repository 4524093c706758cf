//! The event machine: chunks in, events out; no async, no clock.

use std::{ops::ControlFlow, sync::Arc};

use serde::{Deserialize, Serialize};

use super::{
    StreamEnd, StreamOptions,
    recovered::{keep, keep_code, recover_calls},
    text::take,
};
use forgeline_llm::{
    ContentType, ProviderError, StreamChunk,
    private::{AnswerAssembler, OpenCall, TextSection},
};
use forgeline_parser::{CallEvidence, ParsedContent, TokenKind, ToolCallParser};
use forgeline_types::{
    AgentError, AgentEvent, CallOutcome, Completion, CustomEvent, ErrorCode, ErrorEvent, Repair,
    private::KeptContent,
};

/// The name of the [`Custom`](AgentEvent::Custom) event whose data is an [`IgnoredChoicesNotice`].
pub const IGNORED_CHOICES: &str = "ignored_choices";

/// Sent once per response with choices after the first, to a request for several answers: they are not read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct IgnoredChoicesNotice {
    /// Their number.
    pub count: u32,
}

impl From<IgnoredChoicesNotice> for AgentEvent {
    fn from(notice: IgnoredChoicesNotice) -> Self {
        let data = serde_json::json!({ "count": notice.count });
        Self::Custom(CustomEvent::new(IGNORED_CHOICES, data))
    }
}

/// A state machine that turns the chunks of one response into events. The async drivers in this
/// module only feed it.
///
/// The events do not depend on where the chunks are cut, once adjacent deltas of one kind are joined. Every
/// start event has exactly one end event, on every path; adjacent text within one chunk is one event.
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
    evidence: CallEvidence,
    /// The call that the parser is inside of.
    text_call: Option<OpenCall>,
    assembler: AnswerAssembler,
    /// Unclosed reasoning, from the first opening marker of a call onwards; at the end, the
    /// complete calls in it are emitted.
    unclosed: Option<String>,
    /// The message from the first opening marker in a code fence onwards; at the end, if the fence
    /// is still open, the complete calls in it are emitted.
    in_code: Option<String>,
    /// The number of choices after the first; reported once, at the end of the response.
    other_choices: u32,
    /// `true` once the closing events and the error, if any, have been emitted.
    has_ended: bool,
}

impl StreamMachine {
    /// Returns a machine for one response.
    #[must_use]
    pub fn new(options: &StreamOptions) -> Self {
        Self::keeping(
            options,
            if options.keep_content { KeptContent::Content } else { KeptContent::Facts },
        )
    }

    /// Returns a machine for one response whose completion contains what `keep` says.
    #[doc(hidden)]
    pub fn keeping(options: &StreamOptions, keep: KeptContent) -> Self {
        Self {
            parser: ToolCallParser::new(&options.tools)
                .schemas(Arc::clone(&options.schemas))
                .max_call_bytes(options.max_call_bytes)
                .bare_of_known(options.bare_of_known)
                .calls_in_code(options.calls_in_code),
            evidence: CallEvidence::new(&options.tools, Arc::clone(&options.schemas)),
            text_call: None,
            assembler: AnswerAssembler::new(!options.tools.is_none(), keep)
                .max_call_bytes(options.max_call_bytes)
                .stop_repetition(options.stop_repetition && keep != KeptContent::Facts),
            unclosed: None,
            in_code: None,
            other_choices: 0,
            has_ended: false,
        }
    }

    /// Takes one chunk. Returns `Break` when a limit was exceeded, in which case everything has
    /// ended with an error event, or when the text repeats itself: further chunks are ignored.
    pub fn chunk(
        &mut self,
        chunk: StreamChunk,
        emit: &mut impl FnMut(AgentEvent),
    ) -> ControlFlow<()> {
        if self.has_ended {
            return ControlFlow::Break(());
        }
        self.assembler.facts(&chunk);
        if let Some(details) = &chunk.details {
            self.other_choices = self.other_choices.max(details.ignored_choices);
            if details.call_in_thinking {
                self.unclosed = Some(String::new());
            }
            if details.prose {
                self.parser.set_prose(true);
            }
        }
        if chunk.has_content() {
            self.content(&chunk, emit);
        }
        if chunk.ends_section || !chunk.tool_calls.is_empty() {
            self.end_text(chunk.ends_section, emit);
        }
        if self.assembler.has_repeated() {
            self.end(None, emit);
            return ControlFlow::Break(());
        }
        if let Some(call) = &mut self.text_call {
            call.flush(emit);
        }
        self.assembler.after_content(chunk, emit);
        if let Some(offset) = self.parser.over_limit_at() {
            self.over_limit(offset, emit);
            return ControlFlow::Break(());
        }
        if let Some(error) = self.assembler.over_limit() {
            self.fail_with(error, emit);
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }

    fn content(&mut self, chunk: &StreamChunk, emit: &mut impl FnMut(AgentEvent)) {
        let section = match chunk.content_type {
            ContentType::Message => return self.message(&chunk.content, chunk.tokens(), emit),
            ContentType::Thinking => {
                keep(&mut self.unclosed, &chunk.content);
                TextSection::Thinking
            }
            ContentType::Refusal => TextSection::message(true),
            _ => TextSection::message(true),
        };
        self.end_text(false, emit);
        self.assembler.before_text(emit);
        if let Some(call) = &mut self.text_call {
            call.start(emit);
        }
        self.assembler.text(section, &chunk.content, emit);
    }

    /// Takes text of the answer and extracts the calls from it.
    fn message(&mut self, text: &str, tokens: TokenKind, emit: &mut impl FnMut(AgentEvent)) {
        self.assembler.before_text(emit);
        let Self { parser, evidence, text_call, assembler, in_code, .. } = self;
        let out = &mut |content: ParsedContent<'_>| {
            if assembler.has_repeated() {
                return;
            }
            keep_code(in_code, content);
            take(content, text_call, evidence, assembler, emit);
        };
        match tokens {
            TokenKind::Unknown => parser.parse(text, out),
            TokenKind::Special | TokenKind::Ordinary => parser.parse_token(text, tokens, out),
            _ => parser.parse_token(text, tokens, out),
        }
    }

    /// Emits held text: what follows is not message text, so the held text was not a marker. A section that
    /// ended is outside of every call: the thinking stage never ends a section inside one.
    fn end_text(&mut self, ends_section: bool, emit: &mut impl FnMut(AgentEvent)) {
        let Self { parser, evidence, text_call, assembler, unclosed, in_code, .. } = self;
        if ends_section {
            *unclosed = None;
        }
        let out = &mut |content: ParsedContent<'_>| {
            keep_code(in_code, content);
            take(content, text_call, evidence, assembler, emit);
        };
        parser.end_section_where(ends_section, out);
    }

    /// Returns the answer as kept so far.
    #[doc(hidden)]
    pub fn builder(&self) -> &forgeline_types::CompletionBuilder {
        self.assembler.builder()
    }

    fn over_limit(&mut self, offset: u64, emit: &mut impl FnMut(AgentEvent)) {
        let message = format!("the call at byte {offset} of the answer is longer than its limit");
        self.end(Some(AgentError::new(ErrorCode::Decode, message)), emit);
    }

    /// Takes the error that ended the stream: ends everything open, then emits the error event.
    pub fn fail(&mut self, error: &ProviderError, emit: &mut impl FnMut(AgentEvent)) {
        self.assembler.completion().error_raw = error.raw().cloned();
        self.end(Some(error.to_agent_error()), emit);
    }

    /// Takes the error that ended the stream, as [`fail`](Self::fail) does, and keeps it as the cause.
    #[doc(hidden)]
    pub fn fail_with(&mut self, error: ProviderError, emit: &mut impl FnMut(AgentEvent)) {
        self.assembler.completion().error_raw = error.raw().cloned();
        self.end(Some(error.into()), emit);
    }

    /// Ends the stream with this error: ends everything open, then emits the error event.
    #[doc(hidden)]
    pub fn stop(&mut self, error: AgentError, emit: &mut impl FnMut(AgentEvent)) {
        self.end(Some(error), emit);
    }

    /// Takes the chunks of a whole stream and returns the answer, without its events.
    #[doc(hidden)]
    pub fn complete(mut self, chunks: impl IntoIterator<Item = StreamChunk>) -> Completion {
        for chunk in chunks {
            if self.chunk(chunk, &mut drop).is_break() {
                break;
            }
        }
        self.finish(StreamEnd::Done, &mut drop)
    }

    /// Ends the stream and returns the whole answer. A stream without the protocol's terminal
    /// marker, and without another error, has the error [`EndedEarly`](ErrorCode::EndedEarly).
    pub fn finish(mut self, end: StreamEnd, emit: &mut impl FnMut(AgentEvent)) -> Completion {
        let error = match end {
            StreamEnd::Cancelled => {
                Some(AgentError::new(ErrorCode::Cancelled, "the run was cancelled"))
            }
            StreamEnd::Done if !self.assembler.completion().complete => {
                let message = "the response ended early; what had arrived is kept";
                Some(AgentError::new(ErrorCode::EndedEarly, message).retryable(true))
            }
            StreamEnd::Done => None,
        };
        self.end(error, emit);
        self.assembler.into_completion()
    }

    /// Ends what is open. It happens once an answer, so it is compiled once for all callers.
    fn end(&mut self, error: Option<AgentError>, emit: &mut dyn FnMut(AgentEvent)) {
        let emit = &mut |event| emit(event);
        if std::mem::replace(&mut self.has_ended, true) {
            return;
        }
        let Self { parser, evidence, text_call, assembler, unclosed, in_code, .. } = self;
        let is_whole = error.is_none() && assembler.completion().complete;
        let cut = assembler.is_cut_by_length() || !is_whole || assembler.has_repeated();
        parser.flush(!cut, &mut |content| {
            keep_code(in_code, content);
            take(content, text_call, evidence, assembler, emit);
        });
        if let Some(call) = text_call.take() {
            assembler.keep_call(call.end(CallOutcome::Incomplete, Vec::new(), false, emit));
        }
        if assembler.has_repeated() {
            assembler.cut_by_repetition();
        }
        assembler.end(cut, emit);
        if let Some(text) = unclosed.take().filter(|_| !cut) {
            recover_calls(
                &text,
                Repair::RecoveredFromThinking,
                parser.fresh(),
                evidence,
                assembler,
                emit,
            );
        }
        let mut hidden = parser.hidden_calls();
        if let Some(text) = in_code.take().filter(|_| !cut && parser.ends_in_code()) {
            let parser = parser.fresh().calls_in_code(true);
            hidden -=
                recover_calls(&text, Repair::RecoveredFromCode, parser, evidence, assembler, emit)
                    .min(hidden);
        }
        assembler.completion().fenced_calls = hidden;
        if self.other_choices > 0 {
            emit(IgnoredChoicesNotice { count: self.other_choices }.into());
        }
        if let Some(error) = error {
            assembler.completion().error = Some(error.clone());
            emit(AgentEvent::Error(ErrorEvent::new(error).partial(assembler.has_content())));
        }
    }
}
