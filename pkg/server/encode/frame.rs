//! Frames of server-sent events.

use serde::Serialize;

/// Appends a frame with this data. JSON has no line end, so that one field holds it.
pub(super) fn data(value: &impl Serialize, out: &mut Vec<u8>) {
    out.extend_from_slice(b"data: ");
    let begun = out.len();
    if serde_json::to_writer(&mut *out, value).is_err() {
        out.truncate(begun);
        out.extend_from_slice(b"null");
    }
    out.extend_from_slice(b"\n\n");
}

/// Appends a number. `serde_json` writes it several times faster than a format does.
pub(in crate::server) fn number(number: u64, out: &mut Vec<u8>) {
    // A vector takes whatever is written into it.
    serde_json::to_writer(out, &number).unwrap_or(());
}
