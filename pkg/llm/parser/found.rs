//! The outcome of comparing text with a marker.

/// The text behind the one that is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ahead {
    /// More of it.
    More,
    /// Nothing.
    Nothing,
    /// Something that is not text: what would have to follow does not.
    Break,
    /// More, in a block of calls: a function's tag with a name is not mentioned there.
    Block,
    /// Anything: special tokens are not mentioned.
    Any,
}

impl Ahead {
    /// Returns what follows text that may be the last.
    pub(crate) const fn of(is_last: bool) -> Self {
        if is_last { Self::Nothing } else { Self::More }
    }
}

/// The outcome of comparing the front of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
    /// Not a marker.
    No,
    /// The start of a marker; more text decides.
    Maybe,
    /// A marker of this many bytes.
    Yes(usize),
    /// The text of a marker, this many bytes of it, where it is only mentioned.
    Mention(usize),
}
