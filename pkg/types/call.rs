//! Tool calls and their outcomes.

use serde::{Deserialize, Serialize};

use super::{Json, Repair, Signature, Text};

/// One tool call that a model made, natively or as text.
///
/// # Examples
///
/// ```
/// use forgeline::types::{CallOutcome, Json, ToolCall};
///
/// let call = ToolCall::new("call_0", "read_file", Json::parse(r#"{"path":"a.rs"}"#)?);
/// assert!(call.is_complete());
/// assert_eq!(call.arguments_raw, r#"{"path":"a.rs"}"#);
/// assert_eq!(ToolCall::pending(1, "call_1").outcome, CallOutcome::Incomplete);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
#[non_exhaustive]
pub struct ToolCall {
    /// Position among the calls of the response, from 0.
    pub index: u32,
    /// The id given by the model or the provider, or `call_{index}` if there was none.
    pub id: Text,
    /// The tool's name, trimmed; empty, and `null` in JSON, when the model named none.
    #[serde(with = "name_or_null")]
    pub name: Text,
    /// The tool server that the model named (Forge's format), if any.
    pub server_name: Option<Text>,
    /// The source text of the arguments, exactly as the model wrote it.
    pub arguments_raw: String,
    /// The parsed arguments; `None` if they could not be read.
    pub arguments: Option<Json>,
    /// The outcome of reading the call: only a complete call may run.
    #[serde(flatten)]
    pub outcome: CallOutcome,
    /// Repairs needed to read the call; empty for a call that was valid as written.
    pub repairs: Vec<Repair>,
    /// The provider's signature of the reasoning behind the call, to be sent back unchanged with the call to
    /// that provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<Signature>,
    /// `true` for a call that the provider runs itself after asking for permission: a call of a tool server known to
    /// the provider. The name is `server:tool`; a successful result permits the call, and an error refuses it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hosted: bool,
    /// `true` for a call that the model made through `call_found_tool`, which calls tools that the model has found: the name and
    /// arguments are those of the tool, while the model gets back the call as it made it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub indirect: bool,
}

impl ToolCall {
    /// Creates a complete call, as a program makes it.
    #[must_use]
    pub fn new(id: impl Into<Text>, name: impl Into<Text>, arguments: impl Into<Json>) -> Self {
        let arguments = arguments.into();
        Self {
            name: name.into(),
            arguments_raw: arguments.to_string(),
            arguments: Some(arguments),
            outcome: CallOutcome::Complete,
            ..Self::pending(0, id)
        }
    }

    /// Creates an incomplete call without arguments, of which only the position is known yet.
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
            hosted: false,
            indirect: false,
        }
    }

    /// Returns `true` if the call was read completely, and so may run.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.outcome == CallOutcome::Complete
    }
}

/// The JSON form of a name: `null` for an empty one.
mod name_or_null {
    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};

    use super::Text;

    pub(super) fn serialize<S: Serializer>(name: &Text, serializer: S) -> Result<S::Ok, S::Error> {
        (!name.is_empty()).then_some(name).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(name: D) -> Result<Text, D::Error> {
        Ok(Option::deserialize(name)?.unwrap_or_default())
    }
}

/// The outcome of reading one call. Only a complete call ever runs.
///
/// # Examples
///
/// ```
/// use forgeline::types::CallOutcome;
///
/// let outcome = CallOutcome::malformed("invalid JSON number", 7);
/// let json = serde_json::to_string(&outcome)?;
/// assert_eq!(json, r#"{"outcome":"malformed","reason":"invalid JSON number","offset":7}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "OutcomeWire", into = "OutcomeWire")]
#[non_exhaustive]
pub enum CallOutcome {
    /// The name and arguments were read completely.
    #[default]
    Complete,
    /// The stream ended, or was truncated, inside the call.
    Incomplete,
    /// The call ended, but could not be read.
    #[non_exhaustive]
    Malformed {
        /// The fault, described for people and for the model.
        reason: Text,
        /// Offset from the start of the call's body, in bytes.
        offset: usize,
    },
}

impl CallOutcome {
    /// Creates the outcome of a call with a fault at this byte of its body.
    #[must_use]
    pub fn malformed(reason: impl Into<Text>, offset: usize) -> Self {
        Self::Malformed { reason: reason.into(), offset }
    }
}

/// The flat form on the wire, which always has all three keys.
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
