//! The JSON of Responses, read laxly: a field of an unexpected type is as good as absent.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::{
    llm::decode::lax_json::{Count, Line, Number, Object, Word, ignore_others, in_place, value},
    types::{FinishReason, Text, UsageInfo},
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

in_place! { Event<'a> as event, map, ignoring [];
    Type => event.kind = map.next_value()?,
    ItemId => event.item_id = map.next_value()?,
    OutputIndex => event.output_index = map.next_value()?,
    ContentIndex => event.content_index = map.next_value()?,
    SummaryIndex => event.summary_index = map.next_value()?,
    Delta => event.delta = map.next_value()?,
    #[serde(alias = "refusal", alias = "arguments", alias = "input")]
    Text => event.whole = map.next_value()?,
    Part => event.part = map.next_value()?,
    Item => event.item = map.next_value()?,
    Response => event.response = map.next_value()?,
    Annotation => event.annotation = map.next_value()?,
    Error => event.error = map.next_value()?,
}

/// A response as a whole, in the events that begin and end it and as an answer that is not streamed.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Response<'a> {
    pub(super) id: Word<'a>,
    pub(super) object: Word<'a>,
    pub(super) model: Word<'a>,
    pub(super) status: Word<'a>,
    pub(super) usage: Option<&'a RawValue>,
    pub(super) error: Option<&'a RawValue>,
    pub(super) incomplete_details: Option<&'a RawValue>,
    pub(super) output: Option<&'a RawValue>,
}

/// One item of the output.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Item<'a> {
    #[serde(rename = "type")]
    pub(super) kind: Word<'a>,
    pub(super) id: Word<'a>,
    pub(super) status: Word<'a>,
    pub(super) role: Word<'a>,
    pub(super) phase: Option<&'a RawValue>,
    pub(super) call_id: Word<'a>,
    pub(super) name: Word<'a>,
    pub(super) arguments: Option<&'a RawValue>,
    pub(super) input: Option<&'a RawValue>,
    pub(super) content: Option<&'a RawValue>,
    pub(super) summary: Option<&'a RawValue>,
    pub(super) action: Option<&'a RawValue>,
    pub(super) queries: Option<&'a RawValue>,
    pub(super) code: Option<&'a RawValue>,
    pub(super) results: Option<&'a RawValue>,
    pub(super) outputs: Option<&'a RawValue>,
    pub(super) output: Option<&'a RawValue>,
    pub(super) error: Option<&'a RawValue>,
    pub(super) output_format: Word<'a>,
}

/// One part of a message's content or of a reasoning's content or summary.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Part<'a> {
    #[serde(rename = "type")]
    pub(super) kind: Word<'a>,
    pub(super) text: Option<&'a RawValue>,
    pub(super) refusal: Option<&'a RawValue>,
    pub(super) annotations: Option<&'a RawValue>,
}

/// The source of a passage of the text.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Annotation<'a> {
    pub(super) url: Word<'a>,
    pub(super) title: Word<'a>,
    pub(super) filename: Word<'a>,
    pub(super) start_index: Count,
    pub(super) end_index: Count,
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

/// Returns the counts in a usage object.
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

/// Returns the reason for a status; `None` for a response that failed.
pub(super) fn finish_reason(
    status: &str,
    incomplete_details: Option<&RawValue>,
) -> Option<FinishReason> {
    #[derive(Default, Deserialize)]
    #[serde(default, bound(deserialize = "'de: 'a"))]
    struct Details<'a> {
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
