//! The JSON of Gemini's answers, read leniently: a field of an unexpected type is treated as absent.

use serde::de::{IgnoredAny, MapAccess, SeqAccess};
use serde_json::value::RawValue;

use crate::llm::decode::{
    Entries,
    lax_json::{
        Few, Flag, Into, Line, Number, Object, Word, by_filling, ignore_others, in_place, lax, wire,
    },
};

wire! {
    /// One piece of a stream, or a whole answer.
    ///
    /// Rare members stay unparsed until they are needed.
    struct Response<'a> as response, map, ignoring [];
    candidates: Few<Object<Candidate<'a>>>,
    #[serde(rename = "promptFeedback")]
    prompt_feedback: Option<&'a RawValue>,
    #[serde(rename = "usageMetadata")]
    usage_metadata: Skipped,
    #[serde(rename = "modelVersion")]
    model_version: Word<'a>,
    #[serde(rename = "responseId")]
    id: Word<'a>,
    error: Option<&'a RawValue>,
    /// The member in which gateways wrap the answer.
    #[serde(rename = "response")]
    wrapped: Option<&'a RawValue>,
    #[serde(rename = "createTime")]
    create_time: IgnoredAny,
    // All other members.
    ; besides rest: Entries<'a>
    ; else name => response.rest.push(name.0, map.next_value()?)
}

impl Response<'_> {
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
    struct Candidate<'a> as candidate, map, ignoring [bool number null string seq];
    index: Number,
    content: Content<'a> = map.next_value_seed(Into(&mut candidate.content))?,
    #[serde(rename = "finishReason")]
    finish_reason: Word<'a>,
    #[serde(rename = "finishMessage")]
    finish_message: Option<&'a RawValue>,
    #[serde(rename = "citationMetadata")]
    citation_metadata: Option<&'a RawValue>,
    #[serde(rename = "groundingMetadata")]
    grounding_metadata: Option<&'a RawValue>,
    #[serde(rename = "urlContextMetadata")]
    url_context_metadata: Option<&'a RawValue>,
    // All other members.
    ; besides rest: Entries<'a>
    ; else name => candidate.rest.push(name.0, map.next_value()?)
}

by_filling!(Candidate);

impl Candidate<'_> {
    /// Returns the index of the candidate; only the first is read.
    pub(super) fn index(&self) -> u32 {
        self.index.0.unwrap_or_default()
    }

    /// Returns the finish reason, once there is one; `FINISH_REASON_UNSPECIFIED` stands for none.
    pub(super) fn finish_word(&self) -> Option<&str> {
        Some(&*self.finish_reason.0)
            .filter(|word| !word.is_empty() && *word != "FINISH_REASON_UNSPECIFIED")
    }
}

wire! {
    struct Content<'a> as content, map, ignoring [bool number null string seq];
    parts: Few<&'a RawValue>,
    role: Word<'a>,
    // All other members.
    ; besides rest: Entries<'a>
    ; else name => content.rest.push(name.0, map.next_value()?)
}

wire! {
    /// One part, which has one of these kinds of content.
    struct Part<'a> as part, map, ignoring [];
    text: Option<Line>,
    thought: Flag,
    #[serde(rename = "thoughtSignature")]
    thought_signature: Line,
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
    ; besides rest: Entries<'a>
    ; else name => part.rest.push(name.0, map.next_value()?)
}

/// A value that is skipped without memory for its depth, which a deeply nested `RawValue` would need.
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
