//! Finds the first byte that matters in a short slice, eight bytes at a time.
//!
//! Chunks of a stream are a few bytes long: there the set-up of a general search costs more than the
//! search. A mask says of eight bytes at once which of them are wanted: it has the top bit of a byte
//! set where one is. Above the first wanted byte a mask may be wrong, below it never.

const ONES: u64 = 0x0101_0101_0101_0101;
const TOPS: u64 = 0x8080_8080_8080_8080;
const WORD: usize = 8;

/// Returns the mask of the bytes equal to `byte`.
#[inline]
pub(crate) const fn equal(word: u64, byte: u8) -> u64 {
    below(word ^ (ONES * byte as u64), 1)
}

/// Returns the mask of the bytes less than `limit`, which is at most 128.
#[inline]
pub(crate) const fn below(word: u64, limit: u8) -> u64 {
    word.wrapping_sub(ONES * limit as u64) & !word & TOPS
}

/// Returns the position of the first byte that `mask` wants, else the length.
#[inline(always)]
pub(crate) fn find_first(bytes: &[u8], mask: impl Fn(u64) -> u64 + Copy) -> usize {
    let mut at = 0;
    while let Some(block) = bytes.get(at..).and_then(<[u8]>::first_chunk::<{ 2 * WORD }>) {
        let block = u128::from_le_bytes(*block);
        #[expect(clippy::cast_possible_truncation, reason = "the halves of a block")]
        let (low, high) = (mask(block as u64), mask((block >> 64) as u64));
        if low | high != 0 {
            return at + if low != 0 { place(low) } else { WORD + place(high) };
        }
        at += 2 * WORD;
    }
    match bytes.get(at..) {
        Some(rest) if !rest.is_empty() => at + find_in_tail(rest, mask),
        _ => bytes.len(),
    }
}

/// Returns the same for less than sixteen bytes: two words, which may overlap.
#[inline(always)]
fn find_in_tail(bytes: &[u8], mask: impl Fn(u64) -> u64 + Copy) -> usize {
    let (Some(head), Some(tail)) = (bytes.first_chunk::<WORD>(), bytes.last_chunk::<WORD>()) else {
        return find_in_short(bytes, mask);
    };
    let (low, high) = (mask(u64::from_le_bytes(*head)), mask(u64::from_le_bytes(*tail)));
    if low | high == 0 {
        return bytes.len();
    }
    if low != 0 { place(low) } else { bytes.len() - WORD + place(high) }
}

/// Returns the same for less than eight bytes.
#[inline(never)]
fn find_in_short(bytes: &[u8], mask: impl Fn(u64) -> u64) -> usize {
    let length = bytes.len();
    // Overlapping halves make one word; what is beyond the end is masked off.
    let word = match (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        (Some(head), Some(tail)) => {
            let tail = u64::from(u32::from_le_bytes(*tail)) << (8 * (length - 4));
            u64::from(u32::from_le_bytes(*head)) | tail
        }
        _ => bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)),
    };
    let within = (1_u64 << (8 * length)) - 1;
    let found = mask(word) & within;
    if found == 0 { length } else { place(found) }
}

#[inline]
fn place(found: u64) -> usize {
    found.trailing_zeros() as usize / 8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_wanted_byte_is_found_at_every_length_and_place() {
        let mask = |word| equal(word, b'<') | below(word, 0x20);
        let is_wanted = |byte: &u8| *byte == b'<' || *byte < 0x20;
        // Neighbours of wanted bytes, where a borrow could show.
        for filler in [b'a', 0x20, b'=', b';', 0x80, 0xBC, 0xFF, 0x9F] {
            for length in 0..40 {
                let mut bytes = vec![filler; length];
                assert_eq!(find_first(&bytes, mask), length, "none in {length}");
                for at in 0..length {
                    for (wanted, later) in [(b'<', 0), (0x1F, b'<'), (0, 0x1F), (b'<', filler)] {
                        bytes[at] = wanted;
                        if let Some(byte) = bytes.get_mut(at + 1) {
                            *byte = later;
                        }
                        let want = bytes.iter().position(is_wanted);
                        assert_eq!(Some(find_first(&bytes, mask)), want, "{at} of {length}");
                        bytes.fill(filler);
                    }
                }
            }
        }
    }
}
