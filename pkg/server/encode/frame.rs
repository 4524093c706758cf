//! Frames of server-sent events.

use serde::Serialize;

/// Appends a frame with this data. JSON contains no line end, so that it fits one field.
pub(super) fn data(value: &impl Serialize, out: &mut Vec<u8>) {
    out.extend_from_slice(b"data: ");
    let begun = out.len();
    if serde_json::to_writer(&mut *out, value).is_err() {
        out.truncate(begun);
        out.extend_from_slice(b"null");
    }
    out.extend_from_slice(b"\n\n");
}

/// Appends a number. `serde_json` formats it several times faster than `write!`.
pub(in crate::server) fn number(number: u64, out: &mut Vec<u8>) {
    // Writing to a vector cannot fail.
    serde_json::to_writer(out, &number).unwrap_or(());
}
