//! The JSON of Responses, read leniently: a field of an unexpected type is treated as absent.

use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use crate::decode::{
    lax_json::{LaxNumber, LaxText, LaxWord},
    wire_struct::wire,
};

/// The protocol's name in items.
pub(super) const PROTOCOL: &str = "openai-responses";

wire! {
    /// One event of a stream. Large members stay unparsed until they are needed.
    struct ResponsesEvent<'a> as event, map, ignoring [];
    #[serde(rename = "type")]
    kind: LaxWord<'a>,
    item_id: LaxWord<'a>,
    output_index: LaxNumber,
    content_index: LaxNumber,
    summary_index: LaxNumber,
    delta: LaxText,
    /// The whole text of a completed part, call or refusal.
    #[serde(rename = "text", alias = "refusal", alias = "arguments", alias = "input")]
    whole: Option<&'a RawValue>,
    part: Option<&'a RawValue>,
    item: Option<&'a RawValue>,
    response: Option<&'a RawValue>,
    annotation: Option<&'a RawValue>,
    error: Option<&'a RawValue>,
    /// Members that are not part of the answer, or random bytes that hide its length.
    #[serde(
        rename = "sequence_number",
        alias = "obfuscation",
        alias = "annotation_index",
        alias = "response_id",
        alias = "name"
    )]
    skipped: IgnoredAny,
}
