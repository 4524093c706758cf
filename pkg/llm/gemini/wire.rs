//! The JSON of Gemini's answers, read laxly: a field of an unexpected type is as good as absent.

use serde::{
    Deserialize,
    de::{IgnoredAny, MapAccess, SeqAccess},
};
use serde_json::value::RawValue;

use crate::{
    llm::{
        StreamChunk,
        decode::lax_json::{
            Count, Few, Flag, Line, Number, Object, Word, ignore_others, lax, plain, value,
        },
    },
    types::{Json, Text, UsageInfo},
};

/// One piece of a stream, or a whole answer.
///
/// What is rare stays text until it is wanted, so that these structs are small: they are moved from
/// level to level.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct Response<'a> {
    pub(super) candidates: Few<Object<Candidate<'a>>>,
    pub(super) prompt_feedback: Option<&'a RawValue>,
    pub(super) usage_metadata: Skipped,
    pub(super) model_version: Word<'a>,
    #[serde(rename = "responseId")]
    pub(super) id: Word<'a>,
    pub(super) error: Option<&'a RawValue>,
    /// The member in which gateways wrap the answer.
    #[serde(rename = "response")]
    pub(super) wrapped: Option<&'a RawValue>,
}

impl Response<'_> {
    /// Returns `true` when there is nothing of an answer.
    pub(super) fn is_blank(&self) -> bool {
        self.candidates.is_empty()
            && self.prompt_feedback.is_none()
            && !self.usage_metadata.is_there
            && self.error.is_none()
            && self.wrapped.is_none()
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct Candidate<'a> {
    index: Number,
    pub(super) content: Object<Content<'a>>,
    pub(super) finish_reason: Word<'a>,
    pub(super) finish_message: Option<&'a RawValue>,
    pub(super) citation_metadata: Option<&'a RawValue>,
    pub(super) grounding_metadata: Option<&'a RawValue>,
    pub(super) url_context_metadata: Option<&'a RawValue>,
}

impl Candidate<'_> {
    /// Returns the number of the answer; only the first is read.
    pub(super) fn index(&self) -> u32 {
        self.index.0.unwrap_or_default()
    }

    /// Returns the word for the end, once there is one; `FINISH_REASON_UNSPECIFIED` stands for none.
    pub(super) fn finish_word(&self) -> Option<&str> {
        Some(&*self.finish_reason.0)
            .filter(|word| !word.is_empty() && *word != "FINISH_REASON_UNSPECIFIED")
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Content<'a> {
    pub(super) parts: Few<&'a RawValue>,
    pub(super) role: Word<'a>,
}

/// The server's verdict on the prompt.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct Feedback<'a> {
    pub(super) block_reason: Word<'a>,
    pub(super) block_reason_message: Word<'a>,
}

/// One part; it says one of these things.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct Part<'a> {
    pub(super) text: Option<Line>,
    pub(super) thought: Flag,
    pub(super) thought_signature: Line,
    pub(super) function_call: Option<&'a RawValue>,
    pub(super) executable_code: Option<&'a RawValue>,
    pub(super) code_execution_result: Option<&'a RawValue>,
    pub(super) tool_call: Option<&'a RawValue>,
    pub(super) tool_response: Option<&'a RawValue>,
    pub(super) inline_data: Option<&'a RawValue>,
    pub(super) file_data: Option<&'a RawValue>,
}

/// A call of one of the caller's tools; it always comes whole.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct FunctionCall<'a> {
    pub(super) name: Line,
    pub(super) id: Line,
    args: Option<&'a RawValue>,
    /// Pieces of arguments, which a server sends only when it was asked to.
    partial_args: Option<&'a RawValue>,
    will_continue: Flag,
}

impl FunctionCall<'_> {
    /// Returns the JSON of the arguments.
    pub(super) fn arguments(&self) -> Text {
        let json = self.args.and_then(|args| Json::parse(args.get()).ok());
        json.map_or_else(|| Text::from("{}"), |json| Text::from(plain(json.as_str())))
    }

    /// Returns `true` for a piece of a call.
    pub(super) fn is_partial(&self) -> bool {
        self.partial_args.is_some() || self.will_continue.0
    }
}

/// A call of one of the server's own tools.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct ToolUse<'a> {
    pub(super) id: Line,
    pub(super) tool_type: Line,
    pub(super) args: Option<&'a RawValue>,
}

/// The outcome of a tool of the server's own.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ToolOutcome {
    pub(super) id: Line,
    pub(super) tool_type: Line,
    pub(super) outcome: Line,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Media {
    pub(super) mime_type: Line,
}

/// A value that is passed over without memory for its depth, as a `RawValue` of some depth needs it.
#[derive(Debug, Default)]
pub(super) struct Skipped {
    /// `true` if the value is an object.
    pub(super) is_there: bool,
}

lax! { ['de] Skipped, ignoring bool number null string;
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Skipped, A::Error> {
        while map.next_entry::<IgnoredAny, Skipped>()?.is_some() {}
        Ok(Skipped { is_there: true })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Skipped, A::Error> {
        while seq.next_element::<Skipped>()?.is_some() {}
        Ok(Skipped::default())
    }
}

/// Sets the usage of `chunk` to that of an event.
pub(super) fn usage(event: &str, chunk: &mut StreamChunk) {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
    struct Event<'a> {
        usage_metadata: &'a RawValue,
    }
    if let Ok(Event { usage_metadata: raw }) = serde_json::from_str(event) {
        chunk.set_usage(counts(raw), raw);
    }
}

fn counts(raw: &RawValue) -> UsageInfo {
    #[derive(Default, Deserialize)]
    #[serde(default, rename_all = "camelCase")]
    #[expect(clippy::struct_field_names, reason = "Gemini's names")]
    struct Usage {
        prompt_token_count: Count,
        tool_use_prompt_token_count: Count,
        candidates_token_count: Count,
        thoughts_token_count: Count,
        cached_content_token_count: Count,
    }
    let usage: Usage = value(raw);
    let sum = |one: Count, other: Count| match (one.0, other.0) {
        (Some(one), Some(other)) => Some(one.saturating_add(other)),
        (one, other) => one.or(other),
    };
    UsageInfo {
        input_tokens: sum(usage.prompt_token_count, usage.tool_use_prompt_token_count),
        output_tokens: sum(usage.candidates_token_count, usage.thoughts_token_count),
        cache_read_tokens: usage.cached_content_token_count.0,
        cache_write_tokens: None,
        reasoning_tokens: usage.thoughts_token_count.0,
    }
}
