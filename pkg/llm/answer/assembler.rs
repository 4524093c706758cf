//! The assembly of sections and calls into events, each start with exactly one end.

use std::{collections::HashSet, mem};

use super::{
    call::OpenCall,
    native_call::NativeCall,
    repetition::{RepetitionCheck, repeats_itself},
};
use crate::{ProviderError, StreamChunk, ToolCallDelta};
use forgeline_json::slice;
use forgeline_parser::{DEFAULT_MAX_CALL_BYTES, private::LeadingWhitespace};
use forgeline_types::{
    AgentEvent, Completion, CompletionBuilder, FinishReason, MessageContentEvent, Text,
    ThinkingContentEvent, ToolCall, private::KeptContent,
};

/// An open section of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextSection {
    /// Reasoning.
    Thinking,
    /// The answer.
    #[non_exhaustive]
    Message {
        /// `true` for text that the provider marked as a refusal.
        refusal: bool,
    },
}

impl TextSection {
    /// Creates a section of the answer; `refusal` is `true` if the provider marked it as a refusal.
    #[inline]
    #[must_use]
    pub const fn message(refusal: bool) -> Self {
        Self::Message { refusal }
    }
}

impl TextSection {
    fn is_same_kind(self, other: Self) -> bool {
        mem::discriminant(&self) == mem::discriminant(&other)
    }
}

/// The detector of repetitive text.
#[derive(Debug)]
enum RepetitionWatch {
    Off,
    /// The answer ends where its text repeats itself. Holds the state of the reasoning and that of the answer.
    On([RepetitionCheck; 2]),
    /// The answer has ended because of a repetition: whatever follows is dropped.
    Repeated,
}

/// Assembles one response from typed text and calls.
///
/// Emits the events, joining adjacent text of one chunk, and keeps what the completion will hold.
#[derive(Debug)]
pub struct AnswerAssembler {
    section: Option<TextSection>,
    /// The section whose leading whitespace is held; bounded by [`LeadingWhitespace`].
    held_section: Option<TextSection>,
    /// `None` when leading whitespace is content like any other text.
    held: Option<LeadingWhitespace>,
    /// Text of the open section that has not been emitted yet, and the length of its prefix that is already kept.
    pending: Text,
    kept: usize,
    repetition: RepetitionWatch,
    next_index: u32,
    /// The number of sections that have begun.
    sections: u32,
    native: Vec<NativeCall>,
    /// The provider's numbers of the native calls that have ended.
    ended: HashSet<u32>,
    max_call_bytes: usize,
    /// `true` once the arguments of a native call exceed `max_call_bytes`.
    is_over_limit: bool,
    builder: CompletionBuilder,
}

impl AnswerAssembler {
    /// Returns an assembler that drops whitespace before calls if `drops_whitespace` is set.
    #[doc(hidden)]
    pub fn new(drops_whitespace: bool, keep: KeptContent) -> Self {
        Self {
            section: None,
            held_section: None,
            held: drops_whitespace.then(LeadingWhitespace::default),
            pending: Text::new(),
            kept: 0,
            repetition: RepetitionWatch::Off,
            next_index: 0,
            sections: 0,
            native: Vec::new(),
            ended: HashSet::new(),
            max_call_bytes: DEFAULT_MAX_CALL_BYTES,
            is_over_limit: false,
            builder: CompletionBuilder::keeping(keep),
        }
    }

    /// Sets the maximum length of a native call's arguments. Default: [`DEFAULT_MAX_CALL_BYTES`].
    #[doc(hidden)]
    #[must_use]
    pub fn max_call_bytes(mut self, bytes: usize) -> Self {
        self.max_call_bytes = bytes;
        self
    }

    /// Sets whether repetitive text ends the answer. Default: no.
    #[doc(hidden)]
    #[must_use]
    pub fn stop_repetition(mut self, stops: bool) -> Self {
        self.repetition =
            if stops { RepetitionWatch::On(Default::default()) } else { RepetitionWatch::Off };
        self
    }

    /// Returns `true` if the text repeats itself: the answer is cut there.
    #[doc(hidden)]
    pub fn has_repeated(&self) -> bool {
        matches!(self.repetition, RepetitionWatch::Repeated)
    }

    /// Records that the answer was cut because its text repeats itself, whatever finish reason its chunk has.
    #[doc(hidden)]
    pub fn cut_by_repetition(&mut self) {
        let Completion { finish_reason, finish_reason_raw, complete, .. } = self.completion();
        *finish_reason = Some(FinishReason::Repetition);
        (*finish_reason_raw, *complete) = (None, false);
    }

    /// Returns the error of a native call whose arguments are too long, if there is one: the answer
    /// cannot continue.
    #[doc(hidden)]
    pub fn over_limit(&self) -> Option<ProviderError> {
        self.is_over_limit.then(|| {
            let limit = self.max_call_bytes;
            let reason = format!("the arguments of a call are longer than {limit} bytes");
            ProviderError::Decode { offset: limit as u64, reason: Text::from(reason) }
        })
    }

    /// Returns the completion assembled so far.
    #[doc(hidden)]
    pub fn completion(&mut self) -> &mut Completion {
        &mut self.builder.completion
    }

    /// Returns the completed answer, after [`end`](Self::end).
    #[doc(hidden)]
    pub fn into_completion(mut self) -> Completion {
        if self.has_repeated() && self.builder.keep == KeptContent::Verbatim {
            self.builder.forget_verbatim();
        }
        self.builder.finish()
    }

    /// Returns the builder with the part of the answer that is kept.
    #[doc(hidden)]
    pub fn builder(&self) -> &CompletionBuilder {
        &self.builder
    }

    /// Returns `true` once any content has been emitted.
    #[doc(hidden)]
    pub fn has_content(&self) -> bool {
        self.sections > 0 || self.next_index > 0
    }

    /// Returns `true` if the answer was truncated by its token limit.
    #[doc(hidden)]
    pub fn is_cut_by_length(&self) -> bool {
        self.builder.completion.finish_reason.as_ref().is_some_and(FinishReason::is_limit)
    }

    /// Records the facts in `chunk` about the response and, if text is kept verbatim, its text.
    #[doc(hidden)]
    pub fn facts(&mut self, chunk: &StreamChunk) {
        chunk.note_facts(&mut self.builder.completion);
        if self.builder.keep == KeptContent::Verbatim {
            self.builder.verbatim(&chunk.content, chunk.is_thinking());
            if let Some(framing) = chunk.details.as_ref().and_then(|it| it.framing.as_ref()) {
                self.builder.framing(framing);
            }
        }
    }

    /// Processes what follows the content of `chunk`: the end of its section, its native calls,
    /// and its end. Emits the pending text.
    #[doc(hidden)]
    pub fn after_content(&mut self, chunk: StreamChunk, emit: &mut impl FnMut(AgentEvent)) {
        if chunk.ends_section {
            self.end_section(emit);
        }
        for delta in &chunk.tool_calls {
            self.call_delta(delta, emit);
        }
        if chunk.finished {
            self.end_native_calls(self.is_cut_by_length(), emit);
        }
        self.flush(emit);
        let Some(details) = chunk.details else { return };
        if let Some(signature) = details.signature {
            self.builder.signature(signature);
        }
        for event in details.events {
            if let AgentEvent::ProviderItem(_) = event {
                self.builder.push(&event);
            }
            emit(event);
        }
    }

    /// Processes text of a section; opens and closes sections as needed.
    #[doc(hidden)]
    pub fn text(&mut self, section: TextSection, text: &str, emit: &mut impl FnMut(AgentEvent)) {
        if text.is_empty() || self.has_repeated() {
            return;
        }
        if self.section != Some(section) {
            self.switch(section, emit);
        }
        if self.section.is_none() {
            let mut first = Text::new();
            if let Some(held) = &mut self.held {
                self.held_section = Some(section);
                if !held.take(text, &mut |text| first.push_str(text)) {
                    return;
                }
            } else {
                first.push_str(text);
            }
            self.section = Some(section);
            self.sections += 1;
            emit(match section {
                TextSection::Thinking => AgentEvent::ThinkingStart,
                TextSection::Message { .. } => AgentEvent::MessageStart,
            });
            self.add(&first);
        } else {
            self.add(text);
        }
    }

    /// Adds text to the pending text of the open section, up to the point where it repeats itself.
    fn add(&mut self, mut text: &str) {
        while let RepetitionWatch::On([thinking, message]) = &mut self.repetition {
            let is_thinking = self.section == Some(TextSection::Thinking);
            let Some(look) = (if is_thinking { thinking } else { message }).take(text) else {
                break;
            };
            let (front, rest) = text.split_at_checked(look).unwrap_or((text, ""));
            self.pending.push_str(front);
            self.keep_pending();
            text = rest;
            let Completion { thinking, text: message, .. } = &self.builder.completion;
            if repeats_itself(if is_thinking { thinking } else { message }) {
                self.repetition = RepetitionWatch::Repeated;
                return;
            }
        }
        self.pending.push_str(text);
    }

    /// Keeps the pending text.
    fn keep_pending(&mut self) {
        let more = slice(&self.pending, self.kept..);
        match self.section {
            Some(TextSection::Thinking) => self.builder.thinking(more),
            Some(TextSection::Message { refusal }) => self.builder.message(more, refusal),
            None => {}
        }
        self.kept = self.pending.len();
    }

    /// Closes the open section before text of another one, unless only its refusal mark changes.
    fn switch(&mut self, section: TextSection, emit: &mut impl FnMut(AgentEvent)) {
        match self.section {
            Some(open) if open.is_same_kind(section) => {
                self.flush(emit);
                self.section = Some(section);
            }
            Some(_) => self.end_section(emit),
            None if self.held_section != Some(section) => self.drop_held(),
            None => {}
        }
    }

    /// Emits the pending text.
    fn flush(&mut self, emit: &mut impl FnMut(AgentEvent)) {
        if self.pending.is_empty() {
            return;
        }
        self.keep_pending();
        self.kept = 0;
        let content = mem::take(&mut self.pending);
        emit(match self.section {
            Some(TextSection::Thinking) => {
                AgentEvent::ThinkingContent(ThinkingContentEvent::new(content))
            }
            Some(TextSection::Message { refusal }) => {
                AgentEvent::MessageContent(MessageContentEvent::new(content).refusal(refusal))
            }
            None => return,
        });
    }

    /// Ends the open section; held whitespace that opened no section is dropped.
    #[doc(hidden)]
    pub fn end_section(&mut self, emit: &mut impl FnMut(AgentEvent)) {
        self.flush(emit);
        self.drop_held();
        match self.section.take() {
            Some(TextSection::Thinking) => emit(AgentEvent::ThinkingEnd),
            Some(TextSection::Message { .. }) => emit(AgentEvent::MessageEnd),
            None => {}
        }
    }

    fn drop_held(&mut self) {
        if let Some(held) = &mut self.held {
            held.drop_held();
        }
    }

    /// Begins a call that the model wrote as text.
    #[doc(hidden)]
    pub fn begin_text_call(&mut self, emit: &mut impl FnMut(AgentEvent)) -> OpenCall {
        let call = self.begin_call(emit);
        if self.builder.keep == KeptContent::Parts {
            self.builder.place_call(self.next_index - 1);
        }
        call
    }

    /// Closes the open section and begins a call with the next number.
    fn begin_call(&mut self, emit: &mut impl FnMut(AgentEvent)) -> OpenCall {
        self.end_section(emit);
        let call = OpenCall::new(self.next_index, self.builder.keep != KeptContent::Facts);
        self.next_index += 1;
        call
    }

    /// Returns a draft call, which takes the next number only if it is kept.
    #[doc(hidden)]
    pub fn draft_call(&self) -> OpenCall {
        OpenCall::new(self.next_index, true)
    }

    /// Keeps a call that was a draft.
    #[doc(hidden)]
    pub fn keep_draft(&mut self, call: ToolCall) {
        self.next_index += 1;
        self.builder.place_call(call.index);
        self.keep_call(call);
    }

    /// Keeps a call that ended.
    #[doc(hidden)]
    pub fn keep_call(&mut self, call: ToolCall) {
        self.builder.keep_call(call);
    }

    /// Processes one delta. Each number is that of one call: deltas of a call that has ended are dropped.
    fn call_delta(&mut self, delta: &ToolCallDelta, emit: &mut impl FnMut(AgentEvent)) {
        let known = self.native.iter().position(|call| call.key == delta.index);
        if known.is_none() && self.ended.contains(&delta.index) {
            return;
        }
        let at = known.unwrap_or_else(|| {
            self.end_calls(|call| call.has_ended || call.is_whole(), emit);
            let events = self.begin_call(emit);
            self.builder.place_call(self.next_index - 1);
            self.native.push(NativeCall::new(delta.index, events));
            self.native.len() - 1
        });
        let Some(call) = self.native.get_mut(at).filter(|call| !call.has_ended) else { return };
        self.is_over_limit |= !call.delta(delta, self.max_call_bytes, emit);
        if let Some(proof) = &delta.signature {
            self.builder.sign_call(call.index(), proof);
        }
        call.has_ended = delta.ended;
        if call.has_ended && call.is_whole() && !call.is_absent() {
            let call = self.native.remove(at);
            self.end_call(call, false, emit);
        }
    }

    /// Ends the calls that the provider has ended and emits the starts still waiting for a name, because text follows.
    #[doc(hidden)]
    pub fn before_text(&mut self, emit: &mut impl FnMut(AgentEvent)) {
        if self.native.is_empty() {
            return;
        }
        self.end_calls(|call| call.has_ended, emit);
        for call in &mut self.native {
            call.start(emit);
        }
    }

    /// Ends the calls for which `over` is true, since the response continues after them.
    fn end_calls(&mut self, over: impl Fn(&NativeCall) -> bool, emit: &mut impl FnMut(AgentEvent)) {
        for call in self.native.extract_if(.., |call| over(call)).collect::<Vec<_>>() {
            self.end_call(call, false, emit);
        }
    }

    /// Ends all native calls; `cut` if the response was cut off.
    fn end_native_calls(&mut self, cut: bool, emit: &mut impl FnMut(AgentEvent)) {
        for call in mem::take(&mut self.native) {
            self.end_call(call, cut, emit);
        }
    }

    fn end_call(&mut self, call: NativeCall, cut: bool, emit: &mut impl FnMut(AgentEvent)) {
        self.ended.insert(call.key);
        // Nothing shows that arguments which never arrived are meant to be empty.
        let reason = self.builder.completion.finish_reason.as_ref();
        let cut = cut || call.is_absent() && reason.is_some_and(FinishReason::truncates);
        self.keep_call(call.end(cut, emit));
    }

    /// Ends everything that is open; `cut` if the response was cut off.
    #[doc(hidden)]
    pub fn end(&mut self, cut: bool, emit: &mut impl FnMut(AgentEvent)) {
        self.end_native_calls(cut, emit);
        self.end_section(emit);
    }
}
