//! The text that is being read, and its position in the fed piece.

use forgeline_json::slice;

/// The current text: the fed piece, or withheld text and the next of its characters.
pub(super) struct TextPiece<'t> {
    pub(super) text: &'t str,
    pub(super) place: PieceOrigin,
    /// The start of the source that has not been emitted.
    pub(super) source: usize,
    /// The position of the current mark, or of text that is not a mark.
    pub(super) at: usize,
    pub(super) end: usize,
}

impl<'t> TextPiece<'t> {
    /// Creates a piece of text at `place`, of which `at` bytes have been read.
    pub(super) fn new(text: &'t str, place: PieceOrigin, at: usize) -> Self {
        Self { text, place, source: at, at, end: at }
    }

    /// Returns the current mark or text.
    pub(super) fn current(&self) -> &'t str {
        slice(self.text, self.at..self.end)
    }

    pub(super) fn rest(&self) -> &'t str {
        slice(self.text, self.at..)
    }

    /// Returns the byte of the fed piece that corresponds to `at`.
    pub(super) fn fed(&self, at: usize) -> usize {
        self.place.fed(at)
    }
}

/// The place of a text: its byte `back` is byte `start` of the fed piece.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PieceOrigin {
    pub(super) back: usize,
    pub(super) start: usize,
}

impl PieceOrigin {
    /// Returns the place of a text of `length` bytes that ends at byte `at` of a text at this place.
    pub(super) fn of_held(self, length: usize, at: usize) -> Self {
        Self { back: self.back + length, start: self.start + at }
    }

    /// Returns the place of a withheld text that ends where the next fed piece begins.
    pub(super) fn before(text: &str) -> Self {
        Self::default().of_held(text.len(), 0)
    }

    pub(super) fn fed(self, at: usize) -> usize {
        (self.start + at).saturating_sub(self.back)
    }
}
