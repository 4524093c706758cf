//! A few bytes to look for, and finding the first of them eight bytes at a time.

use crate::json::find_first;

const ONES: u64 = 0x0101_0101_0101_0101;
const TOPS: u64 = 0x8080_8080_8080_8080;

/// The most terms of a search by words; with more, every byte is looked up.
const MAX_TERMS: usize = 5;

/// Up to this number of bytes have a term each, which is cheaper than one for two.
const MAX_EXACT: usize = 3;

/// A set of bytes that are looked for together.
///
/// The search by words is a sieve: it may stop at a few bytes that are not in the set, such as `>`
/// beside `<`. Two bytes that differ in two bits cost one term that way.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "facts that have nothing in common")]
pub(super) struct ByteSet {
    members: [u64; 4],
    terms: [Term; MAX_TERMS],
    count: usize,
    /// Set when no term is for two bytes: then masks need no look.
    is_exact: bool,
    has_too_many: bool,
}

/// The bytes that are `value` once the bits outside `mask` are cleared.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Term {
    mask: u64,
    value: u64,
}

impl Term {
    fn new(mask: u8, value: u8) -> Self {
        Self { mask: ONES * u64::from(mask), value: ONES * u64::from(value & mask) }
    }

    /// Returns the top bit of each byte that is found; above the first found byte it may be wrong.
    #[inline(always)]
    const fn found(self, word: u64) -> u64 {
        let difference = (word & self.mask) ^ self.value;
        difference.wrapping_sub(ONES) & !difference
    }

    /// Returns the same for a term of one byte.
    #[inline(always)]
    const fn exactly(self, word: u64) -> u64 {
        let difference = word ^ self.value;
        difference.wrapping_sub(ONES) & !difference
    }
}

impl ByteSet {
    pub(super) fn new(bytes: impl IntoIterator<Item = u8>) -> Self {
        let mut members = [0_u64; 4];
        for byte in bytes {
            insert(&mut members, byte);
        }
        let mut set = Self {
            members,
            terms: [Term::default(); MAX_TERMS],
            count: 0,
            is_exact: false,
            has_too_many: false,
        };
        set.choose_terms();
        set
    }

    /// Returns this set with more bytes.
    pub(super) fn with(&self, bytes: impl IntoIterator<Item = u8>) -> Self {
        Self::new(self.iter().chain(bytes))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = u8> {
        let members = self.members;
        (0..=u8::MAX).filter(move |byte| holds(&members, *byte))
    }

    fn choose_terms(&mut self) {
        let mut rest: Vec<u8> = self.iter().collect();
        let mut terms = Vec::new();
        self.is_exact = rest.len() <= MAX_EXACT;
        while let Some(first) = rest.pop() {
            let mut mask = u8::MAX;
            let pair = rest.iter().position(|other| is_cheap_pair(first, *other));
            if let Some(at) = pair.filter(|_| !self.is_exact) {
                mask = !(first ^ rest.swap_remove(at));
            }
            terms.push(Term::new(mask, first));
        }
        self.has_too_many = terms.len() > MAX_TERMS;
        self.count = terms.len().min(MAX_TERMS);
        for (place, term) in self.terms.iter_mut().zip(terms) {
            *place = term;
        }
    }

    #[inline]
    pub(super) fn holds(&self, byte: u8) -> bool {
        holds(&self.members, byte)
    }

    /// Returns the position of the first byte that may be in the set, else the length. Bytes before
    /// it are not.
    #[inline(always)]
    #[expect(clippy::many_single_char_names, reason = "five terms that differ in nothing")]
    pub(super) fn sieve(&self, bytes: &[u8]) -> usize {
        let [a, b, c, d, e] = self.terms;
        match self.count {
            1 if self.is_exact => find_first(bytes, |word| a.exactly(word) & TOPS),
            2 if self.is_exact => {
                find_first(bytes, |word| (a.exactly(word) | b.exactly(word)) & TOPS)
            }
            3 if self.is_exact => find_first(bytes, |word| {
                (a.exactly(word) | b.exactly(word) | c.exactly(word)) & TOPS
            }),
            1 => find_first(bytes, |word| a.found(word) & TOPS),
            2 => find_first(bytes, |word| (a.found(word) | b.found(word)) & TOPS),
            3 => find_first(bytes, |word| (a.found(word) | b.found(word) | c.found(word)) & TOPS),
            _ => self.sieve_many(bytes, [a, b, c, d, e]),
        }
    }

    #[inline(always)]
    #[expect(clippy::many_single_char_names, reason = "five terms that differ in nothing")]
    fn sieve_many(&self, bytes: &[u8], [a, b, c, d, e]: [Term; MAX_TERMS]) -> usize {
        if self.count == 0 {
            return bytes.len();
        }
        if self.has_too_many {
            return bytes.iter().position(|byte| self.holds(*byte)).unwrap_or(bytes.len());
        }
        let four = move |word| a.found(word) | b.found(word) | c.found(word) | d.found(word);
        if self.count == 4 {
            return find_first(bytes, |word| four(word) & TOPS);
        }
        find_first(bytes, |word| (four(word) | e.found(word)) & TOPS)
    }
}

fn insert(members: &mut [u64; 4], byte: u8) {
    if let Some(word) = members.get_mut(usize::from(byte >> 6)) {
        *word |= 1 << (byte & 63);
    }
}

#[inline]
fn holds(members: &[u64; 4], byte: u8) -> bool {
    members.get(usize::from(byte >> 6)).is_some_and(|word| word >> (byte & 63) & 1 == 1)
}

/// Returns `true` when one term for both stops at nothing that is frequent in prose.
fn is_cheap_pair(first: u8, second: u8) -> bool {
    let mask = !(first ^ second);
    mask.count_zeros() <= 2
        && (0..=u8::MAX).all(|byte| {
            byte & mask != first & mask
                || byte == first
                || byte == second
                || byte.is_ascii_uppercase()
                || matches!(byte, b'>' | b'|' | b'_' | b'^' | b'\\' | b'@' | 0..=9 | 11..=31 | 0x7F)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the position of the first member: the sieve stops there, if not before.
    fn find(set: &ByteSet, bytes: &[u8]) -> usize {
        let mut at = 0;
        loop {
            at += set.sieve(&bytes[at..]);
            if at == bytes.len() || set.holds(bytes[at]) {
                return at;
            }
            at += 1;
        }
    }

    #[test]
    fn the_first_member_is_found_whatever_stands_around_it() {
        let sets: [&[u8]; 7] =
            [b"", b"<", b"<`\n", b"<~`", b"<[]`~", b"<[]`~\xE2", b"<[]`~\xE2fgh#&!"];
        for members in sets {
            let set = ByteSet::new(members.iter().copied());
            for filler in [b'a', b' ', b'>', b'|', b'Y', b'_', 0xE1, 0x9F, 0xFF] {
                for length in 0..40 {
                    let mut bytes = vec![filler; length];
                    assert_eq!(find(&set, &bytes), length, "{members:?}");
                    for at in 0..length {
                        for byte in members {
                            bytes[at] = *byte;
                            assert_eq!(find(&set, &bytes), at, "{members:?} {at} of {length}");
                        }
                        bytes[at] = filler;
                    }
                }
            }
        }
    }

    #[test]
    fn what_auto_looks_for_needs_few_terms() {
        assert_eq!(ByteSet::new(*b"<`~").count, 3);
        assert_eq!(ByteSet::new(*b"<[]`~\xE2").count, 4);
    }
}
