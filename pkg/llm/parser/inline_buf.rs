//! The bytes that may still become a marker.

use crate::types::{slice, subslice};

/// The longest marker with its attributes, and what is looked at behind it.
pub(crate) const CAPACITY: usize = 384;

/// Text held back, in place: no marker with its attributes is longer than this.
#[derive(Debug)]
pub(crate) struct InlineBuf {
    bytes: [u8; CAPACITY],
    length: usize,
}

impl InlineBuf {
    pub(crate) const fn new() -> Self {
        Self { bytes: [0; CAPACITY], length: 0 }
    }

    #[inline]
    pub(crate) const fn is_empty(&self) -> bool {
        self.length == 0
    }

    pub(crate) const fn len(&self) -> usize {
        self.length
    }

    /// Returns the number of bytes that there is still room for.
    pub(crate) const fn room(&self) -> usize {
        CAPACITY - self.length
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        subslice(&self.bytes, ..self.length)
    }

    /// Returns the text; only whole characters go in and come out.
    pub(crate) fn as_str(&self) -> &str {
        str::from_utf8(self.as_bytes()).unwrap_or_default()
    }

    /// Appends what there is room for.
    pub(crate) fn push_str(&mut self, text: &str) {
        let text = slice(text, ..text.floor_char_boundary(self.room()));
        let end = self.length + text.len();
        if let Some(place) = self.bytes.get_mut(self.length..end) {
            place.copy_from_slice(text.as_bytes());
            self.length = end;
        }
    }

    pub(crate) fn truncate(&mut self, length: usize) {
        self.length = self.length.min(length);
    }

    /// Drops the first bytes.
    pub(crate) fn advance(&mut self, count: usize) {
        let count = count.min(self.length);
        self.bytes.copy_within(count..self.length, 0);
        self.length -= count;
    }

    pub(crate) fn clear(&mut self) {
        self.length = 0;
    }
}
