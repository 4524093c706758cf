//! The content that the tool-call parser emits.

use crate::llm::parser::RepairSet;
use crate::types::CallOutcome;

/// The end of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum CallEnd {
    /// Name and arguments were read whole.
    Complete,
    /// The text ended, or was cut, inside the call.
    Incomplete,
    /// The call could not be read.
    Malformed {
        /// The mistake.
        reason: &'static str,
        /// Its position, in bytes from the start of the call's body.
        offset: usize,
    },
}

impl From<&CallEnd> for CallOutcome {
    fn from(end: &CallEnd) -> Self {
        match *end {
            CallEnd::Complete => Self::Complete,
            CallEnd::Incomplete => Self::Incomplete,
            CallEnd::Malformed { reason, offset } => {
                Self::Malformed { reason: reason.into(), offset }
            }
        }
    }
}

/// One piece of message text, in order.
///
/// The pieces of a call stand between its [`CallStart`](Self::CallStart) and
/// [`CallEnd`](Self::CallEnd); calls do not overlap. Joined, [`Text`](Self::Text),
/// [`Marker`](Self::Marker), [`Inline`](Self::Inline), [`CallBody`](Self::CallBody) and
/// [`CallVerbatim`](Self::CallVerbatim) are the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParsedContent<'a> {
    /// Text outside calls, never empty.
    Text(&'a str),
    /// A marker, as it was spelled: it ends the message section before it.
    Marker(&'a str),
    /// A marker inside the text, as it was spelled: the section goes on behind it.
    Inline(&'a str),
    /// The first opener in a fence, which hides it: the next text begins with it. If the fence is
    /// still open when the text ends, the complete calls from here on may be meant.
    OpenerInCode,
    /// A call began.
    CallStart,
    /// The tool's name, trimmed; given once, as soon as it is whole.
    CallName(&'a str),
    /// The model's own id of the call.
    CallId(&'a str),
    /// The tool server's name.
    CallServer(&'a str),
    /// A piece of the call's body, as it stands between the markers.
    CallBody(&'a str),
    /// A piece of the body that stands in the arguments as it is: body, source and JSON text of
    /// the arguments at once. Almost all bytes of a long argument come so.
    CallVerbatim(&'a str),
    /// A piece of the JSON text of the arguments.
    CallArguments(&'a str),
    /// A piece of the source of the arguments.
    CallSource(&'a str),
    /// The call ended.
    CallEnd {
        /// The end; a complete call may run.
        outcome: &'a CallEnd,
        /// The repairs in the call.
        repairs: RepairSet,
    },
}

/// One piece of a response, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ResponsePiece<'a> {
    /// Part of the reasoning, never empty.
    Thinking(&'a str),
    /// Part of the answer: its text, or what a call in it holds.
    Answer(ParsedContent<'a>),
    /// A marker: the section that was open, if any, ended.
    SectionEnd,
    /// A marker inside a section, which goes on.
    Inline,
    /// The first opener of a call in this reasoning, see
    /// [`ThinkingPiece::CallOpener`](super::ThinkingPiece::CallOpener).
    CallOpener,
    /// The answer that follows, up to the end of its section, is for a person, and holds no calls.
    Prose,
}

/// A receiver of content.
pub(super) type Emit<'o> = dyn FnMut(ParsedContent<'_>) + 'o;
