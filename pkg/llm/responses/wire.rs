//! The JSON of Responses, read laxly: a field of an unexpected type is as good as absent.

use serde_json::value::RawValue;

use crate::llm::decode::lax_json::{Line, Number, Word, ignore_others, in_place};

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
