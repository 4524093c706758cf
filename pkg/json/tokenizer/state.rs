//! The states of the tokenizer.

use crate::Number;

/// The state after the last byte, which decides what may come next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum JsonState {
    /// A value is required.
    Value,
    /// `[` was read: a value or `]` follows.
    FirstItem,
    /// A comma in an array was read and is withheld: a value follows, or `]` if there was one comma too many.
    NextItem,
    /// `{` was read: a key or `}` follows.
    FirstKey,
    /// A comma in an object was read and is withheld.
    NextKey,
    /// A key was read.
    Colon,
    /// A value inside brackets has ended.
    AfterValue,
    /// Inside a string.
    String { quote: u8, is_key: bool, escape: Escape },
    /// Inside a number.
    Number(Number),
    /// Inside a word such as `true` or `None`.
    Word,
    /// Inside a key without quotes.
    BareKey,
    /// The value is complete.
    Done,
    /// A mistake that cannot be repaired was found.
    Failed,
}

/// The part of an escape that has been read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Escape {
    None,
    /// A backslash was read and is withheld.
    Backslash,
    /// `\u` and this number of hex digits were read and are withheld; or Python's `\x`, which has only the last
    /// two digits.
    Unicode {
        digits: [u8; 4],
        count: u8,
        is_short: bool,
    },
}

/// The part of a comment that has been read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Comment {
    None,
    /// A slash was read.
    Slash,
    Line,
    Block,
    /// A star inside a block comment was read.
    BlockStar,
}

/// The text that may follow the value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Behind {
    /// Further objects, or text, which is a mistake that can be repaired.
    Objects,
    /// Text, which is an error.
    Text,
    /// The end of a Markdown fence.
    Ticks,
    /// Nothing read by this tokenizer.
    Nothing,
}

/// The mistake that ended reading.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fault {
    pub(super) reason: &'static str,
    /// The state in which the mistake was found.
    pub(super) state: JsonState,
    /// The syntax that strict JSON allows there; `None` if a limit was exceeded.
    pub(super) expected: Option<&'static str>,
    /// Offset from the start of the text, in bytes.
    pub(super) at: usize,
}
