//! The JSON of Chat Completions, read tolerantly: a field of an unexpected type is as good as absent.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{self, DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use serde_json::value::RawValue;

use crate::{
    llm::tolerant::{Count, Few, Line, Number, Object, Reads, Word, ignore_others, plain, read},
    types::{FinishReason, Json, Text, UsageInfo},
};

/// One chunk of a stream, or a whole answer.
///
/// These structs are large, so they are filled in place instead of returned level by level.
#[derive(Debug, Default)]
pub(super) struct Chunk<'a> {
    pub(super) id: Word<'a>,
    pub(super) model: Word<'a>,
    pub(super) object: Word<'a>,
    pub(super) choices: Choices,
    pub(super) usage: Option<&'a RawValue>,
    pub(super) x_groq: Option<&'a RawValue>,
    pub(super) error: Option<&'a RawValue>,
}

/// The first choice, and how many others there were.
#[derive(Debug, Default)]
pub(super) struct Choices {
    pub(super) seen: Seen,
    pub(super) first: Choice,
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
pub(super) struct Choice {
    index: Number,
    pub(super) delta: Delta,
    /// In whole answers, and beside `delta` in some dialects.
    pub(super) message: Option<Box<Delta>>,
    /// In legacy completions.
    pub(super) text: Line,
    pub(super) finish_reason: Line,
    pub(super) usage: Option<Box<RawValue>>,
}

#[derive(Debug, Default)]
pub(super) struct Delta {
    /// Whether there was an object.
    pub(super) present: bool,
    pub(super) role: Line,
    pub(super) content: Content,
    pub(super) refusal: Line,
    /// `reasoning_content`, else `reasoning`.
    pub(super) reasoning: Line,
    pub(super) tool_calls: Vec<CallDelta>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct CallDelta {
    pub(super) index: Number,
    pub(super) id: Line,
    pub(super) function: Object<FunctionDelta>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct FunctionDelta {
    pub(super) name: Line,
    pub(super) arguments: Arguments,
}

/// Content: thinking and text in order, as in Mistral's lists of parts, or just a text.
#[derive(Debug, Default)]
pub(super) struct Content {
    pub(super) text: Text,
    /// Parts before `text`, when there are several.
    pub(super) before: Vec<(bool, Text)>,
    pub(super) is_thinking: bool,
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
                ChunkKey::Unknown => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for Into<'_, Choices> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Into<'_, Choices> {
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

impl<'de> DeserializeSeed<'de> for Into<'_, Choice> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Into<'_, Choice> {
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
                    let mut message = Box::<Delta>::default();
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
    ToolCalls,
    FunctionCall,
    #[serde(other)]
    Unknown,
}

impl<'de> DeserializeSeed<'de> for Into<'_, Delta> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Into<'_, Delta> {
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
                DeltaKey::ReasoningContent | DeltaKey::Reasoning => {
                    // No vendor means them to be joined; the first that says something counts.
                    let reasoning: Line = map.next_value()?;
                    if delta.reasoning.0.is_empty() {
                        delta.reasoning = reasoning;
                    }
                }
                DeltaKey::ToolCalls => {
                    let calls: Few<Object<CallDelta>> = map.next_value()?;
                    delta.tool_calls.extend(calls.into_members().filter_map(|call| call.0));
                }
                DeltaKey::FunctionCall => {
                    let function = map.next_value::<Object<_>>()?;
                    let (index, id) = (Number(Some(0)), Line::default());
                    let call = CallDelta { index, id, function };
                    delta.tool_calls.extend(Some(call).filter(|it| it.function.0.is_some()));
                }
                DeltaKey::Unknown => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }

    ignore_others!((), bool number null string seq);
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read(deserializer)
    }
}

/// One part of a content list.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Part {
    text: Line,
    thinking: Content,
}

impl Content {
    fn add(&mut self, is_thinking: bool, text: &str) {
        if text.is_empty() {
            return;
        }
        if self.is_thinking != is_thinking && !self.text.is_empty() {
            self.before.push((self.is_thinking, std::mem::take(&mut self.text)));
        }
        self.is_thinking = is_thinking;
        self.text.push_str(text);
    }

    fn add_part(&mut self, part: &Part) {
        for (_, text) in &part.thinking.before {
            self.add(true, text);
        }
        self.add(true, &part.thinking.text);
        self.add(false, &part.text.0);
    }
}

impl<'de> Visitor<'de> for Reads<Content> {
    type Value = Content;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_str<E>(self, text: &str) -> Result<Content, E> {
        Ok(Content { text: Text::from(text), ..Content::default() })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Content, A::Error> {
        let mut content = Content::default();
        while let Some(part) = seq.next_element::<StrOrPart>()? {
            match part {
                StrOrPart::Str(text) => content.add(false, &text),
                StrOrPart::Part(part) => content.add_part(&part),
            }
        }
        Ok(content)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Content, A::Error> {
        let part = Part::deserialize(serde::de::value::MapAccessDeserializer::new(map))?;
        let mut content = Content::default();
        content.add_part(&part);
        Ok(content)
    }

    ignore_others!(Content, bool number null);
}

/// A member of a content list.
#[derive(Debug)]
enum StrOrPart {
    Str(Text),
    Part(Part),
}

impl Default for StrOrPart {
    fn default() -> Self {
        Self::Str(Text::new())
    }
}

impl<'de> Deserialize<'de> for StrOrPart {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read(deserializer)
    }
}

impl<'de> Visitor<'de> for Reads<StrOrPart> {
    type Value = StrOrPart;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_str<E>(self, text: &str) -> Result<StrOrPart, E> {
        Ok(StrOrPart::Str(Text::from(text)))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<StrOrPart, A::Error> {
        Part::deserialize(serde::de::value::MapAccessDeserializer::new(map)).map(StrOrPart::Part)
    }

    ignore_others!(StrOrPart, bool number null seq);
}

/// The usage object, in the words of several vendors.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Usage {
    prompt_tokens: Count,
    input_tokens: Count,
    completion_tokens: Count,
    output_tokens: Count,
    prompt_cache_hit_tokens: Count,
    prompt_tokens_details: Object<PromptDetails>,
    completion_tokens_details: Object<CompletionDetails>,
    reasoning_tokens: Count,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct PromptDetails {
    cached_tokens: Count,
    cache_write_tokens: Count,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct CompletionDetails {
    reasoning_tokens: Count,
}

/// The counts in a vendor's usage object.
pub(super) fn usage(raw: &RawValue) -> UsageInfo {
    let usage: Usage = serde_json::from_str(raw.get()).unwrap_or_default();
    let prompt = usage.prompt_tokens_details.0.unwrap_or_default();
    let completion = usage.completion_tokens_details.0.unwrap_or_default();
    UsageInfo {
        input_tokens: usage.prompt_tokens.0.or(usage.input_tokens.0),
        output_tokens: usage.completion_tokens.0.or(usage.output_tokens.0),
        cache_read_tokens: prompt.cached_tokens.0.or(usage.prompt_cache_hit_tokens.0),
        cache_write_tokens: prompt.cache_write_tokens.0,
        reasoning_tokens: completion.reasoning_tokens.0.or(usage.reasoning_tokens.0),
    }
}

/// What a vendor's word for the end means.
pub(super) fn finish_reason(word: &str) -> FinishReason {
    match word {
        "stop" | "end_turn" | "stop_sequence" | "eos" => FinishReason::Stop,
        "tool_calls" | "function_call" | "tool_use" => FinishReason::ToolCalls,
        "length" | "max_tokens" | "model_length" => FinishReason::Length,
        "content_filter" => FinishReason::ContentFilter,
        "refusal" => FinishReason::Refusal,
        _ => FinishReason::Other(Text::from(word)),
    }
}

/// The usage object inside `x_groq`.
pub(super) fn groq_usage(x_groq: &RawValue) -> Option<&RawValue> {
    #[derive(Deserialize)]
    struct Groq<'a> {
        #[serde(borrow)]
        usage: Option<&'a RawValue>,
    }
    serde_json::from_str::<Groq<'_>>(x_groq.get()).ok()?.usage
}
