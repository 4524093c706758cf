//! What of the reasoning has to go back, and under which name.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use serde_json::{Value, value::RawValue};

use super::wire::Member;
use crate::{
    llm::{
        Protocol, StreamChunk,
        tolerant::{Few, Line, Number, Word, ignore_others},
    },
    types::{AgentEvent, ItemKind, Json, ProviderItem, Text},
};

/// Bytes of `reasoning_details` that are kept; more cannot go back, for a part of them proves nothing.
const MAX_DETAILS_BYTES: usize = 8 << 20;

/// The members that hold reasoning in words. Their names stand for the proof that other vendors send.
pub(super) const REASONING_CONTENT: &str = "reasoning_content";
pub(super) const REASONING: &str = "reasoning";

/// The members of an answer that held its reasoning.
#[derive(Debug, Default)]
pub(super) struct Reasoning {
    /// Where the reasoning that has not ended yet is from.
    open: Member,
    /// Whether one of the members said something.
    has_member: bool,
    details: Details,
}

/// `reasoning_details`, put together.
#[derive(Debug, Default)]
struct Details {
    list: Vec<Detail>,
    bytes: usize,
}

/// One of them: its fields in order, each as JSON.
#[derive(Debug)]
struct Detail {
    head: Head,
    fields: Vec<(String, String)>,
}

/// What tells one detail from another.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Head {
    index: Number,
    r#type: Line,
    id: Line,
}

impl Reasoning {
    /// A delta's reasoning is from `member`.
    pub(super) fn saw(&mut self, member: Member) {
        if member != Member::None {
            (self.open, self.has_member) = (member, true);
        }
    }

    /// Takes a delta's `reasoning_details`; gives the words of them, where no other member says them.
    pub(super) fn details(&mut self, raw: &RawValue) -> Text {
        let mut deserializer = serde_json::Deserializer::from_str(raw.get());
        // Anything but a list of objects is left out.
        let _read = self.details.deserialize(&mut deserializer);
        if self.has_member { Text::new() } else { words(raw) }
    }

    /// The reasoning ended here; gives the proof that names its member.
    pub(super) fn end(&mut self) -> Option<StreamChunk> {
        let member = std::mem::take(&mut self.open);
        if !self.details.is_empty() {
            return None;
        }
        let member = match member {
            Member::None => return None,
            Member::ReasoningContent => REASONING_CONTENT,
            Member::Reasoning => REASONING,
        };
        Some(StreamChunk::signature(Protocol::OpenAiChat.name(), member))
    }

    /// The answer ended; gives what has to go back of it as it came.
    pub(super) fn finish(&mut self) -> Option<StreamChunk> {
        let details = std::mem::take(&mut self.details);
        if details.is_empty() {
            return None;
        }
        let details: Vec<_> = details.list.iter().map(Detail::json).collect();
        item(&format!(r#"{{"reasoning_details":[{}]}}"#, details.join(",")))
    }
}

fn item(raw: &str) -> Option<StreamChunk> {
    let raw = Json::parse(raw).ok()?;
    let protocol = Protocol::OpenAiChat.name();
    let item = ProviderItem::new(protocol, ItemKind::Reasoning, raw);
    Some(StreamChunk::events(vec![AgentEvent::ProviderItem(item)]))
}

/// The words in a list of details.
fn words(raw: &RawValue) -> Text {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Words<'a> {
        #[serde(borrow)]
        text: Word<'a>,
        #[serde(borrow)]
        summary: Word<'a>,
    }
    let mut text = Text::new();
    let list: Few<Words<'_>> = serde_json::from_str(raw.get()).unwrap_or_default();
    for words in list.into_members() {
        text.push_str(&words.text.0);
        text.push_str(&words.summary.0);
    }
    text
}

impl Details {
    fn is_empty(&self) -> bool {
        self.list.is_empty() || self.bytes > MAX_DETAILS_BYTES
    }

    fn add(&mut self, raw: &RawValue) -> Result<(), serde_json::Error> {
        self.bytes = self.bytes.saturating_add(raw.get().len());
        if self.bytes > MAX_DETAILS_BYTES {
            self.list = Vec::new();
            return Ok(());
        }
        let head: Head = serde_json::from_str(raw.get())?;
        let continues = |detail: &Detail| detail.is_continued_by(&head);
        let at = self.list.iter().rposition(continues).unwrap_or(self.list.len());
        if at == self.list.len() {
            self.list.push(Detail { head, fields: Vec::new() });
        }
        let Some(detail) = self.list.get_mut(at) else { return Ok(()) };
        let mut deserializer = serde_json::Deserializer::from_str(raw.get());
        detail.deserialize(&mut deserializer)
    }
}

impl<'de> DeserializeSeed<'de> for &mut Details {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for &mut Details {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while let Some(raw) = seq.next_element::<&RawValue>()? {
            if raw.get().starts_with('{') {
                self.add(raw).map_err(serde::de::Error::custom)?;
            }
        }
        Ok(())
    }

    ignore_others!((), bool number null string map);
}

impl Detail {
    /// Words come in deltas; anything else comes whole.
    fn is_continued_by(&self, other: &Head) -> bool {
        let has_deltas = matches!(other.r#type.0.as_str(), "reasoning.text" | "reasoning.summary");
        let (ours, theirs) = (&self.head.id.0, &other.id.0);
        has_deltas
            && self.head.index.0 == other.index.0
            && self.head.r#type.0 == other.r#type.0
            && (ours.is_empty() || theirs.is_empty() || ours == theirs)
    }

    /// Takes a field: words are joined, of anything else the later counts unless it is null.
    fn field(&mut self, key: &str, raw: &RawValue) {
        let raw = raw.get();
        let Some((_, known)) = self.fields.iter_mut().find(|(known, _)| known == key) else {
            self.fields.push((key.to_owned(), raw.to_owned()));
            return;
        };
        let is_words = matches!(key, "text" | "summary") && known.ends_with('"');
        match raw.strip_prefix('"') {
            // Two texts in JSON are joined where one ends and the other begins.
            Some(more) if is_words => {
                known.pop();
                known.push_str(more);
            }
            _ if raw != "null" && known != raw => raw.clone_into(known),
            _ => {}
        }
    }

    fn json(&self) -> String {
        let field = |(key, raw): &(String, String)| format!("{}:{raw}", Value::from(key.as_str()));
        let fields: Vec<_> = self.fields.iter().map(field).collect();
        format!("{{{}}}", fields.join(","))
    }
}

impl<'de> DeserializeSeed<'de> for &mut Detail {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for &mut Detail {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<Word<'de>>()? {
            self.field(&key.0, map.next_value()?);
        }
        Ok(())
    }
}
