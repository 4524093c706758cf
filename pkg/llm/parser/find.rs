//! Finds the first byte that matters in a short slice.

/// Bytes that are looked at together.
const BLOCK: usize = 16;

/// Where the first byte stands for which `is_wanted` holds, else the length.
///
/// Chunks of a stream are a few bytes long, where the set-up of a general search costs more than the
/// search. Whole blocks are looked at without a branch per byte, which the compiler turns into vector
/// code; the last block overlaps the one before it.
#[inline]
pub(super) fn find_first(bytes: &[u8], is_wanted: impl Fn(u8) -> bool + Copy) -> usize {
    if bytes.len() < BLOCK {
        return find_in_short(bytes, is_wanted);
    }
    let mut at = 0;
    while let Some(block) = bytes.get(at..).and_then(<[u8]>::first_chunk::<BLOCK>) {
        if holds(block, is_wanted) {
            return at + position(block, is_wanted);
        }
        at += BLOCK;
    }
    match bytes.last_chunk::<BLOCK>() {
        Some(block) if at < bytes.len() && holds(block, is_wanted) => {
            bytes.len() - BLOCK + position(block, is_wanted)
        }
        _ => bytes.len(),
    }
}

#[inline]
fn find_in_short(bytes: &[u8], is_wanted: impl Fn(u8) -> bool + Copy) -> usize {
    const HALF: usize = BLOCK / 2;
    let is_absent = match (bytes.first_chunk::<HALF>(), bytes.last_chunk::<HALF>()) {
        (Some(head), Some(tail)) => !holds(head, is_wanted) && !holds(tail, is_wanted),
        _ => false,
    };
    if is_absent { bytes.len() } else { position(bytes, is_wanted) }
}

#[inline]
fn holds<const N: usize>(block: &[u8; N], is_wanted: impl Fn(u8) -> bool) -> bool {
    block.iter().fold(false, |found, &byte| found | is_wanted(byte))
}

#[inline]
fn position(bytes: &[u8], is_wanted: impl Fn(u8) -> bool) -> usize {
    bytes.iter().position(|&byte| is_wanted(byte)).unwrap_or(bytes.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_wanted_byte_is_found_at_every_length_and_place() {
        for length in 0..70 {
            let mut bytes = vec![b'a'; length];
            assert_eq!(find_first(&bytes, |byte| byte == b'<'), length, "none in {length}");
            for at in 0..length {
                bytes[at] = b'<';
                for later in at..length {
                    let before = std::mem::replace(&mut bytes[later], b'<');
                    assert_eq!(find_first(&bytes, |byte| byte == b'<'), at, "{at} of {length}");
                    bytes[later] = before;
                }
                bytes[at] = b'a';
            }
        }
    }
}
