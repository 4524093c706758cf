//! A fast check of 32 to 64 bytes for a few values.

use wide::u8x16;

use super::find::{BLOCK, Halves, Kind};

/// The bytes between the upper and lower case letters: `[`, `\`, `]`, `^`, `_` and the backtick.
const GAP: std::ops::RangeInclusive<u8> = b'Z' + 1..=b'a' - 1;

/// A search for a kind of bytes, for one exact byte, and for those [between the letters](Self::is_in_gap). It may
/// report others, but misses none.
///
/// As many bytes as possible are searched for as one range: for a range, the minimum difference over all blocks is
/// compared once, while every other byte is compared in each block.
#[derive(Debug, Clone)]
pub struct Sieve {
    kind: Kind,
    exact: u8x16,
}

impl Sieve {
    /// Creates a search.
    #[doc(hidden)]
    pub fn new(kind: Kind, exact: u8) -> Self {
        Self { kind, exact: u8x16::new([exact; BLOCK]) }
    }

    /// Returns `true` for a byte between the letters; all of them are searched for.
    #[doc(hidden)]
    pub fn is_in_gap(byte: u8) -> bool {
        GAP.contains(&byte)
    }

    /// Returns `true` if `text` contains no match.
    #[inline(always)]
    #[doc(hidden)]
    pub fn are_absent(&self, text: Halves<'_>) -> bool {
        const START: u8x16 = u8x16::new([*GAP.start(); BLOCK]);
        const LAST: u8x16 = u8x16::new([*GAP.end() - *GAP.start(); BLOCK]);
        let Some(blocks) = text.blocks() else { return false };
        let [one, two, three, four] = blocks.map(u8x16::new);
        let found = |block: u8x16| self.kind.lanes(block) | block.simd_eq(self.exact);
        let others = (found(one) | found(two)) | (found(three) | found(four));
        let least = (one - START).min(two - START).min((three - START).min(four - START));
        let all = others | least.saturating_sub(LAST).simd_eq(u8x16::new([0; BLOCK]));
        all.to_bitmask() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_byte_that_is_looked_for_is_seen_at_every_length_and_place() {
        let sieve = Sieve::new(Kind::of(b'<'), 0xE2);
        for byte in 0..=u8::MAX {
            let is_wanted = Sieve::is_in_gap(byte) || matches!(byte, b'<' | 0xE2);
            for length in 32..=64 {
                for at in 0..length {
                    let mut bytes = vec![b'a'; length];
                    bytes[at] = byte;
                    let Some(halves) = Halves::of(&bytes) else { panic!("{length} bytes") };
                    assert_eq!(sieve.are_absent(halves), !is_wanted, "{byte} at {at} of {length}");
                }
            }
        }
    }
}
