//! The text that is read: where it stands in the piece that was fed.

use crate::types::slice;

/// The current text: the piece that was fed, or what was withheld and the next of its characters.
pub(super) struct Piece<'t> {
    pub(super) text: &'t str,
    pub(super) place: Place,
    /// The start of the source that was not yet given.
    pub(super) source: usize,
    /// The current mark, or text that is none.
    pub(super) at: usize,
    pub(super) end: usize,
}

impl<'t> Piece<'t> {
    /// Creates text that stands at `place`, of which `at` bytes were read.
    pub(super) fn new(text: &'t str, place: Place, at: usize) -> Self {
        Self { text, place, source: at, at, end: at }
    }

    /// Returns the current mark or text.
    pub(super) fn current(&self) -> &'t str {
        slice(self.text, self.at..self.end)
    }

    pub(super) fn rest(&self) -> &'t str {
        slice(self.text, self.at..)
    }

    /// Returns the byte of the piece that was fed which stands at `at`.
    pub(super) fn fed(&self, at: usize) -> usize {
        self.place.fed(at)
    }
}

/// The place of a text: its byte `back` is byte `start` of the piece that was fed.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Place {
    pub(super) back: usize,
    pub(super) start: usize,
}

impl Place {
    /// Returns the place of a text of `length` bytes that ends at byte `at` of a text at this place.
    pub(super) fn of_held(self, length: usize, at: usize) -> Self {
        Self { back: self.back + length, start: self.start + at }
    }

    /// Returns the place of a withheld text that ends where the piece begins that is fed next.
    pub(super) fn before(text: &str) -> Self {
        Self::default().of_held(text.len(), 0)
    }

    pub(super) fn fed(self, at: usize) -> usize {
        (self.start + at).saturating_sub(self.back)
    }
}
