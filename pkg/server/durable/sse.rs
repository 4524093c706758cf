//! A stream as server-sent events: pages of data, each followed by the position after it.

use base64::prelude::{BASE64_STANDARD, Engine as _};
use bytes::Bytes;
use serde::Serialize;

use super::{offset::StreamOffset, source::MessageSource};
use crate::frames::write_lines;

/// The position of a reader, sent after each page.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
struct ControlEvent {
    stream_next_offset: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_cursor: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    up_to_date: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    stream_closed: bool,
}

/// Appends the event of a page, if it has messages.
pub(crate) fn data(source: &MessageSource, messages: &[Bytes], out: &mut Vec<u8>) {
    if messages.is_empty() {
        return;
    }
    let body = source.join(messages);
    if source.is_text() {
        write_lines("data", &String::from_utf8_lossy(&body), out);
    } else {
        write_lines("data", &BASE64_STANDARD.encode(&body), out);
    }
}

/// Appends the event with the position after a page.
pub(crate) fn control(
    next: StreamOffset,
    cursor: u64,
    (is_tail, is_closed): (bool, bool),
    out: &mut Vec<u8>,
) {
    let control = ControlEvent {
        stream_next_offset: next.to_string(),
        stream_cursor: (!is_closed).then(|| cursor.to_string()),
        up_to_date: is_tail,
        stream_closed: is_closed,
    };
    write_lines("control", &serde_json::to_string(&control).unwrap_or_default(), out);
}
