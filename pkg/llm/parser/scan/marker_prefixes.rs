//! A filter for the beginnings of markers: a `<` that begins none of them costs one check.

use crate::marker::MarkerSet;

/// The number of bytes that are compared.
const LENGTH: usize = 4;
const BITS: u32 = 12;

/// A filter for the beginnings of markers. It may have false positives, but no false negatives.
#[derive(Debug, Clone)]
pub(crate) struct MarkerPrefixes {
    bits: Box<[u64; 1 << (BITS - 6)]>,
    /// `true` if a marker is shorter than the compared bytes.
    has_short: bool,
}

impl MarkerPrefixes {
    pub(crate) fn new<'a>(sets: impl IntoIterator<Item = &'a MarkerSet>) -> Self {
        let mut fronts = Self { bits: Box::new([0; 1 << (BITS - 6)]), has_short: false };
        for text in sets.into_iter().flat_map(MarkerSet::texts) {
            let text = text.as_bytes();
            for length in 1..=text.len().min(LENGTH) {
                fronts.insert(hash(front(text, length), length));
            }
            if text.len() < LENGTH {
                fronts.has_short = true;
                fronts.insert(hash(front(text, text.len()), LENGTH + text.len()));
            }
        }
        fronts
    }

    fn insert(&mut self, hash: u32) {
        if let Some(word) = self.bits.get_mut((hash >> 6) as usize) {
            *word |= 1 << (hash & 63);
        }
    }

    #[inline]
    fn holds(&self, front: u32, length: usize) -> bool {
        let hash = hash(front, length);
        self.bits.get((hash >> 6) as usize).is_some_and(|word| word >> (hash & 63) & 1 == 1)
    }

    /// Returns `true` if a marker may begin with the first bytes of `text`, which may end inside it.
    #[inline]
    pub(crate) fn may_begin(&self, text: &[u8]) -> bool {
        let is_front = match text.first_chunk() {
            Some(first) => self.holds(u32::from_le_bytes(*first), LENGTH),
            None => self.holds(front(text, text.len()), text.len()),
        };
        is_front || self.has_short && self.begins_with_short(text)
    }

    /// Returns `true` if a marker is shorter than the compared bytes.
    pub(crate) fn has_short(&self) -> bool {
        self.has_short
    }

    fn begins_with_short(&self, text: &[u8]) -> bool {
        (1..LENGTH.min(text.len() + 1))
            .any(|length| self.holds(front(text, length), LENGTH + length))
    }
}

/// Returns the first `length` bytes of `text` as a number.
#[inline]
fn front(text: &[u8], length: usize) -> u32 {
    text.iter().take(length).rev().fold(0, |front, byte| front << 8 | u32::from(*byte))
}

/// Returns the position in the filter; letters in either case share one.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "lengths of a few bytes")]
fn hash(front: u32, length: usize) -> u32 {
    ((front | 0x2020_2020) ^ length as u32).wrapping_mul(0x9E37_79B1) >> (32 - BITS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::marker::Marker;

    #[test]
    fn every_front_of_a_marker_passes_and_almost_no_other_text() {
        let set = MarkerSet::new([
            Marker::tag("<tool_call"),
            Marker::exact("<|call|>"),
            Marker::exact("]]"),
            Marker::exact("◁think▷"),
        ]);
        let fronts = MarkerPrefixes::new([&set]);
        for text in
            ["<tool_call>", "<TOOL_CALL>", "<Tool", "<|call|>x", "]]", "]]x", "]]xyz", "◁think▷"]
        {
            for length in 1..=text.len() {
                assert!(fronts.may_begin(&text.as_bytes()[..length]), "{text}: {length} bytes");
            }
        }
        for text in ["<to", "<T", "]", "◁"] {
            assert!(fronts.may_begin(text.as_bytes()), "{text} may go on");
        }
        let others = ["<p>", "<th", "<div>", "< b", "<=d ", "<|im|", "] x", "]x", "◀think", "a]]"];
        let passing = others.iter().filter(|text| fronts.may_begin(text.as_bytes())).count();
        assert!(passing <= 1, "{passing} of {}", others.len());
    }
}
