//! The strings in a value that may be JSON, but is not read as JSON while it arrives.

use crate::grammar::{json::JsonValue, reader::PlainText};

/// A tracker of a value that may turn out to be an object or a list.
#[derive(Debug, Default)]
pub(super) enum ValueWatch {
    /// Neither an object nor a list.
    #[default]
    Off,
    /// Only whitespace so far.
    Blank,
    Json(Box<JsonValue>),
}

impl ValueWatch {
    /// Begins a value that `may_be_json`.
    pub(super) fn begin(may_be_json: bool) -> Self {
        if may_be_json { Self::Blank } else { Self::Off }
    }

    /// Reads the next text of the value.
    #[inline]
    pub(super) fn feed(&mut self, text: &str) {
        if !matches!(self, Self::Off) {
            self.follow(text);
        }
    }

    fn follow(&mut self, text: &str) {
        if matches!(self, Self::Blank) {
            *self = match text.trim_start().bytes().next() {
                Some(b'{' | b'[') => Self::Json(Box::new(JsonValue::new())),
                Some(_) => Self::Off,
                None => return,
            };
        }
        if let Self::Json(json) = self {
            json.feed(text, &mut |_: &str| {});
        }
    }

    /// Returns the quote of the current string.
    pub(super) fn quote(&self) -> Option<u8> {
        if let Self::Json(json) = self { json.string_quote() } else { None }
    }

    /// Returns which of the text that is `plain` in the value passes here as well.
    pub(super) fn plain(&self, plain: PlainText) -> PlainText {
        match self {
            Self::Json(json) if !json.is_in_plain_string() => PlainText::Nothing,
            Self::Json(_) if plain != PlainText::Nothing => PlainText::Verbatim,
            Self::Off | Self::Blank | Self::Json(_) => plain,
        }
    }

    pub(super) fn skip(&mut self, bytes: usize) {
        if let Self::Json(json) = self {
            json.skip(bytes);
        }
    }
}
