//! One look at a block for the places where the fronts of markers may stand.

use crate::json::{Block, Finder};

/// The bytes behind the first one that are compared.
const BEHIND: usize = 3;
/// The most bytes that are looked for at each of these places.
const KINDS: usize = 4;
/// The bit by which a letter differs from the same in the other case.
const CASE: u8 = 0x20;

/// A search for places at which the second, third and fourth byte are some that markers have there, whatever
/// the case of letters.
///
/// It takes no branch: which of many `<` begin nothing, and how many they are, is what no processor foresees.
#[derive(Debug, Clone)]
pub(super) struct FrontSieve {
    behind: [Finder<0, KINDS>; BEHIND],
}

impl FrontSieve {
    /// Creates a search for these markers; `None` where one is too short, and where they have too many bytes
    /// at a place.
    pub(super) fn new<'a>(markers: impl Iterator<Item = &'a str>) -> Option<Self> {
        let mut kinds: [[Option<u8>; KINDS]; BEHIND] = [[None; KINDS]; BEHIND];
        for marker in markers {
            let (_, behind) = marker.as_bytes().split_first()?;
            for (kinds, byte) in kinds.iter_mut().zip(behind.first_chunk::<BEHIND>()?) {
                let kind = Some(byte | CASE);
                *kinds.iter_mut().find(|own| own.is_none() || **own == kind)? = kind;
            }
        }
        // Where there are fewer, one of them is looked for once more.
        let [[Some(_), ..], ..] = kinds else { return None };
        let finder = |kinds: [Option<u8>; KINDS]| {
            let [first, ..] = kinds;
            Finder::with_exact(kinds.map(|kind| kind.or(first).unwrap_or_default()), [])
        };
        Some(Self { behind: kinds.map(finder) })
    }

    /// Returns those of `firsts`, a bit for each byte of the block, behind which a marker may go on, as far as
    /// the bytes of the block tell.
    #[inline(always)]
    pub(super) fn narrow(&self, firsts: u32, (block, before, length): Block) -> u32 {
        let lower = block.map(|byte| byte | CASE);
        let [second, third, fourth] = &self.behind;
        let behind = |finder: &Finder<0, KINDS>, place: usize| {
            (finder.found(lower) >> before | u32::MAX << length) >> place
        };
        firsts & behind(second, 1) & behind(third, 2) & behind(fourth, 3)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::BLOCK;

    const MARKERS: [&str; 4] = ["<think", "</think", "<|im_end|>", "<tool"];

    #[test]
    fn each_front_is_kept_at_each_place_however_the_block_cuts_it() {
        let sieve = FrontSieve::new(MARKERS.into_iter()).unwrap();
        for marker in MARKERS.iter().flat_map(|it| [(*it).to_owned(), it.to_ascii_uppercase()]) {
            for at in 0..BLOCK {
                let text = format!("{}{marker}{}", "<".repeat(at), "<".repeat(BLOCK));
                let block = text.as_bytes()[..BLOCK].try_into().unwrap();
                for before in 0..=at {
                    let found = sieve.narrow(u32::MAX, (block, before, BLOCK - before));
                    assert_eq!(found >> (at - before) & 1, 1, "{text} from {before}");
                }
            }
        }
    }

    #[test]
    fn what_differs_in_one_of_four_bytes_is_not_kept() {
        let sieve = FrontSieve::new(MARKERS.into_iter()).unwrap();
        for text in ["<p>  ", "<to s", "<three", "</p> ", "<|xy ", "<thus", "< t h", "<<tho"] {
            let block = format!("{text:16}").into_bytes().try_into().unwrap();
            assert_eq!(sieve.narrow(1, (block, 0, BLOCK)), 0, "{text}");
        }
    }

    #[test]
    fn markers_that_are_short_or_of_many_kinds_have_none() {
        assert!(FrontSieve::new(["<tool", "]]>"].into_iter()).is_none());
        assert!(FrontSieve::new(["<aaa", "<baa", "<caa", "<daa", "<eaa"].into_iter()).is_none());
        assert!(FrontSieve::new(["<aaa", "<Aaa", "<caa", "<daa", "<eaa"].into_iter()).is_some());
    }
}
