//! The JSON of Anthropic Messages, read tolerantly: a field of an unexpected type is as good as absent.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use serde_json::value::RawValue;

use crate::{
    llm::tolerant::{Count, Line, Number, Object, Word, ignore_others},
    types::{FinishReason, Text, UsageInfo},
};

/// What the end of an answer says besides why it ended; kept as items that are no blocks.
pub(super) const FACTS: [&str; 4] =
    ["stop_sequence", "stop_details", "container", "context_management"];

/// One event. It is large, so it is filled in place instead of returned level by level.
#[derive(Debug, Default)]
pub(super) struct Event<'a> {
    pub(super) kind: Word<'a>,
    pub(super) index: Number,
    pub(super) delta: Delta<'a>,
    pub(super) message: Option<&'a RawValue>,
    pub(super) content_block: Option<&'a RawValue>,
    pub(super) usage: Option<&'a RawValue>,
    pub(super) error: Option<&'a RawValue>,
}

/// A piece of a block, or what the end of the message says.
#[derive(Debug, Default)]
pub(super) struct Delta<'a> {
    kind: Word<'a>,
    /// What the key of `content` says of the kind.
    said: DeltaKind,
    /// The text, the reasoning, the arguments or the signature.
    pub(super) content: Text,
    pub(super) citation: Option<&'a RawValue>,
    pub(super) stop_reason: Line,
}

/// What a delta adds to its block.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum DeltaKind {
    Text,
    Thinking,
    Arguments,
    Signature,
    Citation,
    /// A kind that is unknown here.
    #[default]
    Other,
}

impl Delta<'_> {
    /// Its kind by its type, else by its fields.
    pub(super) fn kind(&self) -> DeltaKind {
        match &*self.kind.0 {
            "text_delta" => DeltaKind::Text,
            "thinking_delta" => DeltaKind::Thinking,
            "input_json_delta" => DeltaKind::Arguments,
            "signature_delta" => DeltaKind::Signature,
            "citations_delta" => DeltaKind::Citation,
            "" => self.said,
            _ => DeltaKind::Other,
        }
    }
}

/// Fills a value in place.
struct Into<'t, T>(&'t mut T);

/// Reads the data of an event.
pub(super) fn event<'a>(json: &'a str, event: &mut Event<'a>) -> Result<(), serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_str(json);
    Into(event).deserialize(&mut deserializer)?;
    deserializer.end()
}

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "snake_case")]
enum EventKey {
    Type,
    Index,
    Delta,
    Message,
    ContentBlock,
    Usage,
    Error,
    #[serde(other)]
    Unknown,
}

impl<'de: 'a, 'a> DeserializeSeed<'de> for Into<'_, Event<'a>> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de: 'a, 'a> Visitor<'de> for Into<'_, Event<'a>> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let event = self.0;
        while let Some(key) = map.next_key::<EventKey>()? {
            match key {
                EventKey::Type => event.kind = map.next_value()?,
                EventKey::Index => event.index = map.next_value()?,
                EventKey::Delta => map.next_value_seed(Into(&mut event.delta))?,
                EventKey::Message => event.message = map.next_value()?,
                EventKey::ContentBlock => event.content_block = map.next_value()?,
                EventKey::Usage => event.usage = map.next_value()?,
                EventKey::Error => event.error = map.next_value()?,
                EventKey::Unknown => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }

    ignore_others!((), bool number null string seq);
}

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "snake_case")]
enum DeltaKey {
    Type,
    Text,
    Thinking,
    PartialJson,
    Signature,
    Citation,
    StopReason,
    #[serde(other)]
    Unknown,
}

impl<'de: 'a, 'a> DeserializeSeed<'de> for Into<'_, Delta<'a>> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de: 'a, 'a> Visitor<'de> for Into<'_, Delta<'a>> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let delta = self.0;
        while let Some(key) = map.next_key::<DeltaKey>()? {
            let said = match key {
                DeltaKey::Type => {
                    delta.kind = map.next_value()?;
                    continue;
                }
                DeltaKey::StopReason => {
                    delta.stop_reason = map.next_value()?;
                    continue;
                }
                DeltaKey::Citation => {
                    delta.citation = map.next_value()?;
                    delta.said = DeltaKind::Citation;
                    continue;
                }
                DeltaKey::Unknown => {
                    map.next_value::<IgnoredAny>()?;
                    continue;
                }
                DeltaKey::Text => DeltaKind::Text,
                DeltaKey::Thinking => DeltaKind::Thinking,
                DeltaKey::PartialJson => DeltaKind::Arguments,
                DeltaKey::Signature => DeltaKind::Signature,
            };
            let Line(content) = map.next_value()?;
            if !content.is_empty() {
                (delta.content, delta.said) = (content, said);
            }
        }
        Ok(())
    }

    ignore_others!((), bool number null string seq);
}

/// The start of a message, or a whole one.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Message<'a> {
    pub(super) id: Line,
    pub(super) model: Line,
    pub(super) role: Line,
    pub(super) content: Option<&'a RawValue>,
    pub(super) stop_reason: Line,
    pub(super) usage: Option<&'a RawValue>,
    pub(super) error: Option<&'a RawValue>,
}

/// The usage object.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Usage {
    input_tokens: Count,
    output_tokens: Count,
    cache_creation_input_tokens: Count,
    cache_read_input_tokens: Count,
    output_tokens_details: Object<OutputDetails>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct OutputDetails {
    thinking_tokens: Count,
}

/// The counts in a usage object. The vendor's input leaves out what its cache read and wrote.
pub(super) fn usage(json: &str) -> UsageInfo {
    let usage: Usage = serde_json::from_str(json).unwrap_or_default();
    let (read, written) = (usage.cache_read_input_tokens.0, usage.cache_creation_input_tokens.0);
    let inputs = [usage.input_tokens.0, read, written];
    UsageInfo {
        input_tokens: inputs.into_iter().flatten().reduce(u64::saturating_add),
        output_tokens: usage.output_tokens.0,
        cache_read_tokens: read,
        cache_write_tokens: written,
        reasoning_tokens: usage
            .output_tokens_details
            .0
            .and_then(|details| details.thinking_tokens.0),
    }
}

/// What the vendor's word for the end means.
pub(super) fn finish_reason(word: &str) -> FinishReason {
    match word {
        "end_turn" | "stop_sequence" => FinishReason::Stop,
        "max_tokens" => FinishReason::Length,
        "tool_use" => FinishReason::ToolCalls,
        "pause_turn" => FinishReason::Pause,
        "refusal" => FinishReason::Refusal,
        "model_context_window_exceeded" => FinishReason::ContextExceeded,
        _ => FinishReason::Other(Text::from(word)),
    }
}
