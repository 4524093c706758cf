//! What the tool-call parser gives.

use super::repairs::RepairSet;
use crate::types::CallOutcome;

/// One piece of message text, in order.
///
/// The pieces of a call stand between its [`CallStart`](Self::CallStart) and
/// [`CallEnd`](Self::CallEnd); calls do not overlap. Joined, the texts, the bodies and the markers
/// around the bodies are the input.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParsedContent<'a> {
    /// Text outside calls, never empty.
    Text(&'a str),
    /// A call began.
    CallStart,
    /// The tool's name, trimmed; given once, as soon as it is whole.
    CallName(&'a str),
    /// The tool server's name.
    CallServer(&'a str),
    /// A piece of the call's body, as it stands between the markers.
    CallBody(&'a str),
    /// A piece of the JSON text of the arguments.
    CallArguments(&'a str),
    /// A piece of the source of the arguments.
    CallSource(&'a str),
    /// The call ended.
    CallEnd {
        /// Whether it may run.
        outcome: CallOutcome,
        /// What was mended.
        repairs: RepairSet,
    },
}
