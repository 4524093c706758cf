//! The JSON of Gemini's answers, read leniently: a field of an unexpected type is treated as absent.

use serde::de::{IgnoredAny, MapAccess, SeqAccess};
use serde_json::value::RawValue;

use crate::decode::{
    lax_json::{FillInto, LaxFlag, LaxList, LaxNumber, LaxObject, LaxText, LaxWord, lax},
    wire_struct::{by_filling, wire},
};

/// The protocol's name in items.
pub(super) const PROTOCOL: &str = "gemini";

wire! {
    /// One piece of a stream, or a whole answer.
    ///
    /// Rare members stay unparsed until they are needed.
    struct GeminiResponse<'a> as response, map, ignoring [];
    candidates: LaxList<LaxObject<GeminiCandidate<'a>>>,
    #[serde(rename = "promptFeedback")]
    prompt_feedback: Option<&'a RawValue>,
    #[serde(rename = "usageMetadata")]
    usage_metadata: SkippedValue,
    #[serde(rename = "modelVersion")]
    model_version: LaxWord<'a>,
    #[serde(rename = "responseId")]
    id: LaxWord<'a>,
    error: Option<&'a RawValue>,
    /// The member in which gateways wrap the answer.
    #[serde(rename = "response")]
    wrapped: Option<&'a RawValue>,
    #[serde(rename = "createTime")]
    create_time: IgnoredAny,
}

impl GeminiResponse<'_> {
    /// Returns `true` if there is no part of an answer.
    pub(super) fn is_blank(&self) -> bool {
        self.candidates.is_empty()
            && self.prompt_feedback.is_none()
            && !self.usage_metadata.is_there
            && self.error.is_none()
            && self.wrapped.is_none()
    }
}

wire! {
    struct GeminiCandidate<'a> as candidate, map, ignoring [bool number null string seq];
    index: LaxNumber,
    content: GeminiContent<'a> = map.next_value_seed(FillInto(&mut candidate.content))?,
    #[serde(rename = "finishReason")]
    finish_reason: LaxWord<'a>,
    #[serde(rename = "finishMessage")]
    finish_message: Option<&'a RawValue>,
    #[serde(rename = "citationMetadata")]
    citation_metadata: Option<&'a RawValue>,
    #[serde(rename = "groundingMetadata")]
    grounding_metadata: Option<&'a RawValue>,
    #[serde(rename = "urlContextMetadata")]
    url_context_metadata: Option<&'a RawValue>,
}

by_filling!(GeminiCandidate);

impl GeminiCandidate<'_> {
    /// Returns the index of the candidate.
    pub(super) fn index(&self) -> u32 {
        self.index.0.unwrap_or_default()
    }

    /// Returns the finish reason, once there is one; `FINISH_REASON_UNSPECIFIED` means none.
    pub(super) fn finish_word(&self) -> Option<&str> {
        Some(&*self.finish_reason.0)
            .filter(|word| !word.is_empty() && *word != "FINISH_REASON_UNSPECIFIED")
    }
}

wire! {
    struct GeminiContent<'a> as content, map, ignoring [bool number null string seq];
    parts: LaxList<&'a RawValue>,
    role: LaxWord<'a>,
}

wire! {
    /// One part, which has one of these kinds of content.
    struct GeminiPart<'a> as part, map, ignoring [];
    text: Option<LaxText>,
    thought: LaxFlag,
    #[serde(rename = "thoughtSignature")]
    thought_signature: LaxText,
    #[serde(rename = "functionCall")]
    function_call: Option<&'a RawValue>,
    #[serde(rename = "executableCode")]
    executable_code: Option<&'a RawValue>,
    #[serde(rename = "codeExecutionResult")]
    code_execution_result: Option<&'a RawValue>,
    #[serde(rename = "toolCall")]
    tool_call: Option<&'a RawValue>,
    #[serde(rename = "toolResponse")]
    tool_response: Option<&'a RawValue>,
    #[serde(rename = "inlineData")]
    inline_data: Option<&'a RawValue>,
    #[serde(rename = "fileData")]
    file_data: Option<&'a RawValue>,
}

/// A value that is skipped without memory for its depth, which a deeply nested `RawValue` would need.
#[derive(Debug, Default)]
pub(super) struct SkippedValue {
    /// `true` if the value is an object.
    pub(super) is_there: bool,
}

lax! { ['de] SkippedValue, ignoring bool number null string;
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<SkippedValue, A::Error> {
        while map.next_entry::<IgnoredAny, SkippedValue>()?.is_some() {}
        Ok(SkippedValue { is_there: true })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<SkippedValue, A::Error> {
        while seq.next_element::<SkippedValue>()?.is_some() {}
        Ok(SkippedValue::default())
    }
}
