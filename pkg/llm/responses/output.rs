//! What of the output is told, and that nothing is told twice.

use serde_json::value::RawValue;

use super::{
    extras,
    items::{self, Input, ItemProgress, Items, Kind},
    place::Place,
    wire::{self, Event, Item, Part},
};
use crate::{
    llm::{ContentType, StreamChunk, ToolCallDelta, tool_names},
    types::{AgentEvent, MessageRole, Text},
};

/// Most items of one response.
const MAX_ITEMS: usize = 4096;

/// Most bytes of the beginnings of items that have not ended.
const MAX_KEPT_BYTES: usize = 16 << 20;

type Emit<'e> = &'e mut dyn FnMut(StreamChunk);

/// The output so far.
#[derive(Debug, Default)]
pub(super) struct Output {
    items: Items,
    /// Bytes of the beginnings of items that are kept.
    kept_bytes: usize,
    has_role: bool,
    /// The part of reasoning that was told last, unless something else was told since.
    thinking: Option<(usize, Place, Option<u32>)>,
}

impl Output {
    /// Whether there are more items than any server sends, or larger ones.
    pub(super) fn is_over_limit(&self) -> bool {
        self.items.len() > MAX_ITEMS || self.kept_bytes > MAX_KEPT_BYTES
    }

    /// More of a text.
    pub(super) fn delta(&mut self, place: Place, event: &mut Event<'_>, emit: Emit<'_>) {
        let (at, index) = self.part(place, event);
        self.say(at, place, index, std::mem::take(&mut event.delta.0), emit);
    }

    /// A text is over.
    pub(super) fn text_done(&mut self, place: Place, event: &Event<'_>, emit: Emit<'_>) {
        let (at, index) = self.part(place, event);
        self.say_new(at, place, index, event.whole, emit);
    }

    /// A part is over.
    pub(super) fn part_done(&mut self, event: &Event<'_>, emit: Emit<'_>) {
        let part: Part<'_> = event.part.map(wire::value).unwrap_or_default();
        if let Some(place) = Place::of(&part.kind.0) {
            let (at, index) = self.part(place, event);
            self.say_new(at, place, index, part.text.or(part.refusal), emit);
        }
    }

    /// More of a call's arguments.
    pub(super) fn arguments(&mut self, kind: &Kind, event: &mut Event<'_>, emit: Emit<'_>) {
        let at = self.call_of(kind, event);
        let arguments = std::mem::take(&mut event.delta.0);
        self.say_arguments(at, arguments, emit);
    }

    /// A call's arguments are over.
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

    /// A source of a text.
    pub(super) fn annotation(&mut self, event: &Event<'_>, emit: Emit<'_>) {
        let (at, _) = self.part(Place::Text, event);
        if let (Some(item), Some(raw)) = (self.items.get_mut(at), event.annotation) {
            item.is_cited = true;
            tell(extras::citation(raw), emit);
        }
    }

    /// An item begins.
    pub(super) fn item_added(&mut self, event: &Event<'_>, emit: Emit<'_>) {
        let Some(raw) = event.item else { return };
        let wire: Item<'_> = wire::value(raw);
        let kind = items::kind(&wire.kind.0);
        let at = self.items.added(event.output_index.0, id(event, &wire), &kind);
        self.role(&wire, emit);
        self.introduce(at, &wire, emit);
        if let Some(item) = self.items.get_mut(at)
            && let ItemProgress::Begun(kept) = &mut item.progress
        {
            let before = kept.as_deref().map_or(0, |raw| raw.get().len());
            self.kept_bytes = (self.kept_bytes + raw.get().len()).saturating_sub(before);
            *kept = Some(raw.to_owned());
        }
    }

    /// An item is over.
    pub(super) fn item_done(&mut self, event: &Event<'_>, emit: Emit<'_>) {
        let Some(raw) = event.item else { return };
        let wire: Item<'_> = wire::value(raw);
        let kind = items::kind(&wire.kind.0);
        let at = self.items.at(event.output_index.0, id(event, &wire), &kind);
        self.item(at, raw, &wire, emit);
    }

    /// The response is over, and this is the list of its items; some servers leave it empty.
    pub(super) fn list(&mut self, output: Option<&RawValue>, emit: Emit<'_>) {
        let list = wire::list(output).into_iter().take(MAX_ITEMS);
        let list: Vec<(_, Item<'_>)> = list.map(|raw| (raw, wire::value(raw))).collect();
        let kinds: Vec<_> = list.iter().map(|(_, wire)| items::kind(&wire.kind.0)).collect();
        let places = self.items.listed(&kinds);
        for ((raw, wire), at) in list.iter().zip(places) {
            self.item(at, raw, wire, emit);
        }
        for at in 0..self.items.len() {
            self.only_begun(at, emit);
        }
    }

    /// An item of which only the beginning was sent. Reasoning is no proof before its end.
    fn only_begun(&mut self, at: usize, emit: Emit<'_>) {
        let Some(item) = self.items.get_mut(at) else { return };
        let ItemProgress::Begun(kept) = &mut item.progress else { return };
        if let Some(raw) = kept.take()
            && item.kind != Kind::Reasoning
        {
            self.item(at, &raw, &wire::value(&raw), emit);
        }
    }

    /// Everything about an item that was not told before.
    fn item(&mut self, at: usize, raw: &RawValue, wire: &Item<'_>, emit: Emit<'_>) {
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
            Kind::Message => self.message(at, wire, emit),
            Kind::Reasoning => {
                self.parts(at, wire.summary, Some(Place::Summary), emit);
                self.parts(at, wire.content, Some(Place::Reasoning), emit);
                tell(extras::reasoning(raw), emit);
            }
            Kind::Call(call) => {
                self.introduce(at, wire, emit);
                self.say_new_arguments(at, wire.arguments.or(wire.input), emit);
                self.end_call(at, wire, emit);
                if call.input != Input::Json {
                    tell(extras::custom_call(raw, wire), emit);
                }
            }
            Kind::Other => tell(extras::other(raw, wire), emit),
        }
    }

    fn message(&mut self, at: usize, wire: &Item<'_>, emit: Emit<'_>) {
        self.role(wire, emit);
        self.say_new(at, Place::Text, None, wire.content.filter(|raw| is_text(raw)), emit);
        self.parts(at, wire.content, None, emit);
        let is_cited = self.items.get_mut(at).is_some_and(|item| item.is_cited);
        for part in wire::list(wire.content) {
            let part: Part<'_> = wire::value(part);
            if !is_cited {
                tell(wire::list(part.annotations).into_iter().filter_map(extras::citation), emit);
            }
        }
        tell(extras::phase(wire), emit);
    }

    /// The parts of an item; those whose type is not said stand at `default`.
    fn parts(
        &mut self,
        at: usize,
        list: Option<&RawValue>,
        default: Option<Place>,
        emit: Emit<'_>,
    ) {
        for (part, index) in wire::list(list).into_iter().zip(0..) {
            let part: Part<'_> = wire::value(part);
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

    /// Tells a whole text, unless some of it was told.
    fn say_new(
        &mut self,
        at: usize,
        place: Place,
        index: Option<u32>,
        text: Option<&RawValue>,
        emit: Emit<'_>,
    ) {
        let Some(item) = self.items.get_mut(at) else { return };
        let told = if place == Place::Summary { &item.summary } else { &item.content };
        if !told.has(index) {
            self.say(at, place, index, wire::text(text), emit);
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

    /// Tells who speaks, once.
    fn role(&mut self, wire: &Item<'_>, emit: Emit<'_>) {
        if wire.role.0 == "assistant" && !self.has_role {
            self.has_role = true;
            emit(StreamChunk { role: Some(MessageRole::Assistant), ..StreamChunk::default() });
        }
    }

    /// Tells a call's id and name, as far as they are known and new.
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
            self.say_arguments(at, wire::arguments(raw), emit);
        }
    }

    fn say_arguments(&mut self, at: usize, arguments: Text, emit: Emit<'_>) {
        let Some(item) = self.items.get_mut(at).filter(|_| !arguments.is_empty()) else { return };
        if let Kind::Call(call) = &mut item.kind {
            call.has_arguments = true;
            let delta = ToolCallDelta::new(call.index).arguments(call.input.more(arguments));
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

fn is_text(raw: &RawValue) -> bool {
    raw.get().starts_with('"')
}

fn tell(events: impl IntoIterator<Item = AgentEvent>, emit: Emit<'_>) {
    let events: Vec<_> = events.into_iter().collect();
    if !events.is_empty() {
        emit(StreamChunk::events(events));
    }
}
