//! The rest of a marker after its text: attributes, suffixes, headers.

use crate::ahead::found::MarkerMatch;
use forgeline_json::subslice;

/// Maximum length of the attributes inside an opening tag, and of the header of a channel, in bytes.
pub(crate) const MAX_FREE_BYTES: usize = 256;
/// Maximum length of a tag's suffix, including its colon, in bytes.
const MAX_SUFFIX_BYTES: usize = 64;

/// The kinds of channel headers that a marker matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChannelHeader {
    /// Headers of the reasoning channel.
    Analysis,
    /// Headers that name a recipient.
    WithRecipient,
    /// Headers that consist of a name only.
    Name,
    /// All headers.
    Any,
    /// All other headers.
    Other,
}

pub(crate) fn check_blanks(text: &[u8]) -> MarkerMatch {
    let whitespace = text.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    match text.get(whitespace) {
        _ if whitespace > MAX_FREE_BYTES => MarkerMatch::No,
        Some(b'>') => MarkerMatch::Yes(whitespace + 1),
        None => MarkerMatch::Maybe,
        Some(_) => MarkerMatch::No,
    }
}

/// Checks for an optional suffix of a tag, then its end.
pub(crate) fn check_suffix(text: &[u8]) -> MarkerMatch {
    if text.first() != Some(&b':') {
        return check_blanks(text);
    }
    let suffix = text.iter().take_while(|byte| **byte > b' ' && !b"<>".contains(byte)).count();
    match text.get(suffix) {
        Some(b'>') if (2..=MAX_SUFFIX_BYTES).contains(&suffix) => MarkerMatch::Yes(suffix + 1),
        None if suffix <= MAX_SUFFIX_BYTES => MarkerMatch::Maybe,
        _ => MarkerMatch::No,
    }
}

/// Checks for the end of a tag, or a colon and lists of numbers before it.
pub(crate) fn check_numbers(text: &[u8]) -> MarkerMatch {
    let is_list = |byte: &u8| byte.is_ascii_digit() || b": ,[]".contains(byte);
    let list = text.iter().take_while(|byte| is_list(byte)).count();
    match (text.first(), text.get(list)) {
        (None, _) => MarkerMatch::Maybe,
        (Some(b'>' | b':'), Some(b'>')) if list <= MAX_FREE_BYTES => MarkerMatch::Yes(list + 1),
        (Some(b':'), None) if list <= MAX_FREE_BYTES => MarkerMatch::Maybe,
        _ => MarkerMatch::No,
    }
}

/// Checks that whitespace and one of `next` follow the marker, which ends at `end`.
pub(crate) fn check_ahead(text: &[u8], end: usize, next: &[u8]) -> MarkerMatch {
    let rest = rest_of(text, end);
    let whitespace = rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    match rest.get(whitespace) {
        _ if whitespace > MAX_FREE_BYTES / 2 => MarkerMatch::No,
        Some(byte) if next.contains(byte) => MarkerMatch::Yes(end),
        None => MarkerMatch::Maybe,
        Some(_) => MarkerMatch::No,
    }
}

/// Checks for whitespace, then a tag of any name.
pub(crate) fn check_any_tag(text: &[u8]) -> MarkerMatch {
    let whitespace = text.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    if text.get(whitespace).is_some_and(|byte| *byte != b'<') {
        return MarkerMatch::No;
    }
    let name = rest_of(text, whitespace + 1);
    match memchr::memchr3(b'>', b'<', b'\n', name) {
        None if text.len() <= MAX_FREE_BYTES => MarkerMatch::Maybe,
        Some(length @ 1..) if name.get(length) == Some(&b'>') => {
            let end = whitespace + 1 + length;
            if end <= MAX_FREE_BYTES { MarkerMatch::Yes(end + 1) } else { MarkerMatch::No }
        }
        _ => MarkerMatch::No,
    }
}

/// Checks the text after the first words of a header.
pub(crate) fn check_header(text: &[u8], end: &str, kind: ChannelHeader) -> MarkerMatch {
    if kind == ChannelHeader::Name {
        return check_name(text, end.as_bytes());
    }
    let bounded = text.get(..MAX_FREE_BYTES + end.len()).unwrap_or(text);
    let Some(length) = memchr::memmem::find(bounded, end.as_bytes()) else {
        let is_header = bounded.iter().all(|byte| is_header_byte(*byte));
        if !is_header {
            return MarkerMatch::No;
        }
        return if text.len() < MAX_FREE_BYTES + end.len() {
            MarkerMatch::Maybe
        } else {
            MarkerMatch::No
        };
    };
    let header = subslice(bounded, ..length);
    if !header.iter().all(|byte| is_header_byte(*byte)) {
        return MarkerMatch::No;
    }
    // Messages for the model itself or the user contain no call.
    let has_recipient = memchr::memmem::find(header, b"to=").is_some_and(|at| {
        let name = header.get(at + 3..).unwrap_or_default();
        let name = name.split(|byte| matches!(byte, b' ' | b'<')).next().unwrap_or_default();
        !matches!(name, b"" | b"assistant" | b"user" | b"self")
    });
    let is_analysis = memchr::memmem::find(header, b"analysis").is_some();
    let found = match kind {
        ChannelHeader::WithRecipient => has_recipient,
        ChannelHeader::Analysis => is_analysis && !has_recipient,
        ChannelHeader::Other => !is_analysis && !has_recipient,
        ChannelHeader::Any => true,
        ChannelHeader::Name => false,
    };
    if found { MarkerMatch::Yes(length + end.len()) } else { MarkerMatch::No }
}

/// Checks for a name, then `end`; returns the length of both.
pub(crate) fn check_name(text: &[u8], end: &[u8]) -> MarkerMatch {
    let name = text.iter().take_while(|byte| is_tool_byte(**byte)).count();
    let rest = rest_of(text, name);
    if name > MAX_FREE_BYTES {
        MarkerMatch::No
    } else if name > 0 && rest.starts_with(end) {
        MarkerMatch::Yes(name + end.len())
    } else if rest.is_empty() || (name > 0 && end.starts_with(rest)) {
        MarkerMatch::Maybe
    } else {
        MarkerMatch::No
    }
}

pub(crate) fn check_attributes(text: &[u8]) -> MarkerMatch {
    let mut at = 0;
    loop {
        let whitespace = rest_of(text, at).iter().take_while(|b| b.is_ascii_whitespace()).count();
        match text.get(at + whitespace) {
            _ if at + whitespace > MAX_FREE_BYTES => return MarkerMatch::No,
            None => return MarkerMatch::Maybe,
            Some(b'>') => return MarkerMatch::Yes(at + whitespace + 1),
            Some(_) if whitespace == 0 => return MarkerMatch::No,
            Some(_) => at += whitespace,
        }
        let name = rest_of(text, at).iter().take_while(|byte| is_name_byte(**byte)).count();
        at += name;
        for expected in [b'=', b'"'] {
            match text.get(at) {
                _ if name == 0 || at > MAX_FREE_BYTES => return MarkerMatch::No,
                None => return MarkerMatch::Maybe,
                Some(byte) if *byte == expected => at += 1,
                Some(_) => return MarkerMatch::No,
            }
        }
        // As in XML, a value contains no `<`: no other marker begins inside a possible marker.
        match memchr::memchr3(b'"', b'\n', b'<', rest_of(text, at)) {
            Some(length) if at + length < MAX_FREE_BYTES => {
                if text.get(at + length) != Some(&b'"') {
                    return MarkerMatch::No;
                }
                at += length + 1;
            }
            None if text.len() <= MAX_FREE_BYTES => return MarkerMatch::Maybe,
            _ => return MarkerMatch::No,
        }
    }
}

/// Returns `true` for a byte in the header of a channel; rules out prose early.
pub(crate) fn is_header_byte(byte: u8) -> bool {
    is_tool_byte(byte) || matches!(byte, b' ' | b'<' | b'>' | b'|' | b'=' | b'?')
}

/// Returns `true` for a byte of the name of a tool.
pub(crate) fn is_tool_byte(byte: u8) -> bool {
    is_name_byte(byte) || matches!(byte, b'/' | 0x80..)
}

pub(crate) const fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b':' | b'.')
}

/// Returns the text from `at` on; empty if the text ends before.
pub(crate) fn rest_of(text: &[u8], at: usize) -> &[u8] {
    text.split_at_checked(at).map_or(&[], |(_, rest)| rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_text_changes_no_decision() {
        type Check = fn(&[u8]) -> MarkerMatch;
        let checks: [(&str, Check); 9] = [
            ("blanks", check_blanks),
            ("suffix", check_suffix),
            ("numbers", check_numbers),
            ("ahead", |text| check_ahead(text, 0, b"{[")),
            ("any tag", check_any_tag),
            ("header", |text| check_header(text, "<|end|>", ChannelHeader::Any)),
            ("recipient", |text| check_header(text, "<|end|>", ChannelHeader::WithRecipient)),
            ("name", |text| check_name(text, b"{")),
            ("attributes", check_attributes),
        ];
        let starts = ["", ":", ">", "<a", " <", " name=\"", " to=functions.", "analysis", "a"];
        let ends = [">", "<a>", "{", "\"", "\">", "=\"v\">", "<|end|>", "<", "\n", ":>"];
        let fills = [" ", "x", "1", "\n", " a=\"b\""];
        for fill in fills {
            let around = [MAX_SUFFIX_BYTES, MAX_FREE_BYTES / 2, MAX_FREE_BYTES];
            for length in around.iter().flat_map(|limit| limit - 12..limit + 3).chain([0, 600]) {
                let filled = fill.repeat(length.div_ceil(fill.len()));
                for (start, end) in starts.iter().flat_map(|start| ends.map(|end| (start, end))) {
                    let text = format!("{start}{filled}{end}");
                    let edges = (0..20).chain(text.len().saturating_sub(20)..text.len());
                    for (name, check) in &checks {
                        let whole = check(text.as_bytes());
                        assert!(length < 600 || whole != MarkerMatch::Maybe, "{name}: {text:?}");
                        for at in edges.clone().filter(|at| *at < text.len()) {
                            let part = check(subslice(text.as_bytes(), ..at));
                            let is_same = part == MarkerMatch::Maybe || part == whole;
                            assert!(is_same, "{name}: {part:?}, then {whole:?}: {at} of {text:?}");
                        }
                    }
                }
            }
        }
    }
}
