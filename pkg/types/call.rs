//! Tool calls and what became of reading them.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Json, Signature, Text};

/// One tool call that a model made, natively or as text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolCall {
    /// Position among the calls of the response, from 0.
    pub index: u32,
    /// The model's or provider's id; `call_{index}` when there was none.
    pub id: Text,
    /// The tool's name, trimmed; empty when the model named none.
    pub name: Text,
    /// The tool server that the model named (Forge's format), if any.
    pub server_name: Option<Text>,
    /// The source text of the arguments, exactly as the model wrote it.
    pub arguments_raw: String,
    /// The arguments; `None` when they could not be read.
    pub arguments: Option<Json>,
    /// Whether the call may run.
    #[serde(flatten)]
    pub outcome: CallOutcome,
    /// What had to be mended to read the call; empty for a call that was right as written.
    pub repairs: Vec<Repair>,
    /// The provider's proof of the reasoning behind the call, to be sent back to that provider with
    /// it unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<Signature>,
}

impl ToolCall {
    /// A complete call, as a program writes it.
    #[must_use]
    pub fn new(id: impl Into<Text>, name: impl Into<Text>, arguments: impl Into<Json>) -> Self {
        let arguments = arguments.into();
        Self {
            index: 0,
            id: id.into(),
            name: name.into(),
            server_name: None,
            arguments_raw: arguments.to_string(),
            arguments: Some(arguments),
            outcome: CallOutcome::Complete,
            repairs: Vec::new(),
            signature: None,
        }
    }

    /// A call of which only the place is known yet: incomplete, without arguments.
    #[must_use]
    pub fn pending(index: u32, id: impl Into<Text>) -> Self {
        Self {
            index,
            id: id.into(),
            name: Text::new(),
            server_name: None,
            arguments_raw: String::new(),
            arguments: None,
            outcome: CallOutcome::Incomplete,
            repairs: Vec::new(),
            signature: None,
        }
    }

    /// Whether the call was read whole, so that it may run.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.outcome == CallOutcome::Complete
    }
}

/// What became of one call. Only a complete call ever runs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
#[serde(from = "OutcomeWire", into = "OutcomeWire")]
pub enum CallOutcome {
    /// Name and arguments were read whole.
    #[default]
    Complete,
    /// The stream ended, or was cut, inside the call.
    Incomplete,
    /// The call ended, but could not be read.
    Malformed {
        /// What is wrong, for people and for the model.
        reason: Text,
        /// Where, in bytes from the start of the call's body.
        offset: usize,
    },
}

/// The flat form on the wire: all three keys, always.
#[derive(Serialize, Deserialize)]
struct OutcomeWire {
    outcome: OutcomeName,
    reason: Option<Text>,
    offset: Option<usize>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum OutcomeName {
    Complete,
    Incomplete,
    Malformed,
}

impl From<CallOutcome> for OutcomeWire {
    fn from(outcome: CallOutcome) -> Self {
        let (outcome, reason, offset) = match outcome {
            CallOutcome::Complete => (OutcomeName::Complete, None, None),
            CallOutcome::Incomplete => (OutcomeName::Incomplete, None, None),
            CallOutcome::Malformed { reason, offset } => {
                (OutcomeName::Malformed, Some(reason), Some(offset))
            }
        };
        Self { outcome, reason, offset }
    }
}

impl From<OutcomeWire> for CallOutcome {
    fn from(wire: OutcomeWire) -> Self {
        match wire.outcome {
            OutcomeName::Complete => Self::Complete,
            OutcomeName::Incomplete => Self::Incomplete,
            OutcomeName::Malformed => Self::Malformed {
                reason: wire.reason.unwrap_or_default(),
                offset: wire.offset.unwrap_or_default(),
            },
        }
    }
}

/// One thing that was mended in a call, so that a policy can refuse it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
#[serde(rename_all = "snake_case")]
pub enum Repair {
    /// An object key had no quotes.
    UnquotedKey,
    /// A string stood in single quotes.
    SingleQuotes,
    /// A comma was doubled or trailed.
    ExtraComma,
    /// A comment was left out.
    Comment,
    /// `True`, `False` or `None` was read as JSON's word.
    PythonLiteral,
    /// A raw newline, tab or other control character in a string was escaped.
    RawControl,
    /// A backslash that starts no JSON escape was doubled.
    InvalidEscape,
    /// Closing brackets were added where the call's closer stood.
    MissingBracket,
    /// Text after the last bracket was ignored.
    TrailingText,
    /// A Markdown fence around the payload was taken off.
    Fence,
    /// The arguments were a JSON string that holds JSON.
    StringArguments,
    /// The call's closer was missing after a whole payload.
    ImplicitClose,
    /// The call stood in reasoning that never closed.
    RecoveredFromThinking,
}

impl Repair {
    /// The name on the wire, such as `implicit_close`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::UnquotedKey => "unquoted_key",
            Self::SingleQuotes => "single_quotes",
            Self::ExtraComma => "extra_comma",
            Self::Comment => "comment",
            Self::PythonLiteral => "python_literal",
            Self::RawControl => "raw_control",
            Self::InvalidEscape => "invalid_escape",
            Self::MissingBracket => "missing_bracket",
            Self::TrailingText => "trailing_text",
            Self::Fence => "fence",
            Self::StringArguments => "string_arguments",
            Self::ImplicitClose => "implicit_close",
            Self::RecoveredFromThinking => "recovered_from_thinking",
        }
    }
}

impl fmt::Display for Repair {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}
