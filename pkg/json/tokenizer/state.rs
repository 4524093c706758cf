//! The states of the tokenizer.

use crate::json::Number;

/// The state after the last byte, which decides what may come next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// A value must come.
    Value,
    /// `[` was seen: a value or `]`.
    FirstItem,
    /// A comma in an array was seen and is withheld: a value, or `]` and it was one too many.
    NextItem,
    /// `{` was seen: a key or `}`.
    FirstKey,
    /// A comma in an object was seen and is withheld.
    NextKey,
    /// A key was seen.
    Colon,
    /// A value inside brackets ended.
    AfterValue,
    /// Inside a string.
    String { quote: u8, is_key: bool, escape: Escape },
    /// Inside a number.
    Number(Number),
    /// Inside `true`, `None` and the like.
    Word,
    /// Inside a key without quotes.
    BareKey,
    /// The value is whole.
    Done,
    /// A mistake that cannot be repaired was seen.
    Failed,
}

/// The part of an escape that was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Escape {
    None,
    /// A backslash was seen and is withheld.
    Backslash,
    /// `\u` and this many hex digits were seen and are withheld; or Python's `\x`, which has the last
    /// two of them.
    Unicode {
        digits: [u8; 4],
        count: u8,
        is_short: bool,
    },
}

/// The part of a comment that was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Comment {
    None,
    /// A slash was seen.
    Slash,
    Line,
    Block,
    /// A star inside a block comment was seen.
    BlockStar,
}

/// The text that may follow the value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Behind {
    /// Further objects, or text, which is a mistake that is repaired.
    Objects,
    /// Text, which is a mistake.
    Text,
    /// The end of a Markdown fence.
    Ticks,
    /// Nothing that this tokenizer reads.
    Nothing,
}

/// The mistake that ended the reading.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fault {
    pub(super) reason: &'static str,
    /// The state that met it.
    pub(super) state: State,
    /// The text that strict JSON has there; `None` for a limit.
    pub(super) expected: Option<&'static str>,
    /// Offset from the start of the text, in bytes.
    pub(super) at: usize,
}
