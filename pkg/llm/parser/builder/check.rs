//! What the machine relies on in the markers of a dialect.

use super::error::DialectError;

/// Most markers of one dialect: sets of markers are indexed by bytes.
pub(super) const MAX_MARKERS: usize = 64;
/// Longest marker, in bytes. With the blanks that may stand in a tag, and the line ends that may
/// stand before a closer, it has to fit where bytes are held back.
pub(super) const MAX_MARKER_BYTES: usize = 96;
/// Most line ends that may belong to a marker, at each place.
pub(super) const MAX_FRAMING: u8 = 8;

/// The markers of a dialect, as they were given.
#[derive(Debug, Default)]
pub(super) struct Markers<'m> {
    /// Those that are looked for in the same text: each means one thing.
    pub(super) in_text: Vec<&'m str>,
    /// All others.
    pub(super) others: Vec<&'m str>,
}

impl Markers<'_> {
    /// Whether the machine can look for these.
    pub(super) fn check(&self) -> Result<(), DialectError> {
        let mut seen = Vec::new();
        for marker in &self.in_text {
            let spelling = spelling(marker);
            if seen.contains(&spelling) {
                return Err(DialectError::Repeated { marker: (*marker).to_owned() });
            }
            seen.push(spelling);
        }
        let all = || self.in_text.iter().chain(&self.others);
        let count = all().count();
        if count > MAX_MARKERS {
            return Err(DialectError::TooMany { count });
        }
        for marker in all() {
            check_one(marker)?;
        }
        for outer in all() {
            let long = spelling(outer);
            let inside =
                |inner: &&&str| long.len() > inner.len() && long.contains(&spelling(inner));
            if let Some(inner) = all().find(inside) {
                let (outer, inner) = ((*outer).to_owned(), (*inner).to_owned());
                return Err(DialectError::Nested { outer, inner });
            }
        }
        Ok(())
    }
}

fn check_one(marker: &str) -> Result<(), DialectError> {
    let cannot_start = |first: char| first.is_whitespace() || matches!(first, '`' | '~');
    if !(2..=MAX_MARKER_BYTES).contains(&marker.len()) {
        return Err(DialectError::Length { marker: marker.to_owned() });
    }
    if marker.starts_with(cannot_start) {
        return Err(DialectError::Start { marker: marker.to_owned() });
    }
    Ok(())
}

/// Whether `marker`, outside of strings, may stand in JSON, a Python call or the like.
pub(super) fn is_punctuation(marker: &str) -> bool {
    marker.bytes().all(|byte| b"{}[]():,\"'".contains(&byte))
}

/// Whether the end of a payload may be the front of its closer.
pub(super) fn overlaps(payload_end: &str, closer: &str) -> bool {
    let mut tails = payload_end.char_indices().filter_map(|(at, _)| payload_end.get(at..));
    tails.any(|tail| closer.starts_with(tail))
}

/// The marker as it is compared: tags count in any case.
fn spelling(marker: &str) -> String {
    marker.to_ascii_lowercase()
}
