//! The text of server-sent events, which is written nowhere else.

use std::fmt::Display;

use bytes::Bytes;
use memchr::memchr2;

/// A comment, which keeps a connection alive.
pub(crate) const COMMENT: Bytes = Bytes::from_static(b": keep-alive\n\n");

/// Appends the fields before the data of an event with a number.
pub(crate) fn write_head(number: u64, kind: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(b"id: ");
    // Writing to a vector cannot fail. `serde_json` formats a number several times faster than `write!`.
    serde_json::to_writer(&mut *out, &number).unwrap_or(());
    write_kind(kind, out);
}

/// Appends the kind. One that contains a line end, which no field can represent, is only in the data.
fn write_kind(kind: &str, out: &mut Vec<u8>) {
    if !kind.is_empty() && memchr2(b'\n', b'\r', kind.as_bytes()).is_none() {
        out.extend_from_slice(b"\nevent: ");
        out.extend_from_slice(kind.as_bytes());
    }
    out.push(b'\n');
}

/// Appends an event with a number.
pub(crate) fn write_numbered(number: u64, kind: &str, data: &[u8], out: &mut Vec<u8>) {
    out.reserve(data.len() + kind.len() + 40);
    write_head(number, kind, out);
    write_data(out, |out| out.extend_from_slice(data));
}

/// Returns an event with an id that is not a number.
pub(crate) fn with_id(id: &impl Display, kind: &str, data: &[u8]) -> Bytes {
    let id = id.to_string();
    let mut out = Vec::with_capacity(id.len() + kind.len() + data.len() + 22);
    out.extend_from_slice(b"id: ");
    out.extend_from_slice(id.as_bytes());
    write_kind(kind, &mut out);
    write_data(&mut out, |out| out.extend_from_slice(data));
    out.into()
}

/// Appends the data, which contain no line end, and the end of the event.
pub(crate) fn write_data(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    out.extend_from_slice(b"data: ");
    write(out);
    out.extend_from_slice(b"\n\n");
}

/// Appends an event of a stream of Durable Streams, whose data may have several lines.
pub(crate) fn write_lines(kind: &str, text: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(b"event: ");
    out.extend_from_slice(kind.as_bytes());
    out.push(b'\n');
    lines(text, out);
    out.push(b'\n');
}

/// Appends a field for each line, so that a line end in the data does not end the event. Readers remove one space after the colon.
fn lines(text: &str, out: &mut Vec<u8>) {
    let mut rest = text;
    loop {
        let end = rest.find(['\r', '\n']);
        let (line, behind) = end.map_or((rest, None), |at| {
            let (line, end) = rest.split_at(at);
            let behind = end.strip_prefix("\r\n").or_else(|| end.get(1..));
            (line, behind)
        });
        out.extend_from_slice(if line.starts_with(' ') { b"data: " } else { b"data:" });
        out.extend_from_slice(line.as_bytes());
        out.push(b'\n');
        match behind {
            Some(behind) => rest = behind,
            None => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_of_the_data_ends_its_event() {
        let table = [
            ("", "data:\n"),
            ("a", "data:a\n"),
            (" a", "data:  a\n"),
            ("a\nb", "data:a\ndata:b\n"),
            ("a\r\n\r\nb\r", "data:a\ndata:\ndata:b\ndata:\n"),
            ("\n", "data:\ndata:\n"),
        ];
        for (text, fields) in table {
            let mut out = Vec::new();
            lines(text, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), fields, "{text:?}");
        }
    }
}
