//! The output so far, of which nothing is reported twice.

use serde_json::value::RawValue;

use super::{
    extras,
    items::{self, Input, ItemProgress, Items, Kind},
    place::Place,
    wire::{Event, Item, Part},
};
use crate::{
    llm::{
        ContentType, StreamChunk, ToolCallDelta,
        decode::{
            Emit, StreamState, emit_events,
            lax_json::{arguments, is_text, list, text, value},
        },
        tool_names,
    },
    types::Text,
};

/// Most items of one response.
const MAX_ITEMS: usize = 4096;

/// Most bytes of the beginnings of items that have not ended.
const MAX_KEPT_BYTES: usize = 16 << 20;

/// The output so far.
#[derive(Debug, Default)]
pub(super) struct Output {
    items: Items,
    /// Bytes of the beginnings of items that are kept.
    kept_bytes: usize,
    /// The part of reasoning that was reported last, unless something else was reported since.
    thinking: Option<(usize, Place, Option<u32>)>,
}

impl Output {
    /// Returns `true` for more items than any server sends, or larger ones.
    pub(super) fn is_over_limit(&self) -> bool {
        self.items.len() > MAX_ITEMS || self.kept_bytes > MAX_KEPT_BYTES
    }

    /// Continues a text.
    pub(super) fn delta(&mut self, place: Place, event: &mut Event<'_>, emit: Emit<'_>) {
        let (at, index) = self.part(place, event);
        self.say(at, place, index, std::mem::take(&mut event.delta.0), emit);
    }

    /// Ends a text.
    pub(super) fn text_done(&mut self, place: Place, event: &Event<'_>, emit: Emit<'_>) {
        let (at, index) = self.part(place, event);
        self.say_new(at, place, index, event.whole, emit);
    }

    /// Ends a part.
    pub(super) fn part_done(&mut self, event: &Event<'_>, emit: Emit<'_>) {
        let part: Part<'_> = event.part.map(value).unwrap_or_default();
        if let Some(place) = Place::of(&part.kind.0) {
            let (at, index) = self.part(place, event);
            self.say_new(at, place, index, part.text.or(part.refusal), emit);
        }
    }

    /// Continues a call's arguments.
    pub(super) fn arguments(&mut self, kind: &Kind, event: &mut Event<'_>, emit: Emit<'_>) {
        let at = self.call_of(kind, event);
        self.say_arguments(at, std::mem::take(&mut event.delta.0), emit);
    }

    /// Ends a call's arguments.
    pub(super) fn arguments_done(&mut self, kind: &Kind, event: &Event<'_>, emit: Emit<'_>) {
        let at = self.call_of(kind, event);
        self.say_new_arguments(at, event.whole, emit);
        let Some(item) = self.items.get_mut(at) else { return };
        if let Kind::Call(call) = &mut item.kind {
            let delta = ToolCallDelta::new(call.index).arguments(call.input.end());
            if !delta.arguments.is_empty() {
                self.say_call(delta, emit);
            }
        }
    }

    /// Reports a source of a text.
    pub(super) fn annotation(&mut self, event: &Event<'_>, emit: Emit<'_>) {
        let (at, _) = self.part(Place::Text, event);
        if let (Some(item), Some(raw)) = (self.items.get_mut(at), event.annotation) {
            item.is_cited = true;
            emit_events(extras::citation(raw), emit);
        }
    }

    /// Begins an item.
    pub(super) fn item_added(
        &mut self,
        event: &Event<'_>,
        state: &mut StreamState,
        emit: Emit<'_>,
    ) {
        let Some(raw) = event.item else { return };
        let wire: Item<'_> = value(raw);
        let kind = items::kind(&wire.kind.0);
        let at = self.items.added(event.output_index.0, id(event, &wire), &kind);
        Self::role(&wire, state, emit);
        self.introduce(at, &wire, emit);
        if let Some(item) = self.items.get_mut(at)
            && let ItemProgress::Begun(kept) = &mut item.progress
        {
            let before = kept.as_deref().map_or(0, |raw| raw.get().len());
            self.kept_bytes = (self.kept_bytes + raw.get().len()).saturating_sub(before);
            *kept = Some(raw.to_owned());
        }
    }

    /// Ends an item.
    pub(super) fn item_done(&mut self, event: &Event<'_>, state: &mut StreamState, emit: Emit<'_>) {
        let Some(raw) = event.item else { return };
        let wire: Item<'_> = value(raw);
        let kind = items::kind(&wire.kind.0);
        let at = self.items.at(event.output_index.0, id(event, &wire), &kind);
        self.item(at, raw, &wire, state, emit);
    }

    /// Ends the response, whose items are listed; some servers leave the list empty.
    pub(super) fn list(
        &mut self,
        output: Option<&RawValue>,
        state: &mut StreamState,
        emit: Emit<'_>,
    ) {
        let members = list(output).into_iter().take(MAX_ITEMS);
        let list: Vec<(_, Item<'_>)> = members.map(|raw| (raw, value(raw))).collect();
        let kinds: Vec<_> = list.iter().map(|(_, wire)| items::kind(&wire.kind.0)).collect();
        let places = self.items.listed(&kinds);
        for ((raw, wire), at) in list.iter().zip(places) {
            self.item(at, raw, wire, state, emit);
        }
        for at in 0..self.items.len() {
            self.only_begun(at, state, emit);
        }
    }

    /// Reports an item of which only the beginning was sent. Reasoning is not a signature before its
    /// end.
    fn only_begun(&mut self, at: usize, state: &mut StreamState, emit: Emit<'_>) {
        let Some(item) = self.items.get_mut(at) else { return };
        let ItemProgress::Begun(kept) = &mut item.progress else { return };
        if let Some(raw) = kept.take()
            && item.kind != Kind::Reasoning
        {
            self.item(at, &raw, &value(&raw), state, emit);
        }
    }

    /// Reports everything about an item that was not reported before.
    fn item(
        &mut self,
        at: usize,
        raw: &RawValue,
        wire: &Item<'_>,
        state: &mut StreamState,
        emit: Emit<'_>,
    ) {
        let Some(item) = self.items.get_mut(at) else { return };
        if matches!(item.progress, ItemProgress::Done) {
            return;
        }
        if let ItemProgress::Begun(Some(raw)) =
            std::mem::replace(&mut item.progress, ItemProgress::Done)
        {
            self.kept_bytes = self.kept_bytes.saturating_sub(raw.get().len());
        }
        match item.kind.clone() {
            Kind::Message => self.message(at, wire, state, emit),
            Kind::Reasoning => {
                self.parts(at, wire.summary, Some(Place::Summary), emit);
                self.parts(at, wire.content, Some(Place::Reasoning), emit);
                emit_events(extras::reasoning(raw), emit);
            }
            Kind::Call(call) => {
                self.introduce(at, wire, emit);
                self.say_new_arguments(at, wire.arguments.or(wire.input), emit);
                self.end_call(at, wire, emit);
                if call.input != Input::Json {
                    emit_events(extras::custom_call(raw, wire), emit);
                }
            }
            Kind::Other => emit_events(extras::other(raw, wire), emit),
        }
    }

    fn message(&mut self, at: usize, wire: &Item<'_>, state: &mut StreamState, emit: Emit<'_>) {
        Self::role(wire, state, emit);
        self.say_new(at, Place::Text, None, wire.content.filter(|raw| is_text(raw)), emit);
        self.parts(at, wire.content, None, emit);
        let is_cited = self.items.get_mut(at).is_some_and(|item| item.is_cited);
        for part in list(wire.content) {
            let part: Part<'_> = value(part);
            if !is_cited {
                emit_events(list(part.annotations).into_iter().filter_map(extras::citation), emit);
            }
        }
        emit_events(extras::phase(wire), emit);
    }

    /// Reports the parts of an item; those without a type stand at `default`.
    fn parts(
        &mut self,
        at: usize,
        parts: Option<&RawValue>,
        default: Option<Place>,
        emit: Emit<'_>,
    ) {
        for (part, index) in list(parts).into_iter().zip(0..) {
            let part: Part<'_> = value(part);
            if let Some(place) = Place::of(&part.kind.0).or(default) {
                self.say_new(at, place, Some(index), part.text.or(part.refusal), emit);
            }
        }
    }

    fn part(&mut self, place: Place, event: &Event<'_>) -> (usize, Option<u32>) {
        let at = self.items.at(event.output_index.0, &event.item_id.0, &place.item());
        let index = match place {
            Place::Summary => event.summary_index.0,
            Place::Text | Place::Refusal | Place::Reasoning => event.content_index.0,
        };
        (at, index)
    }

    fn call_of(&mut self, kind: &Kind, event: &Event<'_>) -> usize {
        self.items.at(event.output_index.0, &event.item_id.0, kind)
    }

    /// Reports a whole text, unless some of it was reported.
    fn say_new(
        &mut self,
        at: usize,
        place: Place,
        index: Option<u32>,
        whole: Option<&RawValue>,
        emit: Emit<'_>,
    ) {
        let Some(item) = self.items.get_mut(at) else { return };
        let told = if place == Place::Summary { &item.summary } else { &item.content };
        if !told.has(index) {
            self.say(at, place, index, text(whole), emit);
        }
    }

    fn say(&mut self, at: usize, place: Place, index: Option<u32>, text: Text, emit: Emit<'_>) {
        let Some(item) = self.items.get_mut(at).filter(|_| !text.is_empty()) else { return };
        let told = if place == Place::Summary { &mut item.summary } else { &mut item.content };
        told.add(index);
        let content_type = place.content_type();
        let part = (content_type == ContentType::Thinking).then_some((at, place, index));
        let before = std::mem::replace(&mut self.thinking, part);
        if before.is_some() && part.is_some() && before != part {
            // Parts of reasoning are paragraphs of their own.
            emit(StreamChunk { ends_section: true, content_type, ..StreamChunk::default() });
        }
        emit(StreamChunk { content: text, content_type, ..StreamChunk::default() });
    }

    /// Reports the role, once.
    fn role(wire: &Item<'_>, state: &mut StreamState, emit: Emit<'_>) {
        if let role @ Some(_) = state.role(&wire.role.0) {
            emit(StreamChunk { role, ..StreamChunk::default() });
        }
    }

    /// Reports a call's id and name, as far as they are known and new.
    fn introduce(&mut self, at: usize, wire: &Item<'_>, emit: Emit<'_>) {
        let Some(item) = self.items.get_mut(at) else { return };
        let is_done = matches!(item.progress, ItemProgress::Done);
        let Kind::Call(call) = &mut item.kind else { return };
        let mut delta = ToolCallDelta::new(call.index);
        // A server that forgets the call's id knows the item's.
        let id = if wire.call_id.0.is_empty() && is_done { &wire.id.0 } else { &wire.call_id.0 };
        if !call.has_id && !id.is_empty() {
            call.has_id = true;
            delta.id = Some(Text::from(&**id));
        }
        if !call.has_name && !wire.name.0.is_empty() {
            call.has_name = true;
            delta.name = Some(tool_names::decode(&wire.name.0));
        }
        if delta.id.is_some() || delta.name.is_some() {
            self.say_call(delta, emit);
        }
    }

    fn say_new_arguments(&mut self, at: usize, raw: Option<&RawValue>, emit: Emit<'_>) {
        let Some(item) = self.items.get_mut(at) else { return };
        if matches!(&item.kind, Kind::Call(call) if !call.has_arguments) {
            self.say_arguments(at, arguments(raw), emit);
        }
    }

    fn say_arguments(&mut self, at: usize, piece: Text, emit: Emit<'_>) {
        let Some(item) = self.items.get_mut(at).filter(|_| !piece.is_empty()) else { return };
        if let Kind::Call(call) = &mut item.kind {
            call.has_arguments = true;
            let delta = ToolCallDelta::new(call.index).arguments(call.input.more(piece));
            self.say_call(delta, emit);
        }
    }

    fn end_call(&mut self, at: usize, wire: &Item<'_>, emit: Emit<'_>) {
        let is_cut = matches!(&*wire.status.0, "incomplete" | "in_progress");
        if let Some(item) = self.items.get_mut(at).filter(|_| !is_cut)
            && let Kind::Call(call) = &mut item.kind
        {
            let mut delta = ToolCallDelta::new(call.index).arguments(call.input.end());
            delta.ended = true;
            self.say_call(delta, emit);
        }
    }

    fn say_call(&mut self, delta: ToolCallDelta, emit: Emit<'_>) {
        self.thinking = None;
        emit(StreamChunk::calls(vec![delta]));
    }
}

fn id<'e>(event: &'e Event<'_>, item: &'e Item<'_>) -> &'e str {
    if item.id.0.is_empty() { &event.item_id.0 } else { &item.id.0 }
}
