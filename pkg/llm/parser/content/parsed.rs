//! The content emitted by the tool-call parser.

use forgeline_json::RepairSet;
use forgeline_types::CallOutcome;

/// The outcome of parsing a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParseOutcome {
    /// The name and arguments were read completely.
    Complete,
    /// The text ended, or was truncated, inside the call.
    Incomplete,
    /// The call could not be read.
    #[non_exhaustive]
    Malformed {
        /// The fault.
        reason: &'static str,
        /// Its position, in bytes from the start of the call's body.
        offset: usize,
    },
}

impl ParseOutcome {
    /// Creates the end of a call with a fault at this byte of its body.
    #[inline]
    #[must_use]
    pub const fn malformed(reason: &'static str, offset: usize) -> Self {
        Self::Malformed { reason, offset }
    }
}

impl From<&ParseOutcome> for CallOutcome {
    fn from(end: &ParseOutcome) -> Self {
        match *end {
            ParseOutcome::Complete => Self::Complete,
            ParseOutcome::Incomplete => Self::Incomplete,
            ParseOutcome::Malformed { reason, offset } => Self::malformed(reason, offset),
        }
    }
}

/// One piece of message text, in order.
///
/// The pieces of a call are emitted between its [`CallStart`](Self::CallStart) and
/// [`CallEnd`](Self::CallEnd); calls do not overlap. The concatenation of [`Text`](Self::Text),
/// [`Marker`](Self::Marker), [`Inline`](Self::Inline), [`CallBody`](Self::CallBody) and
/// [`CallVerbatim`](Self::CallVerbatim) is the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParsedContent<'a> {
    /// Text outside calls, never empty.
    Text(&'a str),
    /// A marker, as spelled, which ends the preceding message section.
    Marker(&'a str),
    /// A marker inside the text, as spelled; the section continues after it.
    Inline(&'a str),
    /// The first opener hidden by a fence; the next text begins with it. If the fence is
    /// still open when the text ends, the complete calls from here on may be intended as calls.
    OpenerInCode,
    /// A call began.
    CallStart,
    /// The tool's name, trimmed; emitted once, as soon as it is complete.
    CallName(&'a str),
    /// The id that the model gave the call.
    CallId(&'a str),
    /// The tool server's name.
    CallServer(&'a str),
    /// A piece of the call's body, as written between the markers.
    CallBody(&'a str),
    /// A piece of the body that is part of the arguments unchanged: it is body, source and JSON text of
    /// the arguments at once. Almost all bytes of a long argument are emitted this way.
    CallVerbatim(&'a str),
    /// A piece of the JSON text of the arguments.
    CallArguments(&'a str),
    /// A piece of the source of the arguments.
    CallSource(&'a str),
    /// The call ended.
    #[non_exhaustive]
    CallEnd {
        /// The outcome; a complete call may run.
        outcome: &'a ParseOutcome,
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
    /// Part of the answer: its text, or the content of a call in it.
    Answer(ParsedContent<'a>),
    /// A marker: the open section, if any, ended.
    SectionEnd,
    /// A marker inside a section, which continues.
    Inline,
    /// The first opener of a call in this reasoning, see
    /// [`ThinkingPiece::CallOpener`](crate::ThinkingPiece::CallOpener).
    CallOpener,
    /// The following answer, up to the end of its section, is for a person and contains no calls.
    Prose,
    /// A marker as spelled, or whitespace that belongs to one, see
    /// [`ThinkingPiece::Framing`](crate::ThinkingPiece::Framing).
    Framing(&'a str),
}

/// A receiver of content.
pub(crate) type ContentSink<'o> = dyn FnMut(ParsedContent<'_>) + 'o;
