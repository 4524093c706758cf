//! Searches for the first relevant byte in a short slice, sixteen bytes at a time.
//!
//! Chunks of a stream are a few bytes long; setting up a general search would cost more than the
//! search itself.

use crate::block::{BLOCK, ByteBlock};

/// A search for `N` kinds of bytes, and for `E` exact bytes, which are cheaper.
#[derive(Debug, Clone, Copy)]
pub struct Finder<const N: usize, const E: usize = 0> {
    exact: [[u8; BLOCK]; E],
    kinds: [Kind; N],
}

/// The bytes that equal `value` once the bits outside `mask` are cleared.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    mask: [u8; BLOCK],
    value: [u8; BLOCK],
}

impl Kind {
    /// A kind without any byte.
    #[doc(hidden)]
    pub const NONE: Self = Self { mask: [0; BLOCK], value: [1; BLOCK] };

    /// Creates a kind.
    #[inline(always)]
    #[doc(hidden)]
    pub const fn new(mask: u8, value: u8) -> Self {
        Self { mask: [mask; BLOCK], value: [value & mask; BLOCK] }
    }

    /// Returns the byte of the kind, if it has only one.
    #[doc(hidden)]
    pub fn only(&self) -> Option<u8> {
        let ([mask, ..], [value, ..]) = (self.mask, self.value);
        (mask == u8::MAX).then_some(value)
    }

    /// Creates the kind of one byte.
    #[inline(always)]
    #[doc(hidden)]
    pub const fn of(byte: u8) -> Self {
        Self::new(u8::MAX, byte)
    }

    /// Returns a block in which all bits of the bytes of this kind are set.
    #[inline(always)]
    fn lanes(&self, block: ByteBlock) -> ByteBlock {
        block.and(ByteBlock::new(&self.mask)).equal(ByteBlock::new(&self.value))
    }
}

impl<const N: usize> Finder<N> {
    /// Creates a search.
    #[inline(always)]
    #[doc(hidden)]
    pub const fn new(kinds: [Kind; N]) -> Self {
        Self { exact: [], kinds }
    }
}

impl<const N: usize, const E: usize> Finder<N, E> {
    /// Creates a search that also finds the `exact` bytes.
    #[doc(hidden)]
    pub fn with_exact(exact: [u8; E], kinds: [Kind; N]) -> Self {
        Self { exact: exact.map(|byte| [byte; BLOCK]), kinds }
    }

    /// Returns the position of the first match, or else the length.
    #[inline(always)]
    #[doc(hidden)]
    pub fn find(&self, bytes: &[u8]) -> usize {
        // A loop would load everything it searches for first, and pieces are short.
        match bytes.first_chunk() {
            None => self.find_in_short(bytes),
            Some(block) => match self.found(*block) {
                0 if bytes.len() == BLOCK => BLOCK,
                0 => self.find_behind_block(bytes),
                found => place(found),
            },
        }
    }

    /// Returns `true` if `bytes` contains no match.
    #[inline(always)]
    #[doc(hidden)]
    pub fn are_absent(&self, bytes: &[u8]) -> bool {
        self.find(bytes) == bytes.len()
    }

    /// Returns the position of the first match in bytes whose first block contains none.
    #[inline(always)]
    fn find_behind_block(&self, bytes: &[u8]) -> usize {
        let mut rest = bytes;
        while let Some((block, behind)) = rest.split_first_chunk() {
            let found = self.found(*block);
            if found != 0 {
                return bytes.len() - rest.len() + place(found);
            }
            rest = behind;
        }
        match bytes.last_chunk() {
            // The bytes that were already searched contain no match.
            Some(block) if !rest.is_empty() => match self.found(*block) {
                0 => bytes.len(),
                found => bytes.len() - BLOCK + place(found),
            },
            _ => bytes.len(),
        }
    }

    /// Returns the first match in less than sixteen bytes.
    #[inline(always)]
    fn find_in_short(&self, bytes: &[u8]) -> usize {
        let length = bytes.len();
        let (block, half) = halves_of_short(bytes);
        let within = (1 << (2 * half)) - 1;
        match place(self.found(block) & within) {
            at if at < half => at,
            at => (length + at - 2 * half).min(length),
        }
    }

    /// Returns one bit for each match.
    #[inline(always)]
    #[doc(hidden)]
    pub fn found(&self, block: [u8; BLOCK]) -> u32 {
        self.lanes(&block).bits()
    }

    /// Returns a block in which all bits of the matches are set.
    #[inline(always)]
    fn lanes(&self, block: &[u8; BLOCK]) -> ByteBlock {
        let block = ByteBlock::new(block);
        let mut found = ByteBlock::new(&[0; BLOCK]);
        for byte in &self.exact {
            found = found.or(block.equal(ByteBlock::new(byte)));
        }
        for kind in &self.kinds {
            found = found.or(kind.lanes(block));
        }
        found
    }
}

/// Returns two halves, which may overlap, of less than sixteen bytes in one block, and the length of each half.
#[inline(always)]
fn halves_of_short(bytes: &[u8]) -> ([u8; BLOCK], usize) {
    let (block, half) = if let (Some(head), Some(tail)) =
        (bytes.first_chunk::<8>(), bytes.last_chunk::<8>())
    {
        let (head, tail) = (u64::from_le_bytes(*head), u64::from_le_bytes(*tail));
        (u128::from(tail) << 64 | u128::from(head), 8)
    } else if let (Some(head), Some(tail)) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        let (head, tail) = (u32::from_le_bytes(*head), u32::from_le_bytes(*tail));
        (u128::from(tail) << 32 | u128::from(head), 4)
    } else if let (Some(head), Some(tail)) = (bytes.first_chunk::<2>(), bytes.last_chunk::<2>()) {
        let (head, tail) = (u16::from_le_bytes(*head), u16::from_le_bytes(*tail));
        (u128::from(tail) << 16 | u128::from(head), 2)
    } else {
        (bytes.first().map_or(0, |byte| 0x0101 * u128::from(*byte)), 1)
    };
    (block.to_le_bytes(), half)
}

#[inline(always)]
fn place(found: u32) -> usize {
    found.trailing_zeros() as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_wanted_byte_is_found_at_every_length_and_place() {
        let finder = Finder::new([Kind::of(b'<'), Kind::new(0xE0, 0), Kind::NONE]);
        let is_wanted = |byte: &u8| *byte == b'<' || *byte < 0x20;
        for filler in [b'a', 0x20, b'=', b';', 0x80, 0xBC, 0xFF, 0x9F] {
            for length in (0..70).chain([127, 128, 130, 144, 200]) {
                let mut bytes = vec![filler; length];
                assert_eq!(finder.find(&bytes), length, "none in {length}");
                assert!(finder.are_absent(&bytes), "none in {length}");
                for at in 0..length {
                    for (wanted, later) in [(b'<', 0), (0x1F, b'<'), (0, 0x1F), (b'<', filler)] {
                        bytes[at] = wanted;
                        if let Some(byte) = bytes.get_mut(at + 1) {
                            *byte = later;
                        }
                        let want = bytes.iter().position(is_wanted);
                        assert_eq!(Some(finder.find(&bytes)), want, "{at} of {length}");
                        assert!(!finder.are_absent(&bytes), "{at} of {length}");
                        bytes.fill(filler);
                    }
                }
            }
        }
    }
}
