//! What reads the payload of a call, whatever its grammar.

use std::fmt::Debug;

use super::repairs::RepairSet;

/// What a payload gives, in order. `at` counts bytes of the piece at hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PayloadOut<'a> {
    /// The tool's name was read whole.
    Name { name: &'a str, at: usize },
    /// The model's own id of the call was read whole; comes before the name or right behind it.
    Id(&'a str),
    /// The tool server's name was read whole.
    Server(&'a str),
    /// Strict JSON text of the arguments.
    Arguments(&'a str),
    /// Source text of the arguments.
    Source(&'a str),
    /// Another call begins in the same payload; the one before is whole.
    NextCall { at: usize, repairs: RepairSet },
}

impl PayloadOut<'_> {
    /// The same, told of a piece that begins so many bytes before.
    pub(super) fn behind(self, bytes: usize) -> Self {
        match self {
            Self::Name { name, at } => Self::Name { name, at: at + bytes },
            Self::NextCall { at, repairs } => Self::NextCall { at: at + bytes, repairs },
            Self::Id(_) | Self::Server(_) | Self::Arguments(_) | Self::Source(_) => self,
        }
    }
}

/// What is wrong with a payload, and at which of its bytes.
pub(super) type Fault = (&'static str, usize);

/// What a marker means at the place that was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Guard {
    /// What it says.
    Open,
    /// Nothing: a comment, CDATA.
    Closed,
    /// A closer says what it says; an opener is data.
    ClosersOnly,
    /// Inside a string that this text ends: an opener is data, a closer is suspect. It was data when
    /// the string ends and `,`, `:`, `)` or a closing bracket follows.
    InString(&'static str),
    /// Inside a value that one of the grammar's own tags ends: an opener is data, a closer is
    /// suspect. It was data when such a tag follows.
    InValue,
}

/// What may matter in the next text of a payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Plain {
    /// Anything.
    Nothing,
    /// In a JSON string in `"` that passes as it is: its end, escapes, controls, `<`.
    JsonString,
    /// In a Python string in `"`: both quotes, escapes, controls, `<`.
    PythonString,
    /// In raw text that becomes a JSON string: `<`, `&`, and what JSON escapes.
    RawText,
}

/// Reads one payload in pieces of any size: the body of one call, or of several.
///
/// However the text is cut, the joined outputs are the same. A reader never allocates for text that
/// passes; what it must hold is bounded.
pub(super) trait Reader: Debug + Send + Sync {
    /// Takes the next piece; gives how many bytes of it belong to the payload. Less than all when
    /// the grammar itself says that the payload ended there, or at a mistake that cannot be mended
    /// where the call has no closer.
    fn feed(&mut self, text: &str, out: &mut dyn FnMut(PayloadOut<'_>)) -> usize;

    /// What may matter in the next text; text without it may be skipped, and is then source and
    /// JSON text of the arguments as it stands.
    fn plain(&self) -> Plain {
        Plain::Nothing
    }

    /// So many bytes passed as they are.
    fn skip(&mut self, _bytes: usize) {}

    /// Whether the payload is whole, so that a missing closer can be forgiven.
    fn is_whole(&self) -> bool;

    /// Whether the grammar says that the payload has ended: what comes next is no part of it.
    fn has_ended(&self) -> bool {
        self.is_whole()
    }

    /// Whether a mistake was seen that cannot be mended.
    fn has_failed(&self) -> bool;

    /// What a marker means here.
    fn guard(&self) -> Guard;

    /// Whether `text`, which follows a suspect closer inside a value, holds a tag that ends it.
    fn ends_value(&self, _text: &str) -> bool {
        false
    }

    /// What was mended in the call at hand.
    fn repairs(&self) -> RepairSet;

    /// Ends the payload where its closer stands: completes what can be, or says what is wrong and
    /// where, in bytes from the first that was fed.
    fn close(&mut self, out: &mut dyn FnMut(PayloadOut<'_>)) -> Result<(), Fault>;
}
