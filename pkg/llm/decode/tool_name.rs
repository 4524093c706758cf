//! The names of tools as they arrive.

use forgeline_types::Text;

/// Decodes a name in which bytes are written as `_xHH_`; other names are unchanged.
#[must_use]
pub(crate) fn tool_name(name: &str) -> Text {
    if !name.contains("_x") {
        return Text::from(name);
    }
    let mut out = Vec::with_capacity(name.len());
    let mut rest = name.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        if let [b'_', b'x', high, low, b'_', after @ ..] = rest
            && let (Some(high), Some(low)) = (hex(*high), hex(*low))
        {
            out.push(high * 16 + low);
            rest = after;
        } else {
            out.push(byte);
            rest = tail;
        }
    }
    // A name that is not valid UTF-8 was not encoded by this library.
    String::from_utf8(out).map_or_else(|_| Text::from(name), Text::from)
}

/// Returns the value of a lower-case hexadecimal digit.
fn hex(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    }
}
