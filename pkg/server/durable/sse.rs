//! A stream as server-sent events: pages of data, each followed by the position after it.

use base64::prelude::{BASE64_STANDARD, Engine as _};
use bytes::Bytes;
use serde::Serialize;

use super::{offset::Offset, source::Source};

/// The position of a reader, sent after each page.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
struct Control {
    stream_next_offset: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_cursor: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    up_to_date: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    stream_closed: bool,
}

/// Appends the event of a page, if it has messages.
pub(super) fn data(source: &Source, messages: &[Bytes], out: &mut Vec<u8>) {
    if messages.is_empty() {
        return;
    }
    out.extend_from_slice(b"event: data\n");
    let body = source.join(messages);
    if source.is_text() {
        lines(&String::from_utf8_lossy(&body), out);
    } else {
        lines(&BASE64_STANDARD.encode(&body), out);
    }
    out.push(b'\n');
}

/// Appends the event with the position after a page.
pub(super) fn control(
    next: Offset,
    cursor: u64,
    (is_tail, is_closed): (bool, bool),
    out: &mut Vec<u8>,
) {
    let control = Control {
        stream_next_offset: next.to_string(),
        stream_cursor: (!is_closed).then(|| cursor.to_string()),
        up_to_date: is_tail,
        stream_closed: is_closed,
    };
    out.extend_from_slice(b"event: control\ndata:");
    out.extend_from_slice(&serde_json::to_vec(&control).unwrap_or_default());
    out.extend_from_slice(b"\n\n");
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
