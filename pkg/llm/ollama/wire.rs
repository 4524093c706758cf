//! The JSON of Ollama's lines, read tolerantly: a field of an unexpected type is as good as absent.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use serde_json::value::RawValue;

use crate::{
    llm::tolerant::{Count, Few, Flag, Line, Object, Word, ignore_others, plain},
    types::{FinishReason, Json, Text, UsageInfo},
};

/// One line of a stream, or a whole answer: of chat what is in `message`, of generate what stands
/// beside it.
#[derive(Debug, Default)]
pub(super) struct Answer<'a> {
    pub(super) model: Word<'a>,
    /// How far it is, by this line.
    pub(super) phase: Phase,
    pub(super) role: Word<'a>,
    pub(super) content: Line,
    pub(super) thinking: Line,
    pub(super) calls: Vec<Call<'a>>,
    /// Pictures in base64.
    pub(super) images: Vec<&'a RawValue>,
    pub(super) done_reason: Line,
    pub(super) error: Option<&'a RawValue>,
    counters: Counters<'a>,
}

/// How far an answer has come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Phase {
    /// Nothing of an answer was seen.
    #[default]
    Unknown,
    /// It is being written.
    Open,
    /// It is whole.
    Done,
}

/// What the response cost: tokens, and times in nanoseconds.
#[derive(Debug, Default)]
struct Counters<'a> {
    prompt_tokens: Option<&'a RawValue>,
    tokens: Option<&'a RawValue>,
    total_time: Option<&'a RawValue>,
    load_time: Option<&'a RawValue>,
    prompt_time: Option<&'a RawValue>,
    time: Option<&'a RawValue>,
}

/// A call; they come whole.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Call<'a> {
    pub(super) id: Line,
    #[serde(borrow)]
    pub(super) function: Object<Function<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Function<'a> {
    pub(super) name: Line,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

impl Function<'_> {
    /// The JSON text of the arguments; empty when there are none.
    pub(super) fn arguments(&self) -> Text {
        let text = self.arguments.map_or("", RawValue::get);
        match text.as_bytes().first() {
            // Some servers that speak this protocol write them as OpenAI does.
            Some(b'"') => serde_json::from_str::<Line>(text).unwrap_or_default().0,
            Some(b'{' | b'[') => {
                Json::parse(text).map(|json| Text::from(plain(json.as_str()))).unwrap_or_default()
            }
            _ => Text::new(),
        }
    }
}

/// Fills a value in place.
struct Into<'t, T>(&'t mut T);

/// Reads a line.
pub(super) fn answer<'a>(json: &'a str, answer: &mut Answer<'a>) -> Result<(), serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_str(json);
    Into(answer).deserialize(&mut deserializer)?;
    deserializer.end()
}

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "snake_case")]
enum AnswerKey {
    Model,
    Message,
    Response,
    Thinking,
    ToolCalls,
    Image,
    Done,
    DoneReason,
    Error,
    PromptEvalCount,
    EvalCount,
    TotalDuration,
    LoadDuration,
    PromptEvalDuration,
    EvalDuration,
    #[serde(other)]
    Unknown,
}

impl<'de: 'a, 'a> DeserializeSeed<'de> for Into<'_, Answer<'a>> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de: 'a, 'a> Visitor<'de> for Into<'_, Answer<'a>> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let answer = self.0;
        while let Some(key) = map.next_key::<AnswerKey>()? {
            match key {
                AnswerKey::Model => answer.model = map.next_value()?,
                AnswerKey::Message => {
                    answer.phase = answer.phase.max(Phase::Open);
                    map.next_value_seed(InMessage(answer))?;
                }
                AnswerKey::Response => {
                    answer.phase = answer.phase.max(Phase::Open);
                    answer.content = map.next_value()?;
                }
                AnswerKey::Thinking => answer.thinking = map.next_value()?,
                AnswerKey::ToolCalls => answer.calls = calls(&mut map)?,
                AnswerKey::Image => {
                    let image: &RawValue = map.next_value()?;
                    answer.images.extend(Some(image).filter(|raw| is_text(raw)));
                }
                AnswerKey::Done => {
                    let is_done = map.next_value::<Flag>()?.0;
                    answer.phase = if is_done { Phase::Done } else { Phase::Open };
                }
                AnswerKey::DoneReason => answer.done_reason = map.next_value()?,
                AnswerKey::Error => answer.error = map.next_value()?,
                AnswerKey::PromptEvalCount => {
                    answer.counters.prompt_tokens = Some(map.next_value()?);
                }
                AnswerKey::EvalCount => answer.counters.tokens = Some(map.next_value()?),
                AnswerKey::TotalDuration => answer.counters.total_time = Some(map.next_value()?),
                AnswerKey::LoadDuration => answer.counters.load_time = Some(map.next_value()?),
                AnswerKey::PromptEvalDuration => {
                    answer.counters.prompt_time = Some(map.next_value()?);
                }
                AnswerKey::EvalDuration => answer.counters.time = Some(map.next_value()?),
                AnswerKey::Unknown => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}

fn calls<'de, A: MapAccess<'de>>(map: &mut A) -> Result<Vec<Call<'de>>, A::Error> {
    let calls: Few<Object<Call<'de>>> = map.next_value()?;
    Ok(calls.into_members().filter_map(|Object(call)| call).collect())
}

fn is_text(raw: &RawValue) -> bool {
    raw.get().starts_with('"')
}

/// Fills in what the message says.
struct InMessage<'t, 'a>(&'t mut Answer<'a>);

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "snake_case")]
enum MessageKey {
    Role,
    Content,
    Thinking,
    ToolCalls,
    Images,
    #[serde(other)]
    Unknown,
}

impl<'de: 'a, 'a> DeserializeSeed<'de> for InMessage<'_, 'a> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de: 'a, 'a> Visitor<'de> for InMessage<'_, 'a> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let answer = self.0;
        while let Some(key) = map.next_key::<MessageKey>()? {
            match key {
                MessageKey::Role => answer.role = map.next_value()?,
                MessageKey::Content => answer.content = map.next_value()?,
                MessageKey::Thinking => answer.thinking = map.next_value()?,
                MessageKey::ToolCalls => answer.calls = calls(&mut map)?,
                MessageKey::Images => {
                    let images: Few<&RawValue> = map.next_value()?;
                    answer.images.extend(images.into_members().filter(|raw| is_text(raw)));
                }
                MessageKey::Unknown => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }

    ignore_others!((), bool number null string seq);
}

impl Answer<'_> {
    /// The tokens that the line reports, and its counters as the server wrote them.
    pub(super) fn usage(&self) -> Option<(UsageInfo, Json)> {
        let counters = &self.counters;
        let named = [
            ("prompt_eval_count", counters.prompt_tokens),
            ("eval_count", counters.tokens),
            ("total_duration", counters.total_time),
            ("load_duration", counters.load_time),
            ("prompt_eval_duration", counters.prompt_time),
            ("eval_duration", counters.time),
        ];
        let fields = named
            .iter()
            .filter_map(|(name, value)| value.map(|value| format!("\"{name}\":{}", value.get())));
        let fields: Vec<_> = fields.collect();
        if fields.is_empty() {
            return None;
        }
        let count = |value: Option<&RawValue>| {
            serde_json::from_str::<Count>(value?.get()).ok().and_then(|count| count.0)
        };
        let usage = UsageInfo {
            input_tokens: count(counters.prompt_tokens),
            output_tokens: count(counters.tokens),
            ..UsageInfo::default()
        };
        Some((usage, Json::parse(&format!("{{{}}}", fields.join(","))).ok()?))
    }
}

/// What the word for the end means.
pub(super) fn finish_reason(word: &str) -> FinishReason {
    match word {
        "stop" => FinishReason::Stop,
        "length" => FinishReason::Length,
        _ => FinishReason::Other(Text::from(word)),
    }
}

/// What picture it is, by the first characters of its base64.
pub(super) fn picture_type(base64: &str) -> &'static str {
    let kinds = [
        ("iVBOR", "image/png"),
        ("/9j/", "image/jpeg"),
        ("R0lG", "image/gif"),
        ("UklG", "image/webp"),
    ];
    let base64 = base64.trim_start_matches('"');
    let kind = kinds.iter().find(|(start, _)| base64.starts_with(start));
    kind.map_or("application/octet-stream", |(_, name)| name)
}
