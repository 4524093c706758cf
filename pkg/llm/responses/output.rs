//! The output so far, of which nothing is reported twice.

use serde_json::value::RawValue;

use super::{
    extras,
    items::{ItemProgress, OutputItemKind, OutputItems, TextPlace},
    offered::{self, PlainTextTools},
    wire::ResponsesEvent,
};
use crate::{
    ContentType, StreamChunk, ToolCallDelta,
    decode::tool_name,
    decode::{
        CallInput, JsonEntries, OutSink,
        lax_json::{arguments, is_text, list, text},
    },
};
use forgeline_types::Text;

/// Maximum number of items in one response.
const MAX_ITEMS: usize = 4096;

/// Maximum total size of the first events of unfinished items, in bytes.
const MAX_KEPT_BYTES: usize = 16 << 20;

/// The members of a message and of its parts that are read.
const MESSAGE: [&str; 7] = ["type", "id", "status", "role", "content", "phase", "object"];
const PART: [&str; 4] = ["type", "text", "refusal", "annotations"];

/// The output so far.
#[derive(Debug, Default)]
pub(super) struct ResponsesOutput {
    items: OutputItems,
    /// The total size of the first events that are kept, in bytes.
    kept_bytes: usize,
    /// The part of reasoning that was reported last, unless something else has been reported since.
    thinking: Option<(usize, TextPlace, Option<u32>)>,
    offered: PlainTextTools,
}

impl ResponsesOutput {
    /// Returns `true` for more or larger items than any server sends.
    pub(super) fn is_over_limit(&self) -> bool {
        self.items.len() > MAX_ITEMS || self.kept_bytes > MAX_KEPT_BYTES
    }

    /// Continues a text.
    pub(super) fn delta(
        &mut self,
        place: TextPlace,
        event: &mut ResponsesEvent<'_>,
        sink: &mut OutSink<'_>,
    ) {
        let (at, index) = self.part(place, event);
        self.say(at, place, index, std::mem::take(&mut event.delta.0), sink);
    }

    /// Ends a text.
    pub(super) fn text_done(
        &mut self,
        place: TextPlace,
        event: &ResponsesEvent<'_>,
        sink: &mut OutSink<'_>,
    ) {
        let (at, index) = self.part(place, event);
        self.say_new(at, place, index, event.whole, sink);
    }

    /// Ends a part.
    pub(super) fn part_done(&mut self, event: &ResponsesEvent<'_>, sink: &mut OutSink<'_>) {
        let part = JsonEntries::from_raw(event.part);
        if let Some(place) = TextPlace::from_part_type(&part.text("type")) {
            let (at, index) = self.part(place, event);
            self.say_new(at, place, index, part.get("text").or(part.get("refusal")), sink);
        }
    }

    /// Continues a call's arguments.
    pub(super) fn arguments(
        &mut self,
        kind: &OutputItemKind,
        event: &mut ResponsesEvent<'_>,
        sink: &mut OutSink<'_>,
    ) {
        if self.is_server_s(kind, event) {
            return;
        }
        let at = self.call_of(kind, event);
        self.say_arguments(at, std::mem::take(&mut event.delta.0), sink);
    }

    /// Ends a call's arguments.
    pub(super) fn arguments_done(
        &mut self,
        kind: &OutputItemKind,
        event: &ResponsesEvent<'_>,
        sink: &mut OutSink<'_>,
    ) {
        if self.is_server_s(kind, event) {
            return;
        }
        let at = self.call_of(kind, event);
        self.say_new_arguments(at, event.whole, sink);
        let Some(item) = self.items.get_mut(at) else { return };
        if let OutputItemKind::Call(call) = &mut item.kind {
            let delta = ToolCallDelta::new(call.index).arguments(call.input.end());
            if !delta.arguments.is_empty() {
                self.say_call(delta, sink);
            }
        }
    }

    /// Reports a source of a text.
    pub(super) fn annotation(&mut self, event: &ResponsesEvent<'_>, sink: &mut OutSink<'_>) {
        let (at, _) = self.part(TextPlace::Text, event);
        if let (Some(item), Some(raw)) = (self.items.get_mut(at), event.annotation) {
            item.is_cited = true;
            sink.events(extras::citation(raw));
        }
    }

    /// Begins an item.
    pub(super) fn item_added(&mut self, event: &ResponsesEvent<'_>, sink: &mut OutSink<'_>) {
        let Some(raw) = event.item else { return };
        let wire = JsonEntries::from_raw(event.item);
        let kind = self.offered.kind(&wire);
        let at = self.items.added(event.output_index.0, &id(event, &wire), &kind);
        sink.emit_role(&wire.text("role"));
        self.introduce(at, &wire, sink);
        if let Some(item) = self.items.get_mut(at)
            && let ItemProgress::Begun(kept) = &mut item.progress
        {
            let before = kept.as_deref().map_or(0, |raw| raw.get().len());
            self.kept_bytes = (self.kept_bytes + raw.get().len()).saturating_sub(before);
            *kept = Some(raw.to_owned());
        }
    }

    /// Ends an item.
    pub(super) fn item_done(&mut self, event: &ResponsesEvent<'_>, sink: &mut OutSink<'_>) {
        let Some(raw) = event.item else { return };
        let wire = JsonEntries::from_raw(event.item);
        let kind = self.offered.kind(&wire);
        let at = self.items.at(event.output_index.0, &id(event, &wire), &kind);
        self.item(at, raw, &wire, sink);
    }

    /// Ends the response, which lists its items; some servers leave the list empty.
    pub(super) fn list(&mut self, output: Option<&RawValue>, sink: &mut OutSink<'_>) {
        let members = list(output).into_iter().take(MAX_ITEMS + 1);
        let list: Vec<_> = members.map(|raw| (raw, JsonEntries::from_raw(Some(raw)))).collect();
        let kinds: Vec<_> = list.iter().map(|(_, wire)| self.offered.kind(wire)).collect();
        let places = self.items.listed(&kinds);
        for ((raw, wire), at) in list.iter().zip(places) {
            self.item(at, raw, wire, sink);
        }
        for at in 0..self.items.len() {
            self.only_begun(at, sink);
        }
    }

    /// Reports an item of which only the first event was sent. Reasoning becomes a signature only at its
    /// end.
    fn only_begun(&mut self, at: usize, sink: &mut OutSink<'_>) {
        let Some(item) = self.items.get_mut(at) else { return };
        let ItemProgress::Begun(kept) = &mut item.progress else { return };
        if let Some(raw) = kept.take()
            && item.kind != OutputItemKind::Reasoning
        {
            self.item(at, &raw, &JsonEntries::from_raw(Some(&raw)), sink);
        }
    }

    /// Reports everything about an item that has not been reported yet.
    fn item(&mut self, at: usize, raw: &RawValue, wire: &JsonEntries<'_>, sink: &mut OutSink<'_>) {
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
            OutputItemKind::Message => self.message(at, wire, sink),
            OutputItemKind::Reasoning => {
                self.parts(at, wire.get("summary"), Some(TextPlace::Summary), sink);
                self.parts(at, wire.get("content"), Some(TextPlace::Reasoning), sink);
                sink.events(extras::reasoning(raw));
            }
            OutputItemKind::Call(call) => {
                self.introduce(at, wire, sink);
                self.say_new_arguments(at, wire.get("arguments").or(wire.get("input")), sink);
                self.end_call(at, wire, sink);
                if call.input != CallInput::Json {
                    sink.events(extras::custom_call(raw, wire));
                }
            }
            OutputItemKind::Other => sink.events(extras::other(raw, wire)),
        }
    }

    fn message(&mut self, at: usize, wire: &JsonEntries<'_>, sink: &mut OutSink<'_>) {
        sink.emit_role(&wire.text("role"));
        self.say_new(
            at,
            TextPlace::Text,
            None,
            wire.get("content").filter(|raw| is_text(raw)),
            sink,
        );
        self.parts(at, wire.get("content"), None, sink);
        let is_cited = self.items.get_mut(at).is_some_and(|item| item.is_cited);
        for part in list(wire.get("content")) {
            if !is_cited {
                let part = JsonEntries::from_raw(Some(part));
                sink.events(list(part.get("annotations")).into_iter().filter_map(extras::citation));
            }
        }
        sink.events(extras::phase(wire));
        sink.unknown_besides("message", &MESSAGE, wire);
    }

    /// Reports the parts of an item; those without a type are placed at `default`.
    fn parts(
        &mut self,
        at: usize,
        parts: Option<&RawValue>,
        default: Option<TextPlace>,
        sink: &mut OutSink<'_>,
    ) {
        for (raw, index) in list(parts).into_iter().zip(0..) {
            let part = JsonEntries::from_raw(Some(raw));
            if let Some(place) = TextPlace::from_part_type(&part.text("type")).or(default) {
                self.say_new(
                    at,
                    place,
                    Some(index),
                    part.get("text").or(part.get("refusal")),
                    sink,
                );
                sink.unknown_besides("part", &PART, &part);
            } else {
                sink.unknown_event(&["part.", &part.text("type")].concat(), raw.get());
            }
        }
    }

    fn part(&mut self, place: TextPlace, event: &ResponsesEvent<'_>) -> (usize, Option<u32>) {
        let at = self.items.at(event.output_index.0, &event.item_id.0, &place.item());
        let index = match place {
            TextPlace::Summary => event.summary_index.0,
            TextPlace::Text | TextPlace::Refusal | TextPlace::Reasoning => event.content_index.0,
        };
        (at, index)
    }

    /// Records the request's tools, which the response repeats.
    pub(super) fn offered(&mut self, response: &JsonEntries<'_>) {
        self.offered.read_tools(response);
    }

    /// Returns `true` if another answer begins with `id` inside this one.
    pub(super) fn is_another(&self, id: &str, known: &str) -> bool {
        self.items.len() > 0 && !id.is_empty() && !known.is_empty() && id != known
    }

    /// Returns `true` for arguments of a call to one of the server's own tools, whose item contains them whole.
    fn is_server_s(&self, kind: &OutputItemKind, event: &ResponsesEvent<'_>) -> bool {
        let is_custom = matches!(kind, OutputItemKind::Call(call) if call.input != CallInput::Json);
        is_custom
            && (offered::is_xai_s(&event.item_id.0)
                || self.items.is_other(event.output_index.0, &event.item_id.0))
    }

    fn call_of(&mut self, kind: &OutputItemKind, event: &ResponsesEvent<'_>) -> usize {
        self.items.at(event.output_index.0, &event.item_id.0, kind)
    }

    /// Reports a whole text, unless part of it has already been reported.
    fn say_new(
        &mut self,
        at: usize,
        place: TextPlace,
        index: Option<u32>,
        whole: Option<&RawValue>,
        sink: &mut OutSink<'_>,
    ) {
        let Some(item) = self.items.get_mut(at) else { return };
        let told = if place == TextPlace::Summary { &item.summary } else { &item.content };
        if !told.has(index) {
            self.say(at, place, index, text(whole), sink);
        }
    }

    fn say(
        &mut self,
        at: usize,
        place: TextPlace,
        index: Option<u32>,
        text: Text,
        sink: &mut OutSink<'_>,
    ) {
        let Some(item) = self.items.get_mut(at).filter(|_| !text.is_empty()) else { return };
        let told = if place == TextPlace::Summary { &mut item.summary } else { &mut item.content };
        told.add(index);
        let content_type = place.content_type();
        let part = (content_type == ContentType::Thinking).then_some((at, place, index));
        let before = std::mem::replace(&mut self.thinking, part);
        if before.is_some() && part.is_some() && before != part {
            // Each part of reasoning is a separate section.
            sink.emit(StreamChunk { ends_section: true, content_type, ..StreamChunk::default() });
        }
        sink.may_repeat();
        sink.emit(StreamChunk { content: text, content_type, ..StreamChunk::default() });
    }

    /// Reports a call's id and name, as far as they are known and new.
    fn introduce(&mut self, at: usize, wire: &JsonEntries<'_>, sink: &mut OutSink<'_>) {
        let Some(item) = self.items.get_mut(at) else { return };
        let is_done = matches!(item.progress, ItemProgress::Done);
        let OutputItemKind::Call(call) = &mut item.kind else { return };
        let mut delta = ToolCallDelta::new(call.index);
        // A server that omits the call's id still sends the item's.
        let ids: &[&str] =
            if is_done || call.is_hosted { &["call_id", "id"] } else { &["call_id"] };
        if !call.has_id {
            delta.id = wire.first_text(ids);
            call.has_id = delta.id.is_some();
        }
        if !call.has_name {
            delta.name = if call.is_hosted {
                delta.hosted = true;
                extras::hosted_name(wire)
            } else if call.is_search {
                Some(Text::from(extras::SEARCH))
            } else {
                wire.first_text(&["name"]).map(|name| tool_name(&name))
            };
            call.has_name = delta.name.is_some();
        }
        if !call.has_more {
            delta.signature = extras::more_of_call(wire);
            call.has_more = delta.signature.is_some();
        }
        if delta.id.is_some() || delta.name.is_some() || delta.signature.is_some() {
            self.say_call(delta, sink);
        }
    }

    fn say_new_arguments(&mut self, at: usize, raw: Option<&RawValue>, sink: &mut OutSink<'_>) {
        let Some(item) = self.items.get_mut(at) else { return };
        if matches!(&item.kind, OutputItemKind::Call(call) if !call.has_arguments) {
            self.say_arguments(at, arguments(raw.map(RawValue::get)), sink);
        }
    }

    fn say_arguments(&mut self, at: usize, piece: Text, sink: &mut OutSink<'_>) {
        let Some(item) = self.items.get_mut(at).filter(|_| !piece.is_empty()) else { return };
        if let OutputItemKind::Call(call) = &mut item.kind {
            call.has_arguments = true;
            if call.input == CallInput::Json {
                sink.may_repeat();
            }
            let delta = ToolCallDelta::new(call.index).arguments(call.input.more(piece));
            self.say_call(delta, sink);
        }
    }

    fn end_call(&mut self, at: usize, wire: &JsonEntries<'_>, sink: &mut OutSink<'_>) {
        let is_cut = matches!(wire.text("status").as_str(), "incomplete" | "in_progress");
        if let Some(item) = self.items.get_mut(at).filter(|_| !is_cut)
            && let OutputItemKind::Call(call) = &mut item.kind
        {
            let mut delta = ToolCallDelta::new(call.index).arguments(call.input.end());
            delta.ended = true;
            self.say_call(delta, sink);
        }
    }

    fn say_call(&mut self, delta: ToolCallDelta, sink: &mut OutSink<'_>) {
        self.thinking = None;
        sink.call(delta);
    }
}

fn id(event: &ResponsesEvent<'_>, item: &JsonEntries<'_>) -> Text {
    item.first_text(&["id"]).unwrap_or_else(|| Text::from(&*event.item_id.0))
}
