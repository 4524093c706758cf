//! A line end at the edge of a value, which may be framing.

/// The part of a line end at the end of the text so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineEnd {
    None,
    /// A carriage return that is the whole value.
    FirstReturn,
    Return,
    Feed,
    /// A carriage return and a line feed, which count as one line end (R2).
    Both,
}

impl LineEnd {
    /// Returns the line end at the end of `text`.
    pub(super) fn at_end_of(text: &str) -> Self {
        match text.as_bytes() {
            [.., b'\r', b'\n'] => Self::Both,
            [.., b'\n'] => Self::Feed,
            [.., b'\r'] => Self::Return,
            _ => Self::None,
        }
    }

    /// Returns `true` for a line end rather than a part of one.
    pub(super) const fn is_whole(self) -> bool {
        matches!(self, Self::Feed | Self::Both)
    }

    /// Returns its text.
    pub(super) const fn text(self) -> &'static str {
        match self {
            Self::None => "",
            Self::FirstReturn | Self::Return => "\r",
            Self::Feed => "\n",
            Self::Both => "\r\n",
        }
    }
}
