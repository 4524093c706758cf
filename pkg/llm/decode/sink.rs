//! The receiver of what a reader of events finds: chunks go out, facts of the response are noted.

use serde_json::value::RawValue;

use super::{
    Entries, Progress, UsagePaths,
    vendor_error::{in_stream, is_error},
};
use crate::{
    llm::{ChunkDetails, ProviderError, StreamChunk, ToolCallDelta},
    types::{AgentEvent, ErrorCode, FinishReason, ItemKind, Json, MessageRole, ProviderItem, Text},
};

/// Most events of unknown types that are reported; further ones are dropped.
const MAX_UNKNOWN_EVENTS: u32 = 1024;

/// Most members of unknown names whose last values are kept, and the longest of these values, in bytes.
const MAX_UNKNOWN_MEMBERS: usize = 64;
const MAX_MEMBER_BYTES: usize = 1024;

/// The receiver of a decoder's chunks.
pub(in crate::llm) type Emit<'e> = &'e mut dyn FnMut(StreamChunk);

/// The facts of a response so far.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "facts that have nothing in common")]
pub(super) struct StreamState {
    pub(super) progress: Progress,
    pub(super) error: Option<ProviderError>,
    pub(super) has_role: bool,
    pub(super) model: Text,
    pub(super) response_id: Text,
    pub(super) highest_choice: u32,
    /// The event leaves nothing behind but what it gave.
    pub(super) may_repeat: bool,
    pub(super) unknown_events: u32,
    /// The members that no decoder knows, with the values that they had last.
    pub(super) unknown_members: Vec<(&'static str, Text, Box<RawValue>)>,
}

impl StreamState {
    /// Notes an error that the server reported.
    pub(super) fn fail(&mut self, error: ProviderError) {
        if self.error.as_ref().is_none_or(|known| known.raw().is_none() && error.raw().is_some()) {
            self.error = Some(error);
        }
    }
}

/// The receiver of one response's chunks and facts.
pub(in crate::llm) struct Sink<'s> {
    pub(super) state: &'s mut StreamState,
    pub(super) emit: Emit<'s>,
    /// The name of the protocol in items.
    pub(super) protocol: &'static str,
}

impl Sink<'_> {
    /// Emits a chunk.
    pub(in crate::llm) fn emit(&mut self, chunk: StreamChunk) {
        (self.emit)(chunk);
    }

    /// Notes that the event leaves nothing behind but its text: one that follows it, and differs in its
    /// text alone, need not be parsed.
    pub(in crate::llm) fn may_repeat(&mut self) {
        self.state.may_repeat = true;
    }

    /// Takes back what [`may_repeat`](Self::may_repeat) said of the event.
    pub(in crate::llm) fn must_not_repeat(&mut self) {
        self.state.may_repeat = false;
    }

    /// Emits a chunk unless it is empty.
    pub(in crate::llm) fn emit_some(&mut self, chunk: StreamChunk) {
        if !chunk.is_empty() {
            self.emit(chunk);
        }
    }

    /// Emits a piece of the answer unless it is empty.
    pub(in crate::llm) fn text(&mut self, text: Text) {
        if !text.is_empty() {
            self.emit(StreamChunk::message(text));
        }
    }

    /// Emits a piece of reasoning unless it is empty.
    pub(in crate::llm) fn thinking(&mut self, text: Text) {
        if !text.is_empty() {
            self.emit(StreamChunk::thinking(text));
        }
    }

    /// Emits a piece of a call.
    pub(in crate::llm) fn call(&mut self, delta: ToolCallDelta) {
        self.emit(StreamChunk::calls([delta]));
    }

    /// Emits the signature of the reasoning or call before it, unless it is empty.
    pub(in crate::llm) fn signature(&mut self, proof: Text) {
        if !proof.is_empty() {
            self.emit(StreamChunk::signature(self.protocol, proof));
        }
    }

    /// Emits events in one chunk, if there are any.
    pub(in crate::llm) fn events(&mut self, events: impl IntoIterator<Item = AgentEvent>) {
        let events: Vec<_> = events.into_iter().collect();
        if !events.is_empty() {
            self.emit(StreamChunk::events(events));
        }
    }

    /// Emits an item that stays the provider's own, unless `raw` is not JSON.
    pub(in crate::llm) fn item(&mut self, kind: ItemKind, raw: &str) {
        self.events(item(self.protocol, kind, raw));
    }

    /// Emits the role when it is named for the first time.
    pub(in crate::llm) fn emit_role(&mut self, name: &str) {
        if let role @ Some(_) = self.role(name) {
            self.emit(StreamChunk { role, ..StreamChunk::default() });
        }
    }

    /// Returns the role when it is named for the first time.
    pub(in crate::llm) fn role(&mut self, name: &str) -> Option<MessageRole> {
        let is_new = !self.state.has_role && matches!(name, "assistant" | "model");
        self.state.has_role |= is_new;
        is_new.then_some(MessageRole::Assistant)
    }

    /// Returns the id of the response that was noted last; empty without one.
    pub(in crate::llm) fn response_id(&self) -> &str {
        &self.state.response_id
    }

    pub(in crate::llm) fn progress(&self) -> Progress {
        self.state.progress
    }

    /// Notes how far the response is; [`Progress::Failed`] when the answer has ended in an error and
    /// nothing that follows counts.
    pub(in crate::llm) fn set_progress(&mut self, progress: Progress) {
        self.state.progress = progress;
    }

    /// Notes an error that the server reported. The first one counts, unless it has no error value
    /// of the vendor and the later one has.
    pub(in crate::llm) fn fail(&mut self, error: ProviderError) {
        self.state.fail(error);
    }

    /// Notes the vendor's error value.
    pub(in crate::llm) fn fail_with(&mut self, raw: &str) {
        self.fail(in_stream(Some(raw), raw));
    }

    /// Notes an error that says at least as much as an earlier one.
    pub(in crate::llm) fn fail_again(&mut self, error: ProviderError) {
        self.state.error = Some(error);
    }

    pub(in crate::llm) fn has_failed(&self) -> bool {
        self.state.error.is_some()
    }

    /// Adds model and id to `details`, unless earlier events named some: servers exist that invent
    /// a new id for every event.
    pub(in crate::llm) fn identify(
        &mut self,
        model: &str,
        response_id: &str,
        details: &mut Option<Box<ChunkDetails>>,
    ) {
        let model = if self.state.model.is_empty() { model } else { "" };
        let response_id = if self.state.response_id.is_empty() { response_id } else { "" };
        self.identify_again(model, response_id, details);
    }

    /// Adds model and id to `details` where they are others than before.
    pub(in crate::llm) fn identify_again(
        &mut self,
        model: &str,
        response_id: &str,
        details: &mut Option<Box<ChunkDetails>>,
    ) {
        let state = &mut *self.state;
        if !model.is_empty() && state.model != *model {
            state.model = Text::from(model);
            details.get_or_insert_default().model = Some(state.model.clone());
        }
        if !response_id.is_empty() && state.response_id != *response_id {
            state.response_id = Text::from(response_id);
            details.get_or_insert_default().response_id = Some(state.response_id.clone());
        }
    }

    /// Adds to `details` that there are further answers, up to the one numbered `index`.
    pub(in crate::llm) fn ignore_choice(
        &mut self,
        index: u32,
        details: &mut Option<Box<ChunkDetails>>,
    ) {
        if index > self.state.highest_choice {
            self.state.highest_choice = index;
            details.get_or_insert_default().ignored_choices = index;
        }
    }

    /// Reports the members of an `object` that the decoder does not know, unless they said the same
    /// before.
    pub(in crate::llm) fn unknown_members(&mut self, object: &'static str, rest: &Entries<'_>) {
        rest.said().for_each(|(name, raw)| self.unknown_member(object, name, raw));
    }

    /// Reports the members of an `object` besides the `known` ones, unless they said the same before.
    pub(in crate::llm) fn unknown_besides(
        &mut self,
        object: &'static str,
        known: &[&str],
        members: &Entries<'_>,
    ) {
        let rest = members.said().filter(|(name, _)| !known.contains(name));
        rest.for_each(|(name, raw)| self.unknown_member(object, name, raw));
    }

    /// Reports a member of an `object` that the decoder does not know, unless it said the same before.
    pub(in crate::llm) fn unknown_member(
        &mut self,
        object: &'static str,
        name: &str,
        raw: &RawValue,
    ) {
        let members = &mut self.state.unknown_members;
        let is_kept = raw.get().len() < MAX_MEMBER_BYTES;
        let has_room = is_kept && members.len() < MAX_UNKNOWN_MEMBERS;
        let is_same = |(of, known, _): &&mut (&str, Text, _)| *of == object && known == name;
        match members.iter_mut().find(is_same) {
            Some((_, _, known)) if known.get() == raw.get() => return,
            Some((_, _, known)) if is_kept => *known = raw.to_owned(),
            None if has_room => {
                members.push((object, Text::from(name), raw.to_owned()));
            }
            Some(_) | None => {}
        }
        self.unknown_event(&[object, ".", name].concat(), raw.get());
    }

    /// Fails because another answer begins inside this one, which was cut then; nothing of it counts.
    pub(in crate::llm) fn splice(&mut self) {
        self.fail(ProviderError::InStream {
            kind: ErrorCode::EndedEarly,
            code: None,
            message: Text::from("the answer was cut: another one begins before its end"),
            raw: None,
        });
        self.set_progress(Progress::Failed);
    }

    /// Notes the error that data without a part of an answer are in some vendor's words.
    pub(in crate::llm) fn stray(&mut self, data: &str) {
        if is_error(data) {
            self.fail_with(data);
        }
    }

    /// Reports an event of an unknown type as it came; it is not a part of the answer.
    pub(in crate::llm) fn unknown_event(&mut self, kind: &str, data: &str) {
        if self.state.unknown_events < MAX_UNKNOWN_EVENTS
            && let Ok(raw) = Json::parse(data)
        {
            self.state.unknown_events += 1;
            let item = ProviderItem::unknown_event(self.protocol, kind, raw);
            self.events([AgentEvent::ProviderItem(item)]);
        }
    }
}

/// Returns the event of an item that stays the provider's own; `None` when `raw` is not JSON.
pub(in crate::llm) fn item(protocol: &str, kind: ItemKind, raw: &str) -> Option<AgentEvent> {
    let raw = Json::parse(raw).ok()?;
    Some(AgentEvent::ProviderItem(ProviderItem::new(protocol, kind, raw)))
}

impl StreamChunk {
    /// Sets the usage and the vendor's object that it is read from, if there is one.
    pub(in crate::llm) fn set_usage(&mut self, paths: &UsagePaths, raw: Option<&RawValue>) {
        if let Some(raw) = raw {
            self.usage = Some(paths.read(raw.get()));
            self.details.get_or_insert_default().usage_raw = Json::parse(raw.get()).ok();
        }
    }

    /// Sets the reason for the end, and the vendor's word for it; an empty word sets nothing.
    pub(in crate::llm) fn set_finish_reason(&mut self, reason: FinishReason, word: &str) {
        if !word.is_empty() {
            self.finish_reason = Some(reason);
            self.details.get_or_insert_default().finish_reason_raw = Some(Text::from(word));
        }
    }
}
