//! A line end at the edge of a value, which may be framing.

use forgeline_json::slice;

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

    /// Adds text; returns the text that was held before it, and the part of it that is not held.
    pub(super) fn next<'t>(&mut self, text: &'t str) -> [&'t str; 2] {
        if text.is_empty() {
            return [""; 2];
        }
        if *self == Self::Return && text == "\n" {
            *self = Self::Both;
            return [""; 2];
        }
        let earlier = std::mem::replace(self, Self::at_end_of(text)).text();
        [earlier, slice(text, ..text.len() - self.text().len())]
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
