//! The result of comparing text with a marker.

/// The input that follows the compared text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TextAhead {
    /// More text.
    More,
    /// Nothing.
    Nothing,
    /// Content other than text: nothing that would have to follow can follow.
    Break,
    /// More text, in a block of calls, in which a function's tag with a name is never only a mention.
    Block,
    /// Anything: special tokens are never only mentioned.
    Any,
}

impl TextAhead {
    /// Returns what follows text that is the last if `is_last`.
    pub(crate) const fn at_end(is_last: bool) -> Self {
        if is_last { Self::Nothing } else { Self::More }
    }
}

/// The result of comparing the beginning of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MarkerMatch {
    /// Not a marker.
    No,
    /// The start of a marker; more text decides.
    Maybe,
    /// A marker of this number of bytes.
    Yes(usize),
    /// The text of a marker, of this number of bytes, that is only mentioned.
    Mention(usize),
}

impl MarkerMatch {
    /// Returns what `then` returns for the length of a marker, and any other result unchanged.
    pub(crate) fn and_then(self, then: impl FnOnce(usize) -> Self) -> Self {
        if let Self::Yes(bytes) = self { then(bytes) } else { self }
    }
}
