//! The JSON of Ollama's lines, read leniently: a field of an unexpected type is treated as absent.

use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use crate::decode::{
    JsonEntries, UsagePaths,
    lax_json::{FillInto, LaxFlag, LaxList, LaxObject, LaxText, LaxWord, is_text},
    wire_struct::in_place,
};

/// The protocol's name in items.
pub(super) const PROTOCOL: &str = "ollama";

/// One line of a stream, or a whole answer: for chat the contents of `message`, for generate the members
/// next to it.
#[derive(Debug, Default)]
pub(super) struct OllamaLine<'a> {
    pub(super) model: LaxWord<'a>,
    /// The progress after this line.
    pub(super) phase: AnswerPhase,
    pub(super) role: LaxWord<'a>,
    pub(super) content: LaxText,
    pub(super) thinking: LaxText,
    /// The calls, which are always complete.
    pub(super) calls: LaxList<LaxObject<JsonEntries<'a>>>,
    /// Images in base64.
    pub(super) images: Vec<&'a RawValue>,
    pub(super) done_reason: LaxText,
    pub(super) error: Option<&'a RawValue>,
    /// The unknown members of the message and of the line.
    pub(super) rest: JsonEntries<'a>,
    pub(super) more: JsonEntries<'a>,
}

/// The progress of an answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum AnswerPhase {
    /// No part of an answer has been seen.
    #[default]
    Unknown,
    /// The model is writing.
    Open,
    /// The answer is complete.
    Done,
}

/// The counters of the response: tokens, and times in nanoseconds.
const COUNTERS: [&str; 6] = [
    "prompt_eval_count",
    "eval_count",
    "total_duration",
    "load_duration",
    "prompt_eval_duration",
    "eval_duration",
];

pub(super) const USAGE: UsagePaths = UsagePaths {
    input: &["prompt_eval_count"],
    output: &["eval_count"],
    cache_read: &[],
    cache_write: &[],
    reasoning: &[],
};

in_place! { OllamaLine<'a> as answer, map, ignoring [];
    Model => answer.model = map.next_value()?,
    Message => map.next_value_seed(FillInto(&mut MessageMembers(answer)))?,
    Response => {
        answer.phase = answer.phase.max(AnswerPhase::Open);
        answer.content = map.next_value()?;
    },
    Thinking => answer.thinking = map.next_value()?,
    ToolCalls => answer.calls = map.next_value()?,
    Image => {
        let image: &RawValue = map.next_value()?;
        answer.images.extend(Some(image).filter(|raw| is_text(raw)));
    },
    Done => {
        let is_done = map.next_value::<LaxFlag>()?.0;
        answer.phase = if is_done { AnswerPhase::Done } else { AnswerPhase::Open };
    },
    DoneReason => answer.done_reason = map.next_value()?,
    Error => answer.error = map.next_value()?,
    /// The counters are read at the end; the other members are not part of the answer.
    #[serde(
        alias = "prompt_eval_count",
        alias = "eval_count",
        alias = "total_duration",
        alias = "load_duration",
        alias = "prompt_eval_duration",
        alias = "eval_duration",
        alias = "remote_model",
        alias = "remote_host",
        alias = "context"
    )]
    CreatedAt => { map.next_value::<IgnoredAny>()?; },
    ; else name => answer.more.push(name.0, map.next_value()?)
}

/// The members of the message, which are read into the answer.
struct MessageMembers<'t, 'a>(&'t mut OllamaLine<'a>);

in_place! { MessageMembers<'_, 'a> as message, map, ignoring [bool number null string seq];
    // A string in its place belongs to an error.
    @ message.0.phase = message.0.phase.max(AnswerPhase::Open);
    Role => message.0.role = map.next_value()?,
    Content => message.0.content = map.next_value()?,
    Thinking => message.0.thinking = map.next_value()?,
    ToolCalls => message.0.calls = map.next_value()?,
    Images => {
        let images: LaxList<&RawValue> = map.next_value()?;
        message.0.images.extend(images.into_members().filter(|raw| is_text(raw)));
    },
    ; else name => message.0.rest.push(name.0, map.next_value()?)
}

/// Returns the counters of a line, as written by the server.
pub(super) fn counters(line: &str) -> Option<Box<RawValue>> {
    let line = JsonEntries::parse(line);
    let counters = COUNTERS.iter().filter_map(|name| Some((name, line.written(name)?)));
    let fields: Vec<_> = counters.map(|(name, raw)| format!("\"{name}\":{raw}")).collect();
    let raw = RawValue::from_string(format!("{{{}}}", fields.join(","))).ok();
    raw.filter(|_| !fields.is_empty())
}

/// Returns the media type of an image, by the first characters of its base64.
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
