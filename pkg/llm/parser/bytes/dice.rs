//! Reproducible numbers for tests.

/// Returns a generator of numbers below a bound, which are the same each time.
pub(crate) fn dice() -> impl FnMut(usize) -> usize {
    let mut random = 0x2545_f491_4f6c_dd1d_u64;
    move |below| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        usize::try_from(random % below as u64).unwrap()
    }
}
