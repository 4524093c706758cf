//! The JSON of Responses, read leniently: a field of an unexpected type is treated as absent.

use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use crate::llm::decode::{
    Entries,
    lax_json::{Line, Number, Word, ignore_others, in_place, wire},
};

wire! {
    /// One event of a stream. Large members stay unparsed until they are needed.
    struct Event<'a> as event, map, ignoring [];
    #[serde(rename = "type")]
    kind: Word<'a>,
    item_id: Word<'a>,
    output_index: Number,
    content_index: Number,
    summary_index: Number,
    delta: Line,
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
    // All other members.
    ; besides rest: Entries<'a>
    ; else name => event.rest.push(name.0, map.next_value()?)
}
