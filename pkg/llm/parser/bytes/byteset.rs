//! Sets of a few bytes, and the search for the first of them.

use std::iter;

use forgeline_json::{ByteKind, Finder};

/// The number of kinds of bytes that are searched for at once, and up to [`MAX_KINDS`] at twice the
/// cost; with more kinds, every byte is looked up.
const FEW_KINDS: usize = 4;
/// Maximum number of kinds of bytes that one set tells apart.
const MAX_KINDS: usize = 8;

/// For few kinds, the number of pairs that are searched for at once.
const FEW_PAIRS: usize = 2;
const FEW_EXACT: usize = FEW_KINDS - FEW_PAIRS;
/// A byte that occurs in no text.
const IN_NO_TEXT: u8 = 0xFF;

/// A set of bytes that are searched for together.
///
/// The search is a sieve: it may stop at a few bytes that are not in the set, such as `>` in addition to `<`.
/// Two bytes that differ in two bits form one kind that way.
#[derive(Debug, Clone)]
pub(crate) struct ByteSet {
    members: [u64; 4],
    search: ByteSearch,
}

#[derive(Debug, Clone)]
enum ByteSearch {
    Few(Finder<FEW_PAIRS, FEW_EXACT>),
    Many(Box<Finder<MAX_KINDS>>),
    EachByte,
}

impl ByteSet {
    pub(crate) fn new(bytes: impl IntoIterator<Item = u8>) -> Self {
        let mut members = [0_u64; 4];
        for byte in bytes {
            insert(&mut members, byte);
        }
        let kinds = kinds_of(bytes_of(members).collect());
        let search = if let Some(finder) = few(&kinds) {
            ByteSearch::Few(finder)
        } else if let Some(kinds) = padded::<MAX_KINDS>(&kinds) {
            ByteSearch::Many(Box::new(Finder::new(kinds)))
        } else {
            ByteSearch::EachByte
        };
        Self { members, search }
    }

    /// Returns this set extended by `bytes`.
    pub(crate) fn with(&self, bytes: impl IntoIterator<Item = u8>) -> Self {
        Self::new(self.iter().chain(bytes))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = u8> + use<> {
        bytes_of(self.members)
    }

    #[inline]
    pub(crate) fn holds(&self, byte: u8) -> bool {
        holds(&self.members, byte)
    }

    /// Returns the position of the first byte that may be in the set, or else the length. No byte before
    /// it is in the set.
    #[inline(always)]
    pub(crate) fn sieve(&self, bytes: &[u8]) -> usize {
        match &self.search {
            ByteSearch::Few(finder) => finder.find(bytes),
            ByteSearch::Many(_) | ByteSearch::EachByte => self.sieve_many(bytes),
        }
    }

    #[inline(never)]
    fn sieve_many(&self, bytes: &[u8]) -> usize {
        if let ByteSearch::Many(finder) = &self.search {
            return finder.find(bytes);
        }
        bytes.iter().position(|byte| self.holds(*byte)).unwrap_or(bytes.len())
    }
}

/// Returns kinds that contain all of `bytes`, and few others.
fn kinds_of(mut bytes: Vec<u8>) -> Vec<ByteKind> {
    let is_few = bytes.len() <= FEW_KINDS;
    let mut kinds = Vec::new();
    while let Some(first) = bytes.pop() {
        let other = bytes.iter().position(|other| is_cheap_pair(first, *other));
        kinds.push(match other.filter(|_| !is_few) {
            Some(at) => pair(first, bytes.swap_remove(at)),
            None => ByteKind::of(first),
        });
    }
    kinds
}

/// Returns a search for few kinds, some of which must consist of one byte.
fn few(kinds: &[ByteKind]) -> Option<Finder<FEW_PAIRS, FEW_EXACT>> {
    let exact: Vec<u8> = kinds.iter().filter_map(ByteKind::only).take(FEW_EXACT).collect();
    let mut left = exact.len();
    let is_other = |kind: &&ByteKind| {
        let is_exact = kind.only().is_some() && left > 0;
        left -= usize::from(is_exact);
        !is_exact
    };
    let others: Vec<ByteKind> = kinds.iter().filter(is_other).copied().collect();
    let mut all = [IN_NO_TEXT; FEW_EXACT];
    all.get_mut(..exact.len())?.copy_from_slice(&exact);
    Some(Finder::with_exact(all, padded(&others)?))
}

/// Returns `kinds` padded with empty ones, if they fit.
fn padded<const N: usize>(kinds: &[ByteKind]) -> Option<[ByteKind; N]> {
    let mut all = [ByteKind::NONE; N];
    all.get_mut(..kinds.len())?.copy_from_slice(kinds);
    Some(all)
}

fn bytes_of(members: [u64; 4]) -> impl Iterator<Item = u8> {
    [0, 64, 128, 192].into_iter().zip(members).flat_map(|(first, mut word)| {
        iter::from_fn(move || {
            let bit = u8::try_from(word.trailing_zeros()).ok()?;
            word &= word.checked_sub(1)?;
            Some(first | bit)
        })
    })
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

/// Returns a kind with both bytes, and with those that differ from them in the same bits.
fn pair(first: u8, second: u8) -> ByteKind {
    ByteKind::new(!(first ^ second), first)
}

/// Returns `true` if one comparison for both stops at nothing that is frequent in prose.
fn is_cheap_pair(first: u8, second: u8) -> bool {
    let differing = first ^ second;
    let lowest = differing & differing.wrapping_neg();
    // The comparison stops at these two as well, if they are different bytes.
    differing.count_ones() <= 2
        && [first ^ lowest, second ^ lowest].into_iter().all(|byte| {
            byte == first
                || byte == second
                || byte.is_ascii_uppercase()
                || matches!(byte, b'>' | b'|' | b'_' | b'^' | b'\\' | b'@' | 0..=9 | 11..=31 | 0x7F)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_lists_the_bytes_that_it_holds_in_their_order() {
        for bytes in [&b""[..], b"\0", b"<", &[0, 63, 64, 127, 128, 191, 192, 255]] {
            let set = ByteSet::new(bytes.iter().copied());
            assert!(set.iter().eq(bytes.iter().copied()), "{bytes:?}");
        }
        let all: Vec<u8> = (0..=u8::MAX).collect();
        assert!(ByteSet::new(all.iter().copied()).iter().eq(all));
    }

    #[test]
    fn a_cheap_pair_stops_at_itself_and_at_what_is_rare_only() {
        let is_rare = |byte: u8| byte.is_ascii_uppercase() || b">|_^\\@".contains(&byte);
        let is_control = |byte: u8| byte.is_ascii_control() && byte != b'\n';
        let stops_at = |sieve: &Finder<1>, byte: u8| sieve.find(&[byte]) == 0;
        for (first, second) in (0..=u8::MAX).flat_map(|one| (0..=u8::MAX).map(move |it| (one, it)))
        {
            let is_cheap = (first ^ second).count_ones() <= 2 && {
                let sieve = Finder::new([pair(first, second)]);
                let mut others = (0..=u8::MAX).filter(|byte| ![first, second].contains(byte));
                others.all(|it| is_rare(it) || is_control(it) || !stops_at(&sieve, it))
            };
            assert_eq!(is_cheap_pair(first, second), is_cheap, "{first} {second}");
        }
    }

    /// Returns the position of the first member; the sieve stops there, if not earlier.
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
    fn what_auto_looks_for_are_few_kinds() {
        for bytes in [&b"<`~"[..], b"<[]`~\xE2"] {
            let set = ByteSet::new(bytes.iter().copied());
            assert!(matches!(set.search, ByteSearch::Few(_)));
        }
    }
}
