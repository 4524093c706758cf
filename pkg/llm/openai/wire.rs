//! The JSON of Chat Completions, read tolerantly: a field of an unexpected type is as good as absent.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{self, DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use serde_json::value::RawValue;

use super::content::Content;
use crate::{
    llm::tolerant::{Few, Line, Number, Object, Word, ignore_others, plain},
    types::{Json, Text},
};

/// One chunk of a stream, or a whole answer.
///
/// These structs are large, so they are filled in place instead of returned level by level.
#[derive(Debug, Default)]
pub(super) struct Chunk<'a> {
    pub(super) id: Word<'a>,
    pub(super) model: Word<'a>,
    pub(super) object: Word<'a>,
    pub(super) choices: Choices<'a>,
    pub(super) usage: Option<&'a RawValue>,
    pub(super) x_groq: Option<&'a RawValue>,
    pub(super) error: Option<&'a RawValue>,
    pub(super) citations: Option<&'a RawValue>,
    pub(super) search_results: Option<&'a RawValue>,
}

/// The first choice, and how many others there were.
#[derive(Debug, Default)]
pub(super) struct Choices<'a> {
    pub(super) seen: Seen,
    pub(super) first: Choice<'a>,
    /// The highest index of a choice besides the first.
    pub(super) highest_other: u32,
}

/// What a chunk has of choices.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum Seen {
    /// No list.
    #[default]
    Nothing,
    /// A list without the first choice.
    List,
    /// The first choice.
    First,
}

#[derive(Debug, Default)]
pub(super) struct Choice<'a> {
    index: Number,
    pub(super) delta: Delta<'a>,
    /// In whole answers, and beside `delta` in some dialects.
    pub(super) message: Option<Box<Delta<'a>>>,
    /// In legacy completions.
    pub(super) text: Line,
    pub(super) finish_reason: Line,
    pub(super) usage: Option<&'a RawValue>,
}

#[derive(Debug, Default)]
pub(super) struct Delta<'a> {
    /// Whether there was an object.
    pub(super) present: bool,
    pub(super) role: Line,
    pub(super) content: Content,
    pub(super) refusal: Line,
    /// What the first of the members says that says something.
    pub(super) reasoning: Line,
    /// The member that it is from.
    pub(super) member: Member,
    pub(super) reasoning_details: Option<&'a RawValue>,
    pub(super) annotations: Option<&'a RawValue>,
    pub(super) executed_tools: Option<&'a RawValue>,
    pub(super) tool_calls: Few<Object<CallDelta>>,
    pub(super) function_call: Object<FunctionDelta>,
}

/// The member of a delta or a message that holds the reasoning; every vendor has its own.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum Member {
    /// There is no reasoning.
    #[default]
    None,
    /// `reasoning_content`.
    ReasoningContent,
    /// `reasoning`.
    Reasoning,
}

impl Delta<'_> {
    /// No vendor means two members to be joined; the first that says something counts.
    fn reasoning(&mut self, member: Member, text: Line) {
        if self.reasoning.0.is_empty() && !text.0.is_empty() {
            (self.member, self.reasoning) = (member, text);
        }
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct CallDelta {
    pub(super) index: Number,
    pub(super) id: Line,
    pub(super) function: Object<FunctionDelta>,
}

impl CallDelta {
    /// The one call of the time before there were several.
    pub(super) fn legacy(function: FunctionDelta) -> Self {
        let function = Object(Some(function));
        Self { index: Number(Some(0)), id: Line::default(), function }
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct FunctionDelta {
    pub(super) name: Line,
    pub(super) arguments: Arguments,
}

/// The arguments of a call: a text, or the JSON text of an object.
#[derive(Debug, Default)]
pub(super) struct Arguments(pub(super) Text);

impl<'de> Deserialize<'de> for Arguments {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw: &RawValue = Deserialize::deserialize(deserializer)?;
        let text = raw.get();
        Ok(Self(match text.as_bytes().first() {
            // A text with half a character is an error here, so that nothing of it is lost.
            Some(b'"') => serde_json::from_str::<Line>(text).map_err(de::Error::custom)?.0,
            Some(b'{' | b'[') => {
                Json::parse(text).map(|json| Text::from(plain(json.as_str()))).unwrap_or_default()
            }
            _ => Text::new(),
        }))
    }
}

/// Fills a value in place.
struct Into<'t, T>(&'t mut T);

/// Reads the data of an event.
pub(super) fn chunk<'a>(json: &'a str, chunk: &mut Chunk<'a>) -> Result<(), serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_str(json);
    Into(chunk).deserialize(&mut deserializer)?;
    deserializer.end()
}

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "snake_case")]
enum ChunkKey {
    Id,
    Model,
    Object,
    Choices,
    Usage,
    XGroq,
    Error,
    Citations,
    SearchResults,
    #[serde(other)]
    Unknown,
}

impl<'de: 'a, 'a> DeserializeSeed<'de> for Into<'_, Chunk<'a>> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de: 'a, 'a> Visitor<'de> for Into<'_, Chunk<'a>> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let chunk = self.0;
        while let Some(key) = map.next_key::<ChunkKey>()? {
            match key {
                ChunkKey::Id => chunk.id = map.next_value()?,
                ChunkKey::Model => chunk.model = map.next_value()?,
                ChunkKey::Object => chunk.object = map.next_value()?,
                ChunkKey::Choices => map.next_value_seed(Into(&mut chunk.choices))?,
                ChunkKey::Usage => chunk.usage = map.next_value()?,
                ChunkKey::XGroq => chunk.x_groq = map.next_value()?,
                ChunkKey::Error => chunk.error = map.next_value()?,
                ChunkKey::Citations => chunk.citations = map.next_value()?,
                ChunkKey::SearchResults => chunk.search_results = map.next_value()?,
                ChunkKey::Unknown => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}

impl<'de: 'a, 'a> DeserializeSeed<'de> for Into<'_, Choices<'a>> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de: 'a, 'a> Visitor<'de> for Into<'_, Choices<'a>> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let choices = self.0;
        choices.seen = Seen::List;
        while choices.seen == Seen::List {
            if seq.next_element_seed(Into(&mut choices.first))?.is_none() {
                return Ok(());
            }
            match choices.first.index.0 {
                None | Some(0) => choices.seen = Seen::First,
                Some(other) => {
                    choices.highest_other = choices.highest_other.max(other);
                    choices.first = Choice::default();
                }
            }
        }
        let mut other = Choice::default();
        while seq.next_element_seed(Into(&mut other))?.is_some() {
            let index = std::mem::take(&mut other).index.0.unwrap_or_default();
            choices.highest_other = choices.highest_other.max(index);
        }
        Ok(())
    }

    ignore_others!((), bool number null string map);
}

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "snake_case")]
enum ChoiceKey {
    Index,
    Delta,
    Message,
    Text,
    FinishReason,
    Usage,
    #[serde(other)]
    Unknown,
}

impl<'de: 'a, 'a> DeserializeSeed<'de> for Into<'_, Choice<'a>> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de: 'a, 'a> Visitor<'de> for Into<'_, Choice<'a>> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let choice = self.0;
        while let Some(key) = map.next_key::<ChoiceKey>()? {
            match key {
                ChoiceKey::Index => choice.index = map.next_value()?,
                ChoiceKey::Delta => map.next_value_seed(Into(&mut choice.delta))?,
                ChoiceKey::Message => {
                    let mut message = Box::<Delta<'_>>::default();
                    map.next_value_seed(Into(&mut *message))?;
                    choice.message = Some(message);
                }
                ChoiceKey::Text => choice.text = map.next_value()?,
                ChoiceKey::FinishReason => choice.finish_reason = map.next_value()?,
                ChoiceKey::Usage => choice.usage = map.next_value()?,
                ChoiceKey::Unknown => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }

    ignore_others!((), bool number null string seq);
}

/// The keys of a delta.
#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "snake_case")]
enum DeltaKey {
    Role,
    Content,
    Refusal,
    ReasoningContent,
    Reasoning,
    ReasoningDetails,
    Annotations,
    ExecutedTools,
    ToolCalls,
    FunctionCall,
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
        delta.present = true;
        while let Some(key) = map.next_key::<DeltaKey>()? {
            match key {
                DeltaKey::Role => delta.role = map.next_value()?,
                DeltaKey::Content => delta.content = map.next_value()?,
                DeltaKey::Refusal => delta.refusal = map.next_value()?,
                DeltaKey::ReasoningContent => {
                    delta.reasoning(Member::ReasoningContent, map.next_value()?);
                }
                DeltaKey::Reasoning => delta.reasoning(Member::Reasoning, map.next_value()?),
                DeltaKey::ReasoningDetails => delta.reasoning_details = map.next_value()?,
                DeltaKey::Annotations => delta.annotations = map.next_value()?,
                DeltaKey::ExecutedTools => delta.executed_tools = map.next_value()?,
                DeltaKey::ToolCalls => delta.tool_calls = map.next_value()?,
                DeltaKey::FunctionCall => delta.function_call = map.next_value()?,
                DeltaKey::Unknown => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }

    ignore_others!((), bool number null string seq);
}
