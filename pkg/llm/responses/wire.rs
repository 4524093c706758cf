//! The JSON of Responses, read tolerantly: a field of an unexpected type is as good as absent.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeSeed, IgnoredAny, MapAccess, Visitor},
};
use serde_json::value::RawValue;

use crate::{
    llm::tolerant::{Count, Line, Number, Object, Word, plain},
    types::{FinishReason, Json, Text, UsageInfo},
};

/// One event of a stream. What is large stays raw until it is known to be needed.
#[derive(Debug, Default)]
pub(super) struct Event<'a> {
    pub(super) kind: Word<'a>,
    pub(super) item_id: Word<'a>,
    pub(super) output_index: Number,
    pub(super) content_index: Number,
    pub(super) summary_index: Number,
    pub(super) delta: Line,
    /// The whole text of a part, call or refusal that is over.
    pub(super) whole: Option<&'a RawValue>,
    pub(super) part: Option<&'a RawValue>,
    pub(super) item: Option<&'a RawValue>,
    pub(super) response: Option<&'a RawValue>,
    pub(super) annotation: Option<&'a RawValue>,
    pub(super) error: Option<&'a RawValue>,
}

impl Event<'_> {
    /// Whether there are values that are not read yet.
    pub(super) fn has_raw(&self) -> bool {
        let raw = [self.whole, self.part, self.item, self.response, self.annotation];
        raw.iter().any(Option::is_some)
    }
}

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "snake_case")]
enum EventKey {
    Type,
    ItemId,
    OutputIndex,
    ContentIndex,
    SummaryIndex,
    Delta,
    #[serde(alias = "refusal", alias = "arguments", alias = "input")]
    Text,
    Part,
    Item,
    Response,
    Annotation,
    Error,
    #[serde(other)]
    Unknown,
}

/// Fills an event in place.
struct Into<'t, 'a>(&'t mut Event<'a>);

/// Reads the data of an event.
pub(super) fn event<'a>(json: &'a str, event: &mut Event<'a>) -> Result<(), serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_str(json);
    Into(event).deserialize(&mut deserializer)?;
    deserializer.end()
}

impl<'de: 'a, 'a> DeserializeSeed<'de> for Into<'_, 'a> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de: 'a, 'a> Visitor<'de> for Into<'_, 'a> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let event = self.0;
        while let Some(key) = map.next_key::<EventKey>()? {
            match key {
                EventKey::Type => event.kind = map.next_value()?,
                EventKey::ItemId => event.item_id = map.next_value()?,
                EventKey::OutputIndex => event.output_index = map.next_value()?,
                EventKey::ContentIndex => event.content_index = map.next_value()?,
                EventKey::SummaryIndex => event.summary_index = map.next_value()?,
                EventKey::Delta => event.delta = map.next_value()?,
                EventKey::Text => event.whole = map.next_value()?,
                EventKey::Part => event.part = map.next_value()?,
                EventKey::Item => event.item = map.next_value()?,
                EventKey::Response => event.response = map.next_value()?,
                EventKey::Annotation => event.annotation = map.next_value()?,
                EventKey::Error => event.error = map.next_value()?,
                EventKey::Unknown => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}

/// A response as a whole, in the events that begin and end it and as an answer that is not streamed.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Response<'a> {
    #[serde(borrow)]
    pub(super) id: Word<'a>,
    #[serde(borrow)]
    pub(super) object: Word<'a>,
    #[serde(borrow)]
    pub(super) model: Word<'a>,
    #[serde(borrow)]
    pub(super) status: Word<'a>,
    #[serde(borrow)]
    pub(super) usage: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) incomplete_details: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) output: Option<&'a RawValue>,
}

/// One item of the output.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Item<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Word<'a>,
    #[serde(borrow)]
    pub(super) id: Word<'a>,
    #[serde(borrow)]
    pub(super) status: Word<'a>,
    #[serde(borrow)]
    pub(super) role: Word<'a>,
    #[serde(borrow)]
    pub(super) phase: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) call_id: Word<'a>,
    #[serde(borrow)]
    pub(super) name: Word<'a>,
    #[serde(borrow)]
    pub(super) arguments: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) input: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) content: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) summary: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) action: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) queries: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) code: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) results: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) outputs: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) output: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) output_format: Word<'a>,
}

/// One part of a message's content or of a reasoning's content or summary.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Part<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Word<'a>,
    #[serde(borrow)]
    pub(super) text: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) refusal: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) annotations: Option<&'a RawValue>,
}

/// Where a passage of the text is from.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Annotation<'a> {
    #[serde(borrow)]
    pub(super) url: Word<'a>,
    #[serde(borrow)]
    pub(super) title: Word<'a>,
    #[serde(borrow)]
    pub(super) filename: Word<'a>,
    pub(super) start_index: Count,
    pub(super) end_index: Count,
}

/// A value, or its default when it is something else.
pub(super) fn value<'a, T: Deserialize<'a> + Default>(raw: &'a RawValue) -> T {
    serde_json::from_str(raw.get()).unwrap_or_default()
}

/// The members of a list; of anything else, none.
pub(super) fn list(raw: Option<&RawValue>) -> Vec<&RawValue> {
    raw.map(value).unwrap_or_default()
}

/// A text; anything else is the empty text.
pub(super) fn text(raw: Option<&RawValue>) -> Text {
    raw.map(value::<Line>).unwrap_or_default().0
}

/// The arguments of a call: a text, or the JSON text of an object.
pub(super) fn arguments(raw: Option<&RawValue>) -> Text {
    let Some(raw) = raw else { return Text::new() };
    if raw.get().starts_with(['{', '[']) {
        return Json::parse(raw.get())
            .map(|json| Text::from(plain(json.as_str())))
            .unwrap_or_default();
    }
    text(Some(raw))
}

/// The usage object.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Usage {
    input_tokens: Count,
    output_tokens: Count,
    input_tokens_details: Object<InputDetails>,
    output_tokens_details: Object<OutputDetails>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct InputDetails {
    cached_tokens: Count,
    cache_write_tokens: Count,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct OutputDetails {
    reasoning_tokens: Count,
}

/// The counts in a usage object.
pub(super) fn usage(raw: &RawValue) -> UsageInfo {
    let usage: Usage = value(raw);
    let input = usage.input_tokens_details.0.unwrap_or_default();
    let output = usage.output_tokens_details.0.unwrap_or_default();
    UsageInfo {
        input_tokens: usage.input_tokens.0,
        output_tokens: usage.output_tokens.0,
        cache_read_tokens: input.cached_tokens.0,
        cache_write_tokens: input.cache_write_tokens.0,
        reasoning_tokens: output.reasoning_tokens.0,
    }
}

/// What a status means; `None` for a response that failed.
pub(super) fn finish_reason(
    status: &str,
    incomplete_details: Option<&RawValue>,
) -> Option<FinishReason> {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Details<'a> {
        #[serde(borrow)]
        reason: Word<'a>,
    }
    let details = incomplete_details.map(value::<Details<'_>>).unwrap_or_default();
    Some(match (status, &*details.reason.0) {
        ("completed", _) => FinishReason::Stop,
        ("failed", _) => return None,
        ("incomplete", "max_output_tokens") => FinishReason::Length,
        ("incomplete", "content_filter") => FinishReason::ContentFilter,
        (_, "") => FinishReason::Other(Text::from(status)),
        (_, reason) => FinishReason::Other(Text::from(reason)),
    })
}
