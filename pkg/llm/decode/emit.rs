//! Chunks that every protocol emits.

use serde_json::value::RawValue;

use crate::{
    llm::{ChunkDetails, StreamChunk},
    types::{AgentEvent, FinishReason, ItemKind, Json, ProviderItem, Text, UsageInfo},
};

/// The receiver of a decoder's chunks.
pub(in crate::llm) type Emit<'e> = &'e mut dyn FnMut(StreamChunk);

/// Emits a chunk that holds only details, if there are any.
pub(in crate::llm) fn emit_details(details: Option<Box<ChunkDetails>>, emit: Emit<'_>) {
    if details.is_some() {
        emit(StreamChunk { details, ..StreamChunk::default() });
    }
}

/// Emits one event.
pub(in crate::llm) fn emit_event(event: AgentEvent, emit: Emit<'_>) {
    emit(StreamChunk::events(vec![event]));
}

/// Emits a chunk of events, if there are any.
pub(in crate::llm) fn emit_events(events: impl IntoIterator<Item = AgentEvent>, emit: Emit<'_>) {
    let events: Vec<_> = events.into_iter().collect();
    if !events.is_empty() {
        emit(StreamChunk::events(events));
    }
}

/// Returns the event of an item that stays the provider's own; `None` when `raw` is not JSON.
pub(in crate::llm) fn item(protocol: &str, kind: ItemKind, raw: &str) -> Option<AgentEvent> {
    let raw = Json::parse(raw).ok()?;
    Some(AgentEvent::ProviderItem(ProviderItem::new(protocol, kind, raw)))
}

impl StreamChunk {
    /// Sets the usage and the vendor's object that it was read from.
    pub(in crate::llm) fn set_usage(&mut self, usage: UsageInfo, raw: &RawValue) {
        self.usage = Some(usage);
        self.details.get_or_insert_default().usage_raw = Json::parse(raw.get()).ok();
    }

    /// Sets the reason for the end, and the vendor's word for it; an empty word sets nothing.
    pub(in crate::llm) fn set_finish_reason(&mut self, reason: FinishReason, word: &str) {
        if !word.is_empty() {
            self.finish_reason = Some(reason);
            self.details.get_or_insert_default().finish_reason_raw = Some(Text::from(word));
        }
    }
}
