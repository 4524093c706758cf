//! Where to cut a body so that a reader that depends on the cuts is found out.

use forgeline_testkit::cut_step;

/// Bodies up to this length are cut everywhere.
pub(crate) const WHOLE_BYTES: usize = 16 << 10;

/// Where to cut `bytes` in two: everywhere up to 16 KiB; above, near everything that a reader may
/// stumble over, and at 2,000 places that a fixed seed picks. With `FORGELINE_QUICK`, one place in 16 of them.
pub(crate) fn cut_places(bytes: &[u8]) -> Vec<usize> {
    const NEAR_BYTES: usize = 8;
    const SEEDED: usize = 2_000;
    if bytes.len() <= WHOLE_BYTES {
        return (0..=bytes.len()).step_by(cut_step()).collect();
    }
    let mut wanted = vec![false; bytes.len() + 1];
    for (at, byte) in bytes.iter().enumerate() {
        if matches!(byte, b'\n' | b'\r' | b'"' | b'\\' | 0x80..) {
            let end = (at + NEAR_BYTES).min(bytes.len());
            wanted[at.saturating_sub(NEAR_BYTES)..=end].fill(true);
        }
    }
    let mut random = 0x2545_f491_4f6c_dd1d_u64;
    for _ in 0..SEEDED {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        wanted[usize::try_from(random % bytes.len() as u64).unwrap()] = true;
    }
    let places = wanted.iter().enumerate().filter(|(_, wanted)| **wanted);
    places.map(|(at, _)| at).step_by(cut_step()).collect()
}
