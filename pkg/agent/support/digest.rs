//! Digests that are stable across processes.

/// Returns the FNV-1a digest of bytes: changing any one byte changes the digest.
pub(crate) fn digest<'b>(bytes: impl IntoIterator<Item = &'b u8>) -> u64 {
    let add = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.into_iter().fold(0xcbf2_9ce4_8422_2325, add)
}
