//! Searches for the first relevant byte in a short slice, sixteen bytes at a time.
//!
//! Chunks of a stream are a few bytes long; setting up a general search would cost more than the
//! search itself.

use wide::u8x16;

use super::subslice;

/// The number of bytes that are compared at once.
pub const BLOCK: usize = 16;

/// The number of bytes that are compared at once in longer text.
pub const WIDE: usize = 4 * BLOCK;

/// Bytes, the number of bytes at the start to ignore, and the number of bytes after those.
pub type Block = ([u8; BLOCK], usize, usize);

/// Returns the block that ends with `tail`, preceded by the bytes before it or followed by padding.
#[inline(always)]
pub fn last_block(bytes: &[u8], tail: &[u8]) -> Block {
    if let Some(block) = bytes.last_chunk() {
        return (*block, BLOCK - tail.len(), tail.len());
    }
    let mut block = [0; BLOCK];
    for (place, byte) in block.iter_mut().zip(tail) {
        *place = *byte;
    }
    (block, 0, tail.len())
}

/// Half of a wide block.
const HALF: usize = 2 * BLOCK;

/// A text of between half a wide block and a whole one, as a half from each end; the halves may overlap.
#[derive(Debug, Clone, Copy)]
pub struct Halves<'t> {
    first: &'t [u8; HALF],
    last: &'t [u8; HALF],
    length: usize,
}

impl<'t> Halves<'t> {
    /// Returns the halves of `bytes`; `None` for text of another length.
    #[inline(always)]
    #[doc(hidden)]
    pub fn of(bytes: &'t [u8]) -> Option<Self> {
        let (first, last) = (bytes.first_chunk()?, bytes.last_chunk()?);
        (bytes.len() <= WIDE).then_some(Self { first, last, length: bytes.len() })
    }

    /// Returns `true` if one of the last four bytes is a line end.
    #[inline(always)]
    #[doc(hidden)]
    pub fn ends_in_line_end(self) -> bool {
        self.last.last_chunk().is_some_and(has_line_end)
    }

    /// Returns the last four bytes, with the last one in the highest position.
    #[inline(always)]
    #[doc(hidden)]
    pub fn last_four(self) -> u32 {
        self.last.last_chunk().map_or(0, |last| u32::from_le_bytes(*last))
    }

    /// Returns the number of bytes.
    #[inline(always)]
    #[expect(clippy::len_without_is_empty, reason = "it is never empty")]
    pub fn len(self) -> usize {
        self.length
    }

    /// Returns the blocks of both halves.
    #[inline(always)]
    pub(super) fn blocks(self) -> Option<[[u8; BLOCK]; 4]> {
        let ((first, _), (last, _)) = (self.first.as_chunks(), self.last.as_chunks());
        let ([one, two], [three, four]) = (first, last) else { return None };
        Some([*one, *two, *three, *four])
    }
}

/// A search for `N` kinds of bytes, and for `E` exact bytes, which are cheaper.
#[derive(Debug, Clone, Copy)]
pub struct Finder<const N: usize, const E: usize = 0> {
    exact: [u8x16; E],
    kinds: [Kind; N],
}

/// The bytes that equal `value` once the bits outside `mask` are cleared.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    mask: u8x16,
    value: u8x16,
}

impl Kind {
    /// A kind without any byte.
    #[doc(hidden)]
    pub const NONE: Self = Self { mask: u8x16::new([0; BLOCK]), value: u8x16::new([1; BLOCK]) };

    /// Creates a kind.
    #[inline(always)]
    #[doc(hidden)]
    pub const fn new(mask: u8, value: u8) -> Self {
        Self { mask: u8x16::new([mask; BLOCK]), value: u8x16::new([value & mask; BLOCK]) }
    }

    /// Returns the byte of the kind, if it has only one.
    #[doc(hidden)]
    pub fn only(&self) -> Option<u8> {
        let [mask, ..] = self.mask.to_array();
        let [value, ..] = self.value.to_array();
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
    pub(super) fn lanes(&self, block: u8x16) -> u8x16 {
        (block & self.mask).simd_eq(self.value)
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
        Self { exact: exact.map(|byte| u8x16::new([byte; BLOCK])), kinds }
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
                found => place(found.into()),
            },
        }
    }

    /// Returns `true` if `bytes` is at most one block and contains no match; meant as a first check.
    #[inline(always)]
    #[doc(hidden)]
    pub fn are_absent_in_few(&self, bytes: &[u8]) -> bool {
        match bytes.try_into() {
            Ok(block) => self.found(block) == 0,
            Err(_) => bytes.len() < BLOCK && self.find_in_short(bytes) == bytes.len(),
        }
    }

    /// Returns `true` if `bytes` contains no match; meant as a second check, because it is more code than
    /// [`find`](Self::find).
    #[inline(always)]
    #[doc(hidden)]
    pub fn are_absent(&self, bytes: &[u8]) -> bool {
        let Some(last) = bytes.last_chunk() else { return self.are_absent_in_less(bytes) };
        let mut at = 0;
        // The last two blocks may overlap.
        while at + WIDE < bytes.len()
            && let Some(wide) = bytes.get(at..).and_then(<[u8]>::first_chunk)
        {
            if !self.are_absent_in_wide(wide) {
                return false;
            }
            at += WIDE;
        }
        self.are_absent_in_wide(last)
    }

    /// Returns the same for less than a wide block, which is searched from both ends.
    #[inline(always)]
    fn are_absent_in_less(&self, bytes: &[u8]) -> bool {
        let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) else {
            return self.find_in_short(bytes) == bytes.len();
        };
        let mut all = self.lanes(*first) | self.lanes(*last);
        if let (Some((_, rest)), Some((front, _))) =
            (bytes.split_first_chunk::<BLOCK>(), bytes.split_last_chunk::<BLOCK>())
            && let (Some(second), Some(last)) = (rest.first_chunk(), front.last_chunk())
        {
            all |= self.lanes(*second) | self.lanes(*last);
        }
        all.to_bitmask() == 0
    }

    /// Returns `true` if `wide` contains no match.
    #[inline(always)]
    fn are_absent_in_wide(&self, wide: &[u8; WIDE]) -> bool {
        let (blocks, _) = wide.as_chunks();
        // A loop would not be unrolled.
        let [one, two, three, four] = blocks else { return false };
        let all = self.lanes(*one) | self.lanes(*two) | self.lanes(*three) | self.lanes(*four);
        all.to_bitmask() == 0
    }

    /// Returns the same for bytes whose first block has already been searched.
    #[inline(always)]
    fn find_behind_block(&self, bytes: &[u8]) -> usize {
        let mut at = BLOCK;
        while let Some(block) = bytes.get(at..).and_then(<[u8]>::first_chunk) {
            let found = self.found(*block);
            if found != 0 {
                return at + place(found.into());
            }
            at += BLOCK;
        }
        match bytes.last_chunk() {
            _ if at == bytes.len() => at,
            // The bytes that were already searched contain no match.
            Some(block) => match self.found(*block) {
                0 => bytes.len(),
                found => bytes.len() - BLOCK + place(found.into()),
            },
            None => at,
        }
    }

    /// Calls `take` with the positions of all matches, in order, until it returns `false`.
    #[inline(always)]
    #[doc(hidden)]
    pub fn each(&self, bytes: &[u8], take: &mut impl FnMut(usize) -> bool) {
        let mut at = 0;
        if let Some(halves) = Halves::of(bytes) {
            each_bit(self.found_in_halves(halves), take);
            return;
        }
        while let Some(wide) = bytes.get(at..).and_then(<[u8]>::first_chunk) {
            if !each_bit(self.found_in_wide(wide), |lane| take(at + lane)) {
                return;
            }
            at += WIDE;
        }
        while let Some(block) = bytes.get(at..).and_then(<[u8]>::first_chunk) {
            if !each_bit(self.found(*block).into(), |lane| take(at + lane)) {
                return;
            }
            at += BLOCK;
        }
        if at < bytes.len() {
            let (block, before, length) = last_block(bytes, subslice(bytes, at..));
            let within = !(u32::MAX << length);
            each_bit((self.found(block) >> before & within).into(), |lane| take(at + lane));
        }
    }

    /// Returns the first match in less than sixteen bytes.
    #[inline(always)]
    fn find_in_short(&self, bytes: &[u8]) -> usize {
        let length = bytes.len();
        let (block, half) = halves_of_short(bytes);
        let within = (1 << (2 * half)) - 1;
        match place((self.found(block) & within).into()) {
            at if at < half => at,
            at => (length + at - 2 * half).min(length),
        }
    }

    /// Returns one bit for each match in at most a wide block of `bytes`; `None` for more bytes.
    #[inline(always)]
    #[doc(hidden)]
    pub fn found_in(&self, bytes: &[u8]) -> Option<u64> {
        if let Some(halves) = Halves::of(bytes) {
            return Some(self.found_in_halves(halves));
        }
        let length = bytes.len();
        if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
            let (first, last) = (u64::from(self.found(*first)), u64::from(self.found(*last)));
            return (length < HALF).then(|| first | last << (length - BLOCK));
        }
        let (block, half) = halves_of_short(bytes);
        let (found, within) = (u64::from(self.found(block)), (1 << half) - 1);
        Some(if length == 0 {
            0
        } else {
            found & within | (found >> half & within) << (length - half)
        })
    }

    /// Returns one bit for each match.
    #[inline(always)]
    #[doc(hidden)]
    pub fn found(&self, block: [u8; BLOCK]) -> u32 {
        self.lanes(block).to_bitmask()
    }

    /// Returns the same for a wide block.
    #[inline(always)]
    #[doc(hidden)]
    pub fn found_in_wide(&self, wide: &[u8; WIDE]) -> u64 {
        let (blocks, _) = wide.as_chunks();
        let [one, two, three, four] = blocks else { return 0 };
        let found = |block: &[u8; BLOCK]| u64::from(self.found(*block));
        found(one) | found(two) << BLOCK | found(three) << (2 * BLOCK) | found(four) << (3 * BLOCK)
    }

    /// Returns one bit for each match in `text`.
    #[inline(always)]
    pub(crate) fn found_in_halves(&self, text: Halves<'_>) -> u64 {
        self.found_in_half(text.first) | self.found_in_half(text.last) << (text.length - HALF)
    }

    /// Returns the same, with the bit of the last byte in the highest position.
    #[inline(always)]
    #[doc(hidden)]
    pub fn found_at_top(&self, text: Halves<'_>) -> u64 {
        self.found_in_half(text.first) << (WIDE - text.length)
            | self.found_in_half(text.last) << HALF
    }

    #[inline(always)]
    fn found_in_half(&self, half: &[u8; HALF]) -> u64 {
        let (blocks, _) = half.as_chunks();
        let [one, two] = blocks else { return 0 };
        u64::from(self.found(*one) | self.found(*two) << BLOCK)
    }

    /// Returns `true` if `text` contains no match.
    #[inline(always)]
    #[doc(hidden)]
    pub fn are_absent_in_halves(&self, text: Halves<'_>) -> bool {
        let Some([one, two, three, four]) = text.blocks() else { return false };
        let all = self.lanes(one) | self.lanes(two) | self.lanes(three) | self.lanes(four);
        all.to_bitmask() == 0
    }

    /// Returns a block in which all bits of the matches are set.
    #[inline(always)]
    fn lanes(&self, block: [u8; BLOCK]) -> u8x16 {
        let block = u8x16::new(block);
        let mut found = u8x16::new([0; BLOCK]);
        for byte in &self.exact {
            found |= block.simd_eq(*byte);
        }
        for kind in &self.kinds {
            found |= kind.lanes(block);
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

/// Returns `true` if one of the four bytes is a line end.
#[inline(always)]
pub fn has_line_end(bytes: &[u8; 4]) -> bool {
    const LINE_ENDS: u32 = u32::from_le_bytes([b'\n'; 4]);
    const ONES: u32 = u32::from_le_bytes([1; 4]);
    const TOPS: u32 = ONES << 7;
    let others = u32::from_le_bytes(*bytes) ^ LINE_ENDS;
    others.wrapping_sub(ONES) & !others & TOPS != 0
}

/// Calls `take` with the positions of the bits that are set, until it returns `false`. Returns `true` if it never did.
#[inline(always)]
fn each_bit(mut found: u64, mut take: impl FnMut(usize) -> bool) -> bool {
    while found != 0 {
        if !take(place(found)) {
            return false;
        }
        found &= found - 1;
    }
    true
}

#[inline(always)]
fn place(found: u64) -> usize {
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
                let halves = Halves::of(&bytes);
                assert_eq!(halves.is_some(), (HALF..=WIDE).contains(&length));
                assert!(halves.is_none_or(|it| finder.are_absent_in_halves(it)), "{length}");
                assert_eq!(finder.are_absent_in_few(&bytes), length <= BLOCK, "none in {length}");
                assert_eq!(finder.found_in(&bytes), (length <= WIDE).then_some(0), "{length}");
                for at in 0..length {
                    for (wanted, later) in [(b'<', 0), (0x1F, b'<'), (0, 0x1F), (b'<', filler)] {
                        bytes[at] = wanted;
                        if let Some(byte) = bytes.get_mut(at + 1) {
                            *byte = later;
                        }
                        let want = bytes.iter().position(is_wanted);
                        assert_eq!(Some(finder.find(&bytes)), want, "{at} of {length}");
                        assert!(!finder.are_absent(&bytes), "{at} of {length}");
                        assert!(!finder.are_absent_in_few(&bytes), "{at} of {length}");
                        if let Some(halves) = Halves::of(&bytes) {
                            let bits = (0..length).filter(|at| is_wanted(&bytes[*at]));
                            let bits = bits.fold(0, |all, at| all | 1_u64 << at);
                            assert_eq!(finder.found_in_halves(halves), bits, "{at} of {length}");
                            let on_top = bits << (WIDE - length);
                            assert_eq!(finder.found_at_top(halves), on_top, "{at} of {length}");
                            assert!(!finder.are_absent_in_halves(halves), "{at} of {length}");
                        }
                        let bits = (0..length.min(WIDE)).filter(|at| is_wanted(&bytes[*at]));
                        let bits = bits.fold(0, |all, at| all | 1_u64 << at);
                        let found = finder.found_in(&bytes);
                        assert_eq!(found, (length <= WIDE).then_some(bits), "{at} of {length}");
                        let wanted = (0..length).filter(|at| is_wanted(&bytes[*at]));
                        let mut found = Vec::new();
                        finder.each(&bytes, &mut |at| {
                            found.push(at);
                            true
                        });
                        assert!(wanted.eq(found), "{at} of {length}");
                        bytes.fill(filler);
                    }
                }
            }
        }
    }
}
