//! Messages and reasoning of a response while they are written, and the names of their events.

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::extras::PHASE;
use forgeline_types::{Json, Text};

/// The members of an event besides its type and number.
type EventRest = Map<String, Value>;

/// The kind of a text in the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextKind {
    Summary,
    Text,
    Refusal,
}

impl TextKind {
    pub(super) fn is_reasoning(self) -> bool {
        self == Self::Summary
    }

    pub(super) fn part_added(self) -> &'static str {
        match self {
            Self::Summary => "response.reasoning_summary_part.added",
            Self::Text | Self::Refusal => "response.content_part.added",
        }
    }

    pub(super) fn delta(self) -> &'static str {
        match self {
            Self::Summary => "response.reasoning_summary_text.delta",
            Self::Text => "response.output_text.delta",
            Self::Refusal => "response.refusal.delta",
        }
    }

    pub(super) fn text_done(self) -> &'static str {
        match self {
            Self::Summary => "response.reasoning_summary_text.done",
            Self::Text => "response.output_text.done",
            Self::Refusal => "response.refusal.done",
        }
    }

    pub(super) fn part_done(self) -> &'static str {
        match self {
            Self::Summary => "response.reasoning_summary_part.done",
            Self::Text | Self::Refusal => "response.content_part.done",
        }
    }

    /// Returns the name of the member, of a part and of the event of its end, that has the text.
    fn member(self) -> &'static str {
        match self {
            Self::Summary | Self::Text => "text",
            Self::Refusal => "refusal",
        }
    }

    /// Returns the item that such a text begins.
    pub(super) fn new_item(self, id: &str) -> Json {
        OpenItem::new(self, 0, Text::from(id)).written("in_progress")
    }
}

/// A message or reasoning while it is written.
#[derive(Debug, Clone)]
pub(super) struct OpenItem {
    kind: TextKind,
    pub(super) output_index: u32,
    id: Text,
    parts: Vec<TextPart>,
    is_part_open: bool,
    /// The purpose of a message, in the vendor's words.
    pub(super) phase: Option<Json>,
}

#[derive(Debug, Clone)]
struct TextPart {
    kind: TextKind,
    text: String,
    annotations: Vec<Value>,
}

impl TextPart {
    fn to_value(&self) -> Value {
        let Self { kind, text, annotations } = self;
        match kind {
            TextKind::Summary => json!({ "type": "summary_text", "text": text }),
            TextKind::Text => {
                json!({ "type": "output_text", "text": text, "annotations": annotations })
            }
            TextKind::Refusal => json!({ "type": "refusal", "refusal": text }),
        }
    }
}

/// A delta of a text or of arguments.
#[derive(Debug, Serialize)]
pub(super) struct WrittenDelta<'a> {
    item_id: &'a str,
    output_index: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    content_index: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary_index: Option<u32>,
    delta: &'a str,
    /// Always empty, where the protocol requires it.
    #[serde(skip_serializing_if = "Option::is_none")]
    logprobs: Option<[(); 0]>,
}

impl<'a> WrittenDelta<'a> {
    pub(super) fn arguments(item_id: &'a str, output_index: u32, delta: &'a str) -> Self {
        let (content_index, summary_index, logprobs) = (None, None, None);
        Self { item_id, output_index, content_index, summary_index, delta, logprobs }
    }
}

impl OpenItem {
    pub(super) fn new(kind: TextKind, output_index: u32, id: Text) -> Self {
        Self { kind, output_index, id, parts: Vec::new(), is_part_open: false, phase: None }
    }

    pub(super) fn is_reasoning(&self) -> bool {
        self.kind.is_reasoning()
    }

    /// Returns `true` if a part of another kind is open.
    pub(super) fn has_other_part(&self, kind: TextKind) -> bool {
        self.is_part_open && self.parts.last().is_some_and(|part| part.kind != kind)
    }

    /// Begins a part unless one is open; returns what its event says.
    pub(super) fn begin_part(&mut self, kind: TextKind) -> Option<EventRest> {
        if self.is_part_open {
            return None;
        }
        self.is_part_open = true;
        self.parts.push(TextPart { kind, text: String::new(), annotations: Vec::new() });
        self.place("part", TextPart::to_value)
    }

    /// Adds a delta to the open part.
    pub(super) fn delta<'a>(&'a mut self, delta: &'a str) -> WrittenDelta<'a> {
        let index = self.index();
        let is_reasoning = self.is_reasoning();
        if let Some(part) = self.parts.last_mut() {
            part.text.push_str(delta);
        }
        let has_logprobs = self.parts.last().is_some_and(|part| part.kind == TextKind::Text);
        WrittenDelta {
            item_id: &self.id,
            output_index: self.output_index,
            content_index: (!is_reasoning).then_some(index),
            summary_index: is_reasoning.then_some(index),
            delta,
            logprobs: has_logprobs.then_some([]),
        }
    }

    /// Adds a source to the last text; returns what its event says.
    pub(super) fn cite(&mut self, raw: &Json) -> Option<EventRest> {
        let part = self.parts.last_mut().filter(|part| part.kind == TextKind::Text)?;
        part.annotations.push(raw.to_value());
        let at = part.annotations.len() - 1;
        let mut rest = self.place("annotation", |_| raw.to_value())?;
        rest.insert("annotation_index".to_owned(), json!(at));
        Some(rest)
    }

    /// Ends the open part; returns what the events of its text and of itself say.
    pub(super) fn end_part(&mut self) -> Option<(TextKind, EventRest, EventRest)> {
        if !std::mem::replace(&mut self.is_part_open, false) {
            return None;
        }
        let kind = self.parts.last()?.kind;
        let mut text = self.place(kind.member(), |part| json!(part.text))?;
        if kind == TextKind::Text {
            text.insert("logprobs".to_owned(), json!([]));
        }
        Some((kind, text, self.place("part", TextPart::to_value)?))
    }

    /// Returns the whole item.
    pub(super) fn item(&self) -> Json {
        self.written("completed")
    }

    fn written(&self, status: &str) -> Json {
        let parts: Vec<_> = self.parts.iter().map(TextPart::to_value).collect();
        if self.is_reasoning() {
            return Json::from(json!({ "type": "reasoning", "id": self.id, "summary": parts }));
        }
        let mut item = json!({
            "type": "message", "id": self.id, "status": status, "role": "assistant", "content": parts,
        });
        if let Some(phase) = &self.phase {
            item[PHASE] = phase.to_value();
        }
        Json::from(item)
    }

    /// Returns the place of the last part, and a member with what `value` returns for it.
    fn place(&self, member: &str, value: impl FnOnce(&TextPart) -> Value) -> Option<EventRest> {
        let mut place = Map::new();
        let index = if self.is_reasoning() { "summary_index" } else { "content_index" };
        place.insert("item_id".to_owned(), json!(self.id));
        place.insert("output_index".to_owned(), json!(self.output_index));
        place.insert(index.to_owned(), json!(self.index()));
        place.insert(member.to_owned(), value(self.parts.last()?));
        Some(place)
    }

    /// Returns the index of the last part.
    fn index(&self) -> u32 {
        u32::try_from(self.parts.len().saturating_sub(1)).unwrap_or(u32::MAX)
    }
}
