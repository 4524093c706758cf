//! The JSON of Gemini's answers, read tolerantly: a field of an unexpected type is as good as absent.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use serde_json::value::RawValue;

use crate::{
    llm::tolerant::{
        Count, Few, Flag, Line, Number, Object, Reads, Word, ignore_others, plain, read as read_any,
    },
    types::{FinishReason, Json, Text, UsageInfo},
};

/// One piece of a stream, or a whole answer.
///
/// What is rare stays text until it is wanted, so that these structs are small: they are moved from
/// level to level.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Response<'a> {
    #[serde(borrow)]
    pub(super) candidates: Few<Object<Candidate<'a>>>,
    #[serde(borrow)]
    pub(super) prompt_feedback: Option<&'a RawValue>,
    pub(super) usage_metadata: Skipped,
    #[serde(borrow)]
    pub(super) model_version: Word<'a>,
    #[serde(borrow, rename = "responseId")]
    pub(super) id: Word<'a>,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
    /// Where gateways put the answer instead of at the top.
    #[serde(borrow, rename = "response")]
    pub(super) wrapped: Option<&'a RawValue>,
}

impl Response<'_> {
    /// Whether it says nothing that an answer says.
    pub(super) fn is_blank(&self) -> bool {
        self.candidates.is_empty()
            && self.prompt_feedback.is_none()
            && !self.usage_metadata.is_there
            && self.error.is_none()
            && self.wrapped.is_none()
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Candidate<'a> {
    index: Number,
    #[serde(borrow)]
    pub(super) content: Object<Content<'a>>,
    #[serde(borrow)]
    pub(super) finish_reason: Word<'a>,
    #[serde(borrow)]
    pub(super) finish_message: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) citation_metadata: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) grounding_metadata: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) url_context_metadata: Option<&'a RawValue>,
}

impl Candidate<'_> {
    /// Which answer it belongs to; only the first is of interest.
    pub(super) fn index(&self) -> u32 {
        self.index.0.unwrap_or_default()
    }

    /// The word for the end, once there is one. `FINISH_REASON_UNSPECIFIED` stands for none.
    pub(super) fn finish_word(&self) -> Option<&str> {
        Some(&*self.finish_reason.0)
            .filter(|word| !word.is_empty() && *word != "FINISH_REASON_UNSPECIFIED")
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Content<'a> {
    #[serde(borrow)]
    pub(super) parts: Few<&'a RawValue>,
    #[serde(borrow)]
    pub(super) role: Word<'a>,
}

/// What the server thinks of the prompt.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Feedback<'a> {
    #[serde(borrow)]
    pub(super) block_reason: Word<'a>,
    #[serde(borrow)]
    pub(super) block_reason_message: Word<'a>,
}

/// One part; it says one of these things.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Part<'a> {
    pub(super) text: Option<Line>,
    pub(super) thought: Flag,
    pub(super) thought_signature: Line,
    #[serde(borrow)]
    pub(super) function_call: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) executable_code: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) code_execution_result: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) tool_call: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) tool_response: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) inline_data: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) file_data: Option<&'a RawValue>,
}

/// Reads a rare object; one of an unexpected kind is as good as empty.
pub(super) fn read<'a, T: Deserialize<'a> + Default>(raw: &'a RawValue) -> T {
    serde_json::from_str(raw.get()).unwrap_or_default()
}

/// A call of one of the caller's tools; it always comes whole.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct FunctionCall<'a> {
    pub(super) name: Line,
    pub(super) id: Line,
    #[serde(borrow)]
    args: Option<&'a RawValue>,
    /// Pieces of arguments, which a server sends only when it was asked to.
    #[serde(borrow)]
    partial_args: Option<&'a RawValue>,
    will_continue: Flag,
}

impl FunctionCall<'_> {
    /// The JSON text of the arguments.
    pub(super) fn arguments(&self) -> Text {
        let json = self.args.and_then(|args| Json::parse(args.get()).ok());
        json.map_or_else(|| Text::from("{}"), |json| Text::from(plain(json.as_str())))
    }

    /// Whether it is a piece of a call.
    pub(super) fn is_partial(&self) -> bool {
        self.partial_args.is_some() || self.will_continue.0
    }
}

/// A call of one of the server's own tools.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ToolUse<'a> {
    pub(super) id: Line,
    pub(super) tool_type: Line,
    #[serde(borrow)]
    pub(super) args: Option<&'a RawValue>,
}

/// How a tool of the server's went.
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
    /// Whether it is an object.
    pub(super) is_there: bool,
}

impl<'de> Deserialize<'de> for Skipped {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read_any(deserializer)
    }
}

impl<'de> Visitor<'de> for Reads<Skipped> {
    type Value = Skipped;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Skipped, A::Error> {
        while map.next_entry::<IgnoredAny, Skipped>()?.is_some() {}
        Ok(Skipped { is_there: true })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Skipped, A::Error> {
        while seq.next_element::<Skipped>()?.is_some() {}
        Ok(Skipped::default())
    }

    ignore_others!(Skipped, bool number null string);
}

/// The usage object of an event, and its counts.
pub(super) fn usage(event: &str) -> Option<(Json, UsageInfo)> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Event<'a> {
        #[serde(borrow)]
        usage_metadata: &'a RawValue,
    }
    let raw = serde_json::from_str::<Event<'_>>(event).ok()?.usage_metadata;
    Some((Json::parse(raw.get()).ok()?, counts(raw)))
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
    let usage: Usage = read(raw);
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

/// What the word for the end means.
pub(super) fn finish_reason(word: &str) -> FinishReason {
    match word {
        "STOP" => FinishReason::Stop,
        "MAX_TOKENS" => FinishReason::Length,
        "SAFETY"
        | "RECITATION"
        | "PROHIBITED_CONTENT"
        | "BLOCKLIST"
        | "SPII"
        | "IMAGE_SAFETY"
        | "IMAGE_PROHIBITED_CONTENT"
        | "IMAGE_RECITATION"
        | "MODEL_ARMOR" => FinishReason::ContentFilter,
        _ => FinishReason::Other(Text::from(word)),
    }
}
