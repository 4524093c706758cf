//! The ways in which an answer and a run end.

use serde::{Deserialize, Serialize};

use super::{Completion, ErrorCode, FinishReason, ItemKind, Part, Text};

/// The way in which an answer or a run ended: one vocabulary for events, outcomes, records and encoders.
///
/// Whatever ended without what was asked for has an [`AgentError`](super::AgentError) besides, whose
/// [code](super::AgentError::code) belongs to the ending.
///
/// # Examples
///
/// ```
/// use forgeline::types::{Completion, Ending, ErrorCode, FinishReason};
///
/// let mut completion = Completion::default();
/// completion.text = "I can".to_owned();
/// completion.finish_reason = Some(FinishReason::ContentFilter);
/// assert_eq!(completion.ending(), Ending::Filtered);
/// assert_eq!(Ending::from(ErrorCode::ContentFiltered).as_str(), "filtered");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Ending {
    /// The model answered.
    Answered,
    /// A limit of the run was reached: of turns, tokens, time or cost.
    Limit,
    /// The model declined to answer.
    Refused,
    /// A content filter of the provider stopped the answer, or the request.
    Filtered,
    /// The provider could not read what the model wrote, or the answer contradicts itself.
    Malformed,
    /// The answer has neither text, nor a call, nor the result of a hosted tool.
    Empty,
    /// The answer does not match the schema that was asked for.
    Invalid,
    /// A token limit truncated the answer.
    Cut,
    /// The run was cancelled.
    Cancelled,
    /// Anything else went wrong. A name that this version does not know is read as this.
    #[serde(other)]
    Failed,
}

impl Ending {
    /// All endings, in the order of the table in `docs/guide/limits.md`.
    #[doc(hidden)]
    pub const ALL: [Self; 10] = [
        Self::Answered,
        Self::Limit,
        Self::Refused,
        Self::Filtered,
        Self::Malformed,
        Self::Empty,
        Self::Invalid,
        Self::Cut,
        Self::Failed,
        Self::Cancelled,
    ];

    /// Returns the name on the wire, such as `filtered`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::Limit => "limit",
            Self::Refused => "refused",
            Self::Filtered => "filtered",
            Self::Malformed => "malformed",
            Self::Empty => "empty",
            Self::Invalid => "invalid",
            Self::Cut => "cut",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// Returns `true` if the complete calls of an answer that ended so may run. A call whose own payload is
    /// not complete never runs.
    #[must_use]
    pub const fn may_run_calls(self) -> bool {
        matches!(self, Self::Answered | Self::Cut)
    }
}

impl From<ErrorCode> for Ending {
    fn from(code: ErrorCode) -> Self {
        match code {
            ErrorCode::Refused => Self::Refused,
            ErrorCode::ContentFiltered => Self::Filtered,
            ErrorCode::MalformedAnswer => Self::Malformed,
            ErrorCode::EmptyAnswer => Self::Empty,
            ErrorCode::InvalidAnswer => Self::Invalid,
            ErrorCode::CutAnswer => Self::Cut,
            ErrorCode::MaxTurns | ErrorCode::Budget => Self::Limit,
            ErrorCode::Cancelled => Self::Cancelled,
            ErrorCode::Connect
            | ErrorCode::Timeout
            | ErrorCode::Status
            | ErrorCode::RateLimited
            | ErrorCode::QuotaExhausted
            | ErrorCode::Overloaded
            | ErrorCode::ContextExceeded
            | ErrorCode::Auth
            | ErrorCode::InvalidRequest
            | ErrorCode::Decode
            | ErrorCode::EndedEarly
            | ErrorCode::InStream
            | ErrorCode::Unsupported
            | ErrorCode::InvalidInput
            | ErrorCode::CircuitBreaker
            | ErrorCode::Shutdown
            | ErrorCode::Journal
            | ErrorCode::Deadlock
            | ErrorCode::Internal => Self::Failed,
        }
    }
}

impl Completion {
    /// Returns the way in which the answer ended.
    ///
    /// An answer that the model refused or a filter stopped is not [`Answered`](Ending::Answered), whatever text
    /// or calls it has.
    #[must_use]
    pub fn ending(&self) -> Ending {
        if let Some(error) = &self.error {
            return Ending::from(error.code);
        }
        let has_calls = !self.tool_calls.is_empty() || self.fenced_calls > 0;
        match &self.finish_reason {
            Some(FinishReason::Refusal) => Ending::Refused,
            Some(FinishReason::ContentFilter) => Ending::Filtered,
            Some(FinishReason::Malformed) => Ending::Malformed,
            _ if !self.refusal.trim().is_empty() => Ending::Refused,
            Some(FinishReason::ToolCalls) if !has_calls => Ending::Malformed,
            reason => {
                let is_answer = has_calls || !self.text.trim().is_empty();
                match is_answer || self.parts.iter().any(Part::is_answer) {
                    true if reason.as_ref().is_some_and(FinishReason::is_limit) => Ending::Cut,
                    true => Ending::Answered,
                    false => Ending::Empty,
                }
            }
        }
    }

    /// Returns what the vendor said about an answer that it or its model withheld, as far as it said anything.
    #[doc(hidden)]
    pub fn vendor_words(&self) -> Option<Text> {
        let refusal = self.refusal.trim();
        if !refusal.is_empty() {
            return Some(Text::from(refusal));
        }
        let said = self.parts.iter().filter_map(|part| {
            let Part::ProviderItem(item) = part else { return None };
            let ItemKind::Other { name } = &item.kind else { return None };
            match name.as_str() {
                "finishMessage" => item.raw.read::<String>().ok(),
                "stop_details" => {
                    let StopDetails { explanation, category } = item.raw.read().ok()?;
                    explanation.filter(|words| !words.is_empty()).or(category)
                }
                _ => None,
            }
        });
        let said = said.map(|words| words.trim().to_owned()).find(|words| !words.is_empty());
        // The status of a response of Responses says less than the reason beside it.
        let word = || self.finish_reason_raw.clone().filter(|word| word != "incomplete");
        let reason = || self.finish_reason.as_ref().map(|reason| Text::from(reason.as_str()));
        said.map(Text::from).or_else(word).or_else(reason)
    }
}

/// The details that Anthropic sends of an answer that the model refused.
#[derive(Default, Deserialize)]
#[serde(default)]
struct StopDetails {
    explanation: Option<String>,
    category: Option<String>,
}

impl Part {
    /// Returns `true` for a part that is an answer by itself: text, a call, the result of a hosted tool, or
    /// something that the model made. Reasoning, and items that only the provider can read, are not.
    #[doc(hidden)]
    pub fn is_answer(&self) -> bool {
        match self {
            Self::Text { text } => !text.trim().is_empty(),
            Self::ToolCall(_) => true,
            Self::ProviderItem(item) => {
                matches!(item.kind, ItemKind::ServerToolResult { .. } | ItemKind::Media { .. })
            }
            Self::Thinking { .. }
            | Self::Framing { .. }
            | Self::ToolResult(_)
            | Self::Image { .. }
            | Self::Document { .. } => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{AgentError, Json, ProviderItem, ToolCall};

    use super::*;

    fn item(kind: ItemKind) -> Part {
        Part::ProviderItem(ProviderItem::new("p", kind, Json::default()))
    }

    // Rows: N-01, N-02, N-09
    #[test]
    fn each_answer_has_one_ending() {
        use FinishReason::{ContentFilter, Length, Malformed, Refusal, Stop, ToolCalls};
        let answer = |text: &str, finish: Option<FinishReason>| {
            let text = text.to_owned();
            Completion { text, finish_reason: finish, ..Completion::default() }
        };
        let with = |mut completion: Completion, part: Part| {
            completion.parts.push(part);
            completion
        };
        let call = |mut completion: Completion| {
            completion.tool_calls.push(ToolCall::pending(0, "c"));
            completion
        };
        let refusal = |mut completion: Completion| {
            completion.refusal = "No.".to_owned();
            completion
        };
        let failed = |mut completion: Completion, code| {
            completion.error = Some(AgentError::new(code, "m"));
            completion
        };
        let found = ItemKind::ServerToolResult {
            call_id: "i".into(),
            tool_name: "t".into(),
            is_error: false,
        };
        let image = ItemKind::Media { media_type: "image/png".into() };
        let note = ItemKind::Other { name: "finishMessage".into() };
        #[rustfmt::skip]
        let rows = [
            ("text",               answer("Hi.", Some(Stop)),                              Ending::Answered),
            ("text, no reason",    answer("Hi.", None),                                    Ending::Answered),
            ("a call",             call(answer("", Some(ToolCalls))),                      Ending::Answered),
            ("a hosted result",    with(answer("", Some(Stop)), item(found)),              Ending::Answered),
            ("a picture",          with(answer("", Some(Stop)), item(image)),              Ending::Answered),
            ("nothing",            answer(" \n", Some(Stop)),                              Ending::Empty),
            ("a vendor's note",    with(answer("", Some(Stop)), item(note)),               Ending::Empty),
            ("reasoning",          with(answer("", Some(Stop)), item(ItemKind::Reasoning)), Ending::Empty),
            ("cut",                answer("Hi", Some(Length)),                             Ending::Cut),
            ("refused",            answer("Hi", Some(Refusal)),                            Ending::Refused),
            ("words of refusal",   refusal(answer("", Some(Stop))),                        Ending::Refused),
            ("refusal and a call", call(refusal(answer("", Some(Stop)))),                  Ending::Refused),
            ("filtered",           call(answer("Hi", Some(ContentFilter))),                Ending::Filtered),
            ("malformed",          call(answer("Hi", Some(Malformed))),                    Ending::Malformed),
            ("no call",            answer("Hi", Some(ToolCalls)),                          Ending::Malformed),
            ("failed",             failed(answer("Hi", None), ErrorCode::Connect),         Ending::Failed),
            ("cancelled",          failed(answer("Hi", None), ErrorCode::Cancelled),       Ending::Cancelled),
            ("a limit",            failed(answer("", None), ErrorCode::Budget),            Ending::Limit),
        ];
        for (name, completion, want) in rows {
            assert_eq!(completion.ending(), want, "{name}");
        }
        for ending in Ending::ALL {
            let json = serde_json::to_string(&ending).unwrap();
            assert_eq!(json, format!("\"{}\"", ending.as_str()));
            assert_eq!(serde_json::from_str::<Ending>(&json).unwrap(), ending);
            assert_eq!(ending.may_run_calls(), matches!(ending, Ending::Answered | Ending::Cut));
        }
        let new: Ending = serde_json::from_str("\"evaporated\"").unwrap();
        assert_eq!(new, Ending::Failed, "a newer name");
    }
}
