//! A fast check of a block for places where markers may begin.

use forgeline_json::{Block, Finder};

/// The number of bytes after the first one that are compared.
const BEHIND: usize = 3;
/// The maximum number of bytes that are searched for at each of these places.
const KINDS: usize = 4;
/// The bit that distinguishes upper and lower case of a letter.
const CASE: u8 = 0x20;

/// A search for places at which the second, third and fourth byte are among those that markers have there, in either
/// case.
///
/// The search has no branch, since processors cannot predict which of many `<` begin nothing, and their number.
#[derive(Debug, Clone)]
pub(crate) struct FrontSieve {
    /// The finders, each with its distance from the first byte.
    behind: [(Finder<0, KINDS>, u32); BEHIND],
}

/// The bytes that are searched for at one place; `None` if any byte is possible.
type PrefixKinds = Option<([u8; KINDS], usize)>;

impl FrontSieve {
    /// Creates a search for these markers; `None` if they have no byte, or too many, at each place.
    pub(crate) fn new<'a>(markers: impl Iterator<Item = &'a str>) -> Option<Self> {
        let mut kinds: [PrefixKinds; BEHIND] = [Some(([0; KINDS], 0)); BEHIND];
        for marker in markers {
            for (place, kinds) in (1..).zip(&mut kinds) {
                *kinds = with(*kinds, marker.as_bytes().get(place).copied());
            }
        }
        let finder = |(at, kinds): (u32, &PrefixKinds)| {
            let (bytes, count) = (*kinds)?;
            let (first, _) = bytes.split_first()?;
            // If there are fewer, one of them is searched for repeatedly.
            let mut all = [*first; KINDS];
            all.get_mut(..count)?.copy_from_slice(bytes.get(..count)?);
            (count > 0).then(|| (Finder::with_exact(all, []), at))
        };
        let finders = (1..).zip(&kinds).map(finder);
        // A place at which any byte is possible is replaced by a repetition of another place.
        let some = finders.clone().flatten().next()?;
        let mut behind = [some; BEHIND];
        for (own, found) in behind.iter_mut().zip(finders) {
            *own = found.unwrap_or(some);
        }
        Some(Self { behind })
    }

    /// Returns those of `firsts`, one bit for each byte of the block, after which a marker may continue, as far as
    /// the bytes of the block show.
    #[inline(always)]
    pub(crate) fn narrow(&self, firsts: u32, (block, before, length): Block) -> u32 {
        let lower = block.map(|byte| byte | CASE);
        let behind = |(finder, at): &(Finder<0, KINDS>, u32)| {
            (finder.found(lower) >> before | u32::MAX << length) >> (at & 3)
        };
        let [one, two, three] = &self.behind;
        firsts & behind(one) & behind(two) & behind(three)
    }
}

/// Returns `kinds` with one more byte; a marker that ends earlier may be followed by any byte.
fn with(kinds: PrefixKinds, byte: Option<u8>) -> PrefixKinds {
    let ((mut bytes, count), kind) = (kinds?, byte? | CASE);
    if bytes.get(..count)?.contains(&kind) {
        return kinds;
    }
    *bytes.get_mut(count)? = kind;
    Some((bytes, count + 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use forgeline_json::BLOCK;

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
    fn a_place_where_markers_have_many_bytes_or_none_tells_nothing() {
        let keeps = |sieve: &FrontSieve, text: &str| {
            sieve.narrow(1, (format!("{text:16}").into_bytes().try_into().unwrap(), 0, BLOCK)) == 1
        };
        let short = FrontSieve::new(["<tool", "<]"].into_iter()).unwrap();
        assert!(keeps(&short, "<]x") && keeps(&short, "<tool") && !keeps(&short, "<x"));
        let second = ["<xaa", "<xba", "<xca", "<xda", "<xea"];
        let second = FrontSieve::new(second.into_iter()).unwrap();
        assert!(keeps(&second, "<xqa") && !keeps(&second, "<xaq") && !keeps(&second, "<qaa"));
        let many = ["<aaa", "<bbb", "<ccc", "<ddd", "<eee"];
        assert!(FrontSieve::new(many.into_iter()).is_none());
        assert!(
            FrontSieve::new([].into_iter()).is_none()
                && FrontSieve::new(["<"].into_iter()).is_none()
        );
    }
}
