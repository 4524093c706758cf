//! What the fuzz targets share.

pub mod body;
pub mod text;

/// Returns `bytes` in one piece, in up to five pieces at places that depend on the bytes, and byte by
/// byte.
pub fn cuts(bytes: &[u8]) -> [Vec<&[u8]>; 3] {
    // FNV-1a: a small change of the input moves the cuts.
    let mut hash = 0xCBF2_9CE4_8422_2325_u64;
    for byte in bytes {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01B3);
    }
    let mut places: Vec<_> = hash.to_le_bytes()[4..]
        .iter()
        .map(|share| usize::from(*share) * bytes.len() / 255)
        .collect();
    places.extend([0, bytes.len()]);
    places.sort_unstable();
    let chosen = places.windows(2).map(|pair| &bytes[pair[0]..pair[1]]);
    [vec![bytes], chosen.collect(), bytes.chunks(1).collect()]
}
