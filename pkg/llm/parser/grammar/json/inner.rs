//! Arguments that are a string which holds JSON.

use compact_str::CompactString;

use super::value::JsonValue;
use crate::{
    json::Unescape,
    llm::parser::grammar::reader::{Sink, json_to},
};

/// Longest key that can be a known one.
pub(super) const MAX_KEY_BYTES: usize = 32;
/// The filling of a text that was too long; JSON text does not hold it.
pub(super) const TOO_LONG: char = '\u{1}';

/// Arguments that were a string: its text is JSON itself.
#[derive(Debug)]
pub(super) struct Inner {
    unescape: Unescape,
    pub(super) json: JsonValue,
    /// The text instead of an object; bounded, enough to know `null`.
    pub(super) other: CompactString,
    pub(super) is_object: bool,
}

impl Inner {
    pub(super) fn new() -> Self {
        Self {
            unescape: Unescape::default(),
            json: JsonValue::new(),
            other: CompactString::const_new(""),
            is_object: false,
        }
    }

    pub(super) fn feed(&mut self, text: &str, out: &mut Sink<'_>) {
        let Self { unescape, json, other, is_object } = self;
        unescape.feed(text, &mut |text| {
            let text = if *is_object || !other.is_empty() { text } else { text.trim_start() };
            *is_object |= other.is_empty() && text.starts_with('{');
            if *is_object {
                json.feed(text, &mut json_to(out));
            } else {
                push_bounded(other, text, MAX_KEY_BYTES);
            }
        });
    }
}

/// Returns `true` for a key that calls have, rather than the name of a tool.
pub(super) fn is_known(key: &str) -> bool {
    matches!(
        key,
        "name" | "tool_name" | "tool" | "function" | "arguments" | "args" | "parameters" | "input"
    )
}

/// Appends what fits; a text that is too long is neither a known key nor a name.
pub(super) fn push_bounded(target: &mut CompactString, text: &str, limit: usize) {
    if target.len() + text.len() <= limit {
        target.push_str(text);
    } else {
        target.truncate(target.floor_char_boundary(limit - 1));
        target.extend(std::iter::repeat_n(TOO_LONG, limit - target.len()));
    }
}
