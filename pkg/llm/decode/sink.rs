//! The receiver of an event reader's output: emits chunks and records facts about the response.

use serde_json::value::RawValue;

use super::{
    JsonEntries, Progress, UsagePaths,
    vendor_error::{in_stream, is_error},
};
use crate::{ChunkDetails, ProviderError, StreamChunk, ToolCallDelta};
use forgeline_types::{
    AgentEvent, ErrorCode, FinishReason, ItemKind, Json, MessageRole, ProviderItem, Text,
};

/// Maximum number of events of unknown types that are reported; further ones are dropped.
const MAX_UNKNOWN_EVENTS: u32 = 1024;

/// Maximum number of members with unknown names whose last values are kept.
const MAX_UNKNOWN_MEMBERS: usize = 64;
/// Maximum size of such a value, in bytes.
const MAX_MEMBER_BYTES: usize = 1024;

/// The receiver of a decoder's chunks.
pub(crate) type EmitChunk<'e> = &'e mut dyn FnMut(StreamChunk);

/// The facts about a response so far.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "facts that have nothing in common")]
pub(super) struct StreamState {
    pub(super) progress: Progress,
    pub(super) error: Option<ProviderError>,
    pub(super) has_role: bool,
    pub(super) model: Text,
    pub(super) response_id: Text,
    pub(super) highest_choice: u32,
    /// `true` if the event changed no state other than by its output.
    pub(super) may_repeat: bool,
    pub(super) unknown_events: u32,
    /// Members that no decoder knows, with their last values.
    pub(super) unknown_members: Vec<(&'static str, Text, Box<RawValue>)>,
}

impl StreamState {
    /// Records an error reported by the server.
    pub(super) fn fail(&mut self, error: ProviderError) {
        if self.error.as_ref().is_none_or(|known| known.raw().is_none() && error.raw().is_some()) {
            self.error = Some(error);
        }
    }
}

/// The receiver of one response's chunks and facts.
pub(crate) struct OutSink<'s> {
    pub(super) state: &'s mut StreamState,
    pub(super) emit: EmitChunk<'s>,
    /// The name of the protocol in items.
    pub(super) protocol: &'static str,
}

impl OutSink<'_> {
    /// Emits a chunk.
    pub(crate) fn emit(&mut self, chunk: StreamChunk) {
        (self.emit)(chunk);
    }

    /// Records that the event changes no state other than by its text: a following event that differs
    /// only in its text need not be parsed.
    pub(crate) fn may_repeat(&mut self) {
        self.state.may_repeat = true;
    }

    /// Revokes [`may_repeat`](Self::may_repeat) for the event.
    pub(crate) fn must_not_repeat(&mut self) {
        self.state.may_repeat = false;
    }

    /// Emits a chunk unless it is empty.
    pub(crate) fn emit_some(&mut self, chunk: StreamChunk) {
        if !chunk.is_empty() {
            self.emit(chunk);
        }
    }

    /// Emits a piece of the answer unless it is empty.
    pub(crate) fn text(&mut self, text: Text) {
        if !text.is_empty() {
            self.emit(StreamChunk::message(text));
        }
    }

    /// Emits a piece of reasoning unless it is empty.
    pub(crate) fn thinking(&mut self, text: Text) {
        if !text.is_empty() {
            self.emit(StreamChunk::thinking(text));
        }
    }

    /// Emits a piece of a call.
    pub(crate) fn call(&mut self, delta: ToolCallDelta) {
        self.emit(StreamChunk::calls([delta]));
    }

    /// Emits the signature of the preceding reasoning or call, unless it is empty.
    pub(crate) fn signature(&mut self, proof: Text) {
        if !proof.is_empty() {
            self.emit(StreamChunk::signature(self.protocol, proof));
        }
    }

    /// Emits events in one chunk, if there are any.
    pub(crate) fn events(&mut self, events: impl IntoIterator<Item = AgentEvent>) {
        let events: Vec<_> = events.into_iter().collect();
        if !events.is_empty() {
            self.emit(StreamChunk::events(events));
        }
    }

    /// Emits a provider item, unless `raw` is not JSON.
    pub(crate) fn item(&mut self, kind: ItemKind, raw: &str) {
        self.events(item(self.protocol, kind, raw));
    }

    /// Emits the role the first time it is named.
    pub(crate) fn emit_role(&mut self, name: &str) {
        if let role @ Some(_) = self.role(name) {
            self.emit(StreamChunk { role, ..StreamChunk::default() });
        }
    }

    /// Returns the role the first time it is named.
    pub(crate) fn role(&mut self, name: &str) -> Option<MessageRole> {
        let is_new = !self.state.has_role && matches!(name, "assistant" | "model");
        self.state.has_role |= is_new;
        is_new.then_some(MessageRole::Assistant)
    }

    /// Returns the last known id of the response; empty if there is none.
    pub(crate) fn response_id(&self) -> &str {
        &self.state.response_id
    }

    pub(crate) fn progress(&self) -> Progress {
        self.state.progress
    }

    /// Sets the progress of the response; [`Progress::Failed`] if the answer has ended in an error and
    /// nothing that follows matters.
    pub(crate) fn set_progress(&mut self, progress: Progress) {
        self.state.progress = progress;
    }

    /// Records an error reported by the server. The first one counts, unless it lacks the vendor's error
    /// value and the later one has it.
    pub(crate) fn fail(&mut self, error: ProviderError) {
        self.state.fail(error);
    }

    /// Records the vendor's error value.
    pub(crate) fn fail_with(&mut self, raw: &str) {
        self.fail(in_stream(Some(raw), raw));
    }

    /// Records an error that replaces an earlier one.
    pub(crate) fn fail_again(&mut self, error: ProviderError) {
        self.state.error = Some(error);
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.state.error.is_some()
    }

    /// Adds the model and id to `details`, unless earlier events had them: some servers make up
    /// a new id for every event.
    pub(crate) fn identify(
        &mut self,
        model: &str,
        response_id: &str,
        details: &mut Option<Box<ChunkDetails>>,
    ) {
        let model = if self.state.model.is_empty() { model } else { "" };
        let response_id = if self.state.response_id.is_empty() { response_id } else { "" };
        self.identify_again(model, response_id, details);
    }

    /// Adds the model and id to `details` if they differ from the previous ones.
    pub(crate) fn identify_again(
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

    /// Adds to `details` that there are further answers, up to index `index`.
    pub(crate) fn ignore_choice(&mut self, index: u32, details: &mut Option<Box<ChunkDetails>>) {
        if index > self.state.highest_choice {
            self.state.highest_choice = index;
            details.get_or_insert_default().ignored_choices = index;
        }
    }

    /// Reports the members of an `object` that the decoder does not know, unless they are
    /// unchanged.
    pub(crate) fn unknown_members(&mut self, object: &'static str, rest: &JsonEntries<'_>) {
        rest.present_members().for_each(|(name, raw)| self.unknown_member(object, name, raw));
    }

    /// Reports the members of an `object` other than the `known` ones, unless they are unchanged.
    pub(crate) fn unknown_besides(
        &mut self,
        object: &'static str,
        known: &[&str],
        members: &JsonEntries<'_>,
    ) {
        let rest = members.present_members().filter(|(name, _)| !known.contains(name));
        rest.for_each(|(name, raw)| self.unknown_member(object, name, raw));
    }

    /// Reports a member of an `object` that the decoder does not know, unless it is unchanged.
    pub(crate) fn unknown_member(&mut self, object: &'static str, name: &str, raw: &RawValue) {
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

    /// Fails because another answer begins inside this one, which must have been cut off; the other is ignored.
    pub(crate) fn splice(&mut self) {
        self.fail(ProviderError::InStream {
            kind: ErrorCode::EndedEarly,
            code: None,
            message: Text::from("the answer was cut: another one begins before its end"),
            raw: None,
        });
        self.set_progress(Progress::Failed);
    }

    /// Records an error if `data`, which is not part of an answer, is one in some vendor's form.
    pub(crate) fn stray(&mut self, data: &str) {
        if is_error(data) {
            self.fail_with(data);
        }
    }

    /// Reports an event of an unknown type as received; it is not part of the answer.
    pub(crate) fn unknown_event(&mut self, kind: &str, data: &str) {
        if self.state.unknown_events < MAX_UNKNOWN_EVENTS
            && let Ok(raw) = Json::parse(data)
        {
            self.state.unknown_events += 1;
            let item = ProviderItem::unknown_event(self.protocol, kind, raw);
            self.events([AgentEvent::ProviderItem(item)]);
        }
    }
}

/// Returns the event of a provider item; `None` if `raw` is not JSON.
pub(crate) fn item(protocol: &str, kind: ItemKind, raw: &str) -> Option<AgentEvent> {
    let raw = Json::parse(raw).ok()?;
    Some(AgentEvent::ProviderItem(ProviderItem::new(protocol, kind, raw)))
}

impl StreamChunk {
    /// Sets the usage and the vendor's usage object, if there is one.
    pub(crate) fn set_usage(&mut self, paths: &UsagePaths, raw: Option<&RawValue>) {
        if let Some(raw) = raw {
            self.usage = Some(paths.read_usage(raw.get()));
            self.details.get_or_insert_default().usage_raw = Json::parse(raw.get()).ok();
        }
    }

    /// Sets the finish reason and the vendor's value for it; an empty `word` sets nothing.
    pub(crate) fn set_finish_reason(&mut self, reason: FinishReason, word: &str) {
        if !word.is_empty() {
            self.finish_reason = Some(reason);
            self.details.get_or_insert_default().finish_reason_raw = Some(Text::from(word));
        }
    }
}
