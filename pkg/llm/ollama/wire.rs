//! The JSON of Ollama's lines, read laxly: a field of an unexpected type is as good as absent.

use serde_json::value::RawValue;

use crate::{
    llm::decode::{
        Entries,
        lax_json::{
            Count, Few, Flag, Into, Line, Object, Word, ignore_others, in_place, is_text, value,
        },
    },
    types::{Json, UsageInfo},
};

/// One line of a stream, or a whole answer: of chat what is in `message`, of generate what stands
/// beside it.
#[derive(Debug, Default)]
pub(super) struct Answer<'a> {
    pub(super) model: Word<'a>,
    /// The progress by this line.
    pub(super) phase: Phase,
    pub(super) role: Word<'a>,
    pub(super) content: Line,
    pub(super) thinking: Line,
    /// They come whole.
    pub(super) calls: Few<Object<Entries<'a>>>,
    /// Pictures in base64.
    pub(super) images: Vec<&'a RawValue>,
    pub(super) done_reason: Line,
    pub(super) error: Option<&'a RawValue>,
    /// The values of [`COUNTERS`].
    counters: [Option<&'a RawValue>; 6],
}

/// The progress of an answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Phase {
    /// Nothing of an answer was seen.
    #[default]
    Unknown,
    /// The model is writing.
    Open,
    /// The answer is whole.
    Done,
}

/// The cost of the response: tokens, and times in nanoseconds.
const COUNTERS: [&str; 6] = [
    "prompt_eval_count",
    "eval_count",
    "total_duration",
    "load_duration",
    "prompt_eval_duration",
    "eval_duration",
];

in_place! { Answer<'a> as answer, map, ignoring [];
    Model => answer.model = map.next_value()?,
    Message => {
        answer.phase = answer.phase.max(Phase::Open);
        map.next_value_seed(Into(&mut Message(answer)))?;
    },
    Response => {
        answer.phase = answer.phase.max(Phase::Open);
        answer.content = map.next_value()?;
    },
    Thinking => answer.thinking = map.next_value()?,
    ToolCalls => answer.calls = map.next_value()?,
    Image => {
        let image: &RawValue = map.next_value()?;
        answer.images.extend(Some(image).filter(|raw| is_text(raw)));
    },
    Done => {
        let is_done = map.next_value::<Flag>()?.0;
        answer.phase = if is_done { Phase::Done } else { Phase::Open };
    },
    DoneReason => answer.done_reason = map.next_value()?,
    Error => answer.error = map.next_value()?,
    PromptEvalCount => answer.counters[0] = Some(map.next_value()?),
    EvalCount => answer.counters[1] = Some(map.next_value()?),
    TotalDuration => answer.counters[2] = Some(map.next_value()?),
    LoadDuration => answer.counters[3] = Some(map.next_value()?),
    PromptEvalDuration => answer.counters[4] = Some(map.next_value()?),
    EvalDuration => answer.counters[5] = Some(map.next_value()?),
}

/// The members of the message, which are filled into the answer.
struct Message<'t, 'a>(&'t mut Answer<'a>);

in_place! { Message<'_, 'a> as message, map, ignoring [bool number null string seq];
    Role => message.0.role = map.next_value()?,
    Content => message.0.content = map.next_value()?,
    Thinking => message.0.thinking = map.next_value()?,
    ToolCalls => message.0.calls = map.next_value()?,
    Images => {
        let images: Few<&RawValue> = map.next_value()?;
        message.0.images.extend(images.into_members().filter(|raw| is_text(raw)));
    },
}

impl Answer<'_> {
    /// Returns the tokens that the line reports, and its counters as the server wrote them.
    pub(super) fn usage(&self) -> Option<(UsageInfo, Json)> {
        if self.counters.iter().all(Option::is_none) {
            return None;
        }
        let named = COUNTERS.iter().zip(self.counters);
        let fields = named
            .filter_map(|(name, value)| value.map(|value| format!("\"{name}\":{}", value.get())));
        let fields: Vec<_> = fields.collect();
        let [input, output, ..] =
            self.counters.map(|raw| raw.and_then(|raw| value::<Count>(raw).0));
        let usage =
            UsageInfo { input_tokens: input, output_tokens: output, ..UsageInfo::default() };
        Some((usage, Json::parse(&format!("{{{}}}", fields.join(","))).ok()?))
    }
}

/// Returns the type of a picture by the first characters of its base64.
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
