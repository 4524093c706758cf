//! The JSON of Gemini's answers, read laxly: a field of an unexpected type is as good as absent.

use serde::{
    Deserialize,
    de::{IgnoredAny, MapAccess, SeqAccess},
};
use serde_json::value::RawValue;

use crate::llm::decode::{
    Entries,
    lax_json::{Few, Flag, Line, Number, Object, Word, ignore_others, in_place, lax, wire},
};

/// One piece of a stream, or a whole answer.
///
/// Rare members stay text until they are wanted, so that these structs are small: they are moved from
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

wire! {
    /// One part; it says one of these things.
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
