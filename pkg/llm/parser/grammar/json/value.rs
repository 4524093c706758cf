//! One JSON value inside another grammar, or inside a string.

use compact_str::CompactString;

use crate::grammar::{
    arguments::JsonOut,
    reader::{PayloadFault, PayloadSink, json_to},
};
use forgeline_json::{RepairSet, Strictness, Token, Tokenizer, Unescape};
use forgeline_types::Repair;

/// A reader of one lenient JSON value, in pieces of any size, that emits it as strict JSON.
#[derive(Debug)]
pub(crate) struct JsonValue {
    lexer: Tokenizer,
    repairs: RepairSet,
}

impl JsonValue {
    pub(crate) fn new() -> Self {
        Self { lexer: Tokenizer::new(Strictness::Lenient), repairs: RepairSet::default() }
    }

    /// Reads the next piece.
    pub(crate) fn feed(&mut self, text: &str, out: &mut impl JsonOut) {
        let Self { lexer, repairs } = self;
        lexer.feed(text, &mut |token| take_token(token, repairs, out));
    }

    /// Returns `true` if the next byte is inside a string in `"` and passes unchanged,
    /// unless it is special there.
    pub(crate) fn is_in_plain_string(&self) -> bool {
        self.lexer.is_in_plain_string()
    }

    /// Returns the quote of the current string.
    pub(crate) fn string_quote(&self) -> Option<u8> {
        self.lexer.string_quote()
    }

    /// Counts text that passed unchanged.
    pub(crate) fn skip(&mut self, bytes: usize) {
        self.lexer.skip(bytes);
    }

    /// Ends the value: adds missing brackets, or returns the fault and its position.
    pub(crate) fn close(&mut self, out: &mut impl JsonOut) -> Result<(), PayloadFault> {
        let Self { lexer, repairs } = self;
        let is_whole = lexer.close_at_end(&mut |token| take_token(token, repairs, out));
        if is_whole { Ok(()) } else { Err(lexer.fault()) }
    }

    /// Completes the emitted part of an incomplete value, so that it is valid JSON.
    pub(crate) fn abandon(&mut self, out: &mut impl JsonOut) {
        let Self { lexer, repairs } = self;
        lexer.abandon(&mut |token| take_token(token, repairs, out));
    }

    /// Returns `text` as strict JSON, if it is exactly one complete lenient value.
    pub(crate) fn parse(text: &str) -> Option<(String, RepairSet)> {
        let (mut value, mut json) = (Self::new(), String::new());
        let mut out = |piece: &str| json.push_str(piece);
        value.feed(text, &mut out);
        value.close(&mut out).ok()?;
        let repairs = value.repairs();
        let is_exact = |repair| !matches!(repair, Repair::TrailingText | Repair::MissingBracket);
        repairs.iter().all(is_exact).then_some((json, repairs))
    }

    /// Returns the repairs of the value.
    pub(crate) fn repairs(&self) -> RepairSet {
        let mut repairs = self.repairs;
        repairs.extend(self.lexer.repairs());
        repairs
    }
}

/// Processes a token of a value of which only the JSON text and the repairs are needed.
pub(crate) fn take_token(
    token: Token<'_>,
    repairs: &mut RepairSet,
    out: &mut impl JsonOut,
) -> bool {
    if let Token::Text(text) = token {
        out(text);
    } else if let Token::ValueEnd { repairs: mended, .. } = token {
        repairs.extend(mended);
    }
    false
}

/// Maximum length of a key that can be a known one, escaped.
pub(super) const MAX_KEY_BYTES: usize = 128;
/// The replacement for a text that was too long; it does not occur in JSON text.
pub(super) const TOO_LONG: char = '\u{1}';

/// Arguments given as a string, whose text is itself JSON.
#[derive(Debug)]
pub(super) struct StringArguments {
    unescape: Unescape,
    pub(super) json: JsonValue,
    /// The text in place of an object, limited to what is needed to recognize `null`.
    pub(super) other: CompactString,
    pub(super) is_object: bool,
}

impl StringArguments {
    pub(super) fn new() -> Self {
        Self {
            unescape: Unescape::default(),
            json: JsonValue::new(),
            other: CompactString::const_new(""),
            is_object: false,
        }
    }

    pub(super) fn feed(&mut self, text: &str, out: &mut PayloadSink<'_>) {
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

/// Returns `true` for a key that occurs in calls, rather than the name of a tool.
pub(super) fn is_known(key: &str) -> bool {
    matches!(
        key,
        "name" | "tool_name" | "tool" | "function" | "arguments" | "args" | "parameters" | "input"
    )
}

/// Appends the part that fits; a text that is too long is neither a known key nor a name.
pub(super) fn push_bounded(target: &mut CompactString, text: &str, limit: usize) {
    if target.len() + text.len() <= limit {
        target.push_str(text);
    } else {
        target.truncate(target.floor_char_boundary(limit - 1));
        target.extend(std::iter::repeat_n(TOO_LONG, limit - target.len()));
    }
}
