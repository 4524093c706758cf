//! The bytes inside a string that are not themselves.

/// Where the first byte stands that ends a JSON string, starts an escape or must be escaped:
/// `quote`, `"`, a backslash, or a control character; else the length.
///
/// Blocks are checked without a branch per byte, which the compiler turns into vector code.
pub(super) fn find_special(bytes: &[u8], quote: u8) -> usize {
    const BLOCK: usize = 16;
    let mut at = 0;
    for block in bytes.chunks_exact(BLOCK) {
        let mut found = false;
        for &byte in block {
            found |= is_special(byte, quote);
        }
        if found {
            break;
        }
        at += BLOCK;
    }
    let rest = bytes.get(at..).unwrap_or_default();
    at + rest.iter().position(|&byte| is_special(byte, quote)).unwrap_or(rest.len())
}

/// Not short-circuiting, so that a block is one straight run.
fn is_special(byte: u8, quote: u8) -> bool {
    (byte == quote) | (byte == b'"') | (byte == b'\\') | (byte < 0x20)
}

/// The escape of a control character, `"` or backslash in a JSON string.
pub(super) fn escape_of(byte: u8) -> &'static str {
    const CONTROL: [&str; 32] = [
        "\\u0000", "\\u0001", "\\u0002", "\\u0003", "\\u0004", "\\u0005", "\\u0006", "\\u0007",
        "\\b", "\\t", "\\n", "\\u000b", "\\f", "\\r", "\\u000e", "\\u000f", "\\u0010", "\\u0011",
        "\\u0012", "\\u0013", "\\u0014", "\\u0015", "\\u0016", "\\u0017", "\\u0018", "\\u0019",
        "\\u001a", "\\u001b", "\\u001c", "\\u001d", "\\u001e", "\\u001f",
    ];
    match byte {
        b'"' => "\\\"",
        b'\\' => "\\\\",
        _ => CONTROL.get(usize::from(byte)).copied().unwrap_or_default(),
    }
}

/// Gives `text` as the inside of a JSON string, in pieces.
pub(in crate::llm::parser) fn escape_into(mut text: &str, out: &mut impl FnMut(&str)) {
    while !text.is_empty() {
        let (plain, rest) = text.split_at(find_special(text.as_bytes(), b'"'));
        if !plain.is_empty() {
            out(plain);
        }
        let Some(&byte) = rest.as_bytes().first() else { return };
        out(escape_of(byte));
        text = rest.get(1..).unwrap_or_default();
    }
}
