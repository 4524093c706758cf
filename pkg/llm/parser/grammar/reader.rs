//! The interface of payload readers, independent of the grammar.

use std::fmt::Debug;

use forgeline_json::{
    BACKSLASH, ByteKind, CONTROL, Finder, QUOTE, RepairSet, has_only_escapes, is_simple_escape,
};

/// The content of a payload, in order. `at` is the offset at which the reader knew it, in bytes of the current piece:
/// the same byte of the payload however it is split.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PayloadOut<'a> {
    /// The complete name of the tool.
    Name { name: &'a str, at: usize },
    /// The complete id that the model gave the call; emitted before the name or directly after it.
    Id { id: &'a str, at: usize },
    /// The complete name of the tool server.
    Server { name: &'a str, at: usize },
    /// Strict JSON text of the arguments.
    Arguments(&'a str),
    /// Source text of the arguments.
    Source(&'a str),
    /// Another call begins in the same payload; the one before is complete, or has a fault.
    NextCall { at: usize, repairs: RepairSet, fault: Option<PayloadFault> },
}

impl PayloadOut<'_> {
    fn place(&mut self) -> Option<&mut usize> {
        match self {
            Self::Name { at, .. }
            | Self::Id { at, .. }
            | Self::Server { at, .. }
            | Self::NextCall { at, .. } => Some(at),
            Self::Arguments(_) | Self::Source(_) => None,
        }
    }

    /// Returns the offset at which the reader knew it; `None` for text of the arguments.
    pub(crate) fn at(mut self) -> Option<usize> {
        self.place().copied()
    }

    /// Returns the same content for a piece that begins `bytes` bytes earlier.
    pub(crate) fn behind(mut self, bytes: usize) -> Self {
        self.place().into_iter().for_each(|at| *at += bytes);
        self
    }
}

/// A receiver of the content of a payload.
pub(crate) type PayloadSink<'o> = dyn FnMut(PayloadOut<'_>) + 'o;

/// Returns a receiver of JSON text of the arguments.
pub(crate) fn json_to(out: &mut PayloadSink<'_>) -> impl FnMut(&str) {
    move |json| out(PayloadOut::Arguments(json))
}

/// Maximum length of the name of a tool, a server or an argument, in bytes.
pub(crate) const MAX_NAME_BYTES: usize = 1024;
/// The fault of a call with a name that is too long.
pub(crate) const LONG_NAME: &str = "a name is longer than 1024 bytes";
/// The fault of a call without a name.
pub(crate) const NO_NAME: &str = "the call names no tool";

/// The fault of a call whose name no tool can have.
pub(crate) const NO_TOOL_NAME: &str = "the name of the tool is not one";

/// Returns `false` for text that templates and code contain in place of a name, and for markup.
pub(crate) fn is_name(name: &str) -> bool {
    !name.contains(|letter: char| letter.is_whitespace() || "(){}[]<>=\"',".contains(letter))
}

/// Returns `true` for whitespace that may surround names and values.
pub(crate) fn is_blank(letter: char) -> bool {
    matches!(letter, ' ' | '\t' | '\n' | '\r')
}

/// Returns `true` for text that does not contain this byte.
#[inline(always)]
pub(crate) fn is_free_of(byte: u8, text: &str) -> bool {
    Finder::new([ByteKind::of(byte)]).are_absent(text.as_bytes())
}

/// Emits source text of the arguments, unless it is empty.
pub(crate) fn give_source(source: &str, out: &mut PayloadSink<'_>) {
    if !source.is_empty() {
        out(PayloadOut::Source(source));
    }
}

/// A mistake in a payload, and its byte offset.
pub(crate) type PayloadFault = (&'static str, usize);

/// The meaning of a marker at the current position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MarkerGuard {
    /// A marker.
    Open,
    /// Nothing, in a comment or CDATA.
    Closed,
    /// A closer counts; an opener is data.
    ClosersOnly,
    /// After the name of a tool that has parameters: the opener of another call may stand for that of a key.
    BehindName,
    /// Inside a string that is ended by this text: an opener is data, a closer is ambiguous. It was data if
    /// the string ends and `,`, `:`, `)` or a closing bracket follows.
    InString(&'static str),
    /// Inside such a string in a value between tags: if the string continues otherwise, only the string is
    /// broken, and the tags of the value decide.
    InValueString(&'static str),
    /// Inside an element: a closer counts; an opener is data of a value that is closed, and else begins another call.
    InElement,
    /// Inside a line of text: an opener is data, and so is a closer that text of the line follows.
    InLine,
    /// Inside a value that is ended by one of the grammar's own tags: an opener is data, a closer and the end
    /// of a function are ambiguous. They were data if such a tag follows.
    InValue,
}

/// A tag that matters to the end of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ValueTag {
    /// The end of the value itself.
    End,
    /// The start of the next value, or of a call.
    Next,
    /// The start of an element with the name of the value.
    Begin,
}

/// The text that passes through the current value unchanged, and need not be read. Apart from
/// JSON strings it contains nothing that JSON escapes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PlainText {
    /// No text.
    Nothing,
    /// The content of a JSON string in `"`, including simple escapes, up to `<`.
    JsonString,
    /// The same up to `[`, not `<`.
    BracketString,
    /// The same up to a marker, which may begin with other bytes.
    UnmarkedString,
    /// The content of a Python string in `"`, including simple escapes, up to `<`.
    QuotedString,
    /// The content of a Python string, including simple escapes, up to either quote.
    PythonString,
    /// The content of a raw Python string, up to either quote.
    PythonRaw,
    /// Text between tags, in which everything else is literal.
    MarkupRules,
    /// The same, where a line end before a tag may be its framing.
    Framed,
    /// The same, where entities may occur.
    Entities,
    /// The same after a few bytes that are held, so that no text passes unchanged.
    MarkupTail,
    /// Text that contains only bytes that are literal anywhere.
    Verbatim,
    /// Text up to `]`.
    InBrackets,
}

/// One bit distinguishes `&` from `"`, and `]` from a backslash.
const QUOTE_OR_AND: ByteKind = ByteKind::new(!0x04, b'&');
const BACKSLASH_OR_BRACKET: ByteKind = ByteKind::new(!0x01, b']');
const ANGLE: ByteKind = ByteKind::of(b'<');
const BRACKET: ByteKind = ByteKind::of(b'[');
const APOSTROPHE: ByteKind = ByteKind::of(b'\'');

impl PlainText {
    pub(crate) const ALL: [Self; 9] = [
        Self::JsonString,
        Self::QuotedString,
        Self::PythonString,
        Self::PythonRaw,
        Self::MarkupRules,
        Self::Framed,
        Self::Entities,
        Self::Verbatim,
        Self::InBrackets,
    ];

    /// Returns `true` for text between tags of which nothing is held.
    #[inline(always)]
    pub(crate) fn is_markup(self) -> bool {
        matches!(self, Self::MarkupRules | Self::Framed | Self::Entities)
    }

    /// Returns the text of the same kind that passes up to a marker that it may contain, which begins with one of `firsts`.
    pub(crate) fn unmarked(self, firsts: &[u8]) -> Self {
        if firsts.iter().all(|first| !self.passes(&[*first])) {
            return self;
        }
        match self {
            Self::JsonString if firsts.iter().all(|first| *first == b'[') => Self::BracketString,
            Self::JsonString => Self::UnmarkedString,
            Self::QuotedString
            | Self::PythonString
            | Self::PythonRaw
            | Self::InBrackets
            | Self::Verbatim => Self::Nothing,
            Self::Nothing
            | Self::BracketString
            | Self::UnmarkedString
            | Self::MarkupRules
            | Self::Framed
            | Self::Entities
            | Self::MarkupTail => self,
        }
    }

    /// Returns `true` if all of `text` passes unchanged.
    pub(crate) fn passes(self, text: &[u8]) -> bool {
        match self {
            Self::Nothing | Self::MarkupTail | Self::UnmarkedString => false,
            Self::JsonString => {
                let stops = Finder::new([BACKSLASH, QUOTE, CONTROL, ANGLE]);
                has_only_escapes(text, stops, is_simple_escape)
            }
            Self::BracketString => {
                let stops = Finder::new([BACKSLASH, QUOTE, CONTROL, BRACKET]);
                has_only_escapes(text, stops, is_simple_escape)
            }
            Self::QuotedString => {
                let stops = Finder::new([BACKSLASH, QUOTE, CONTROL, ANGLE]);
                has_only_escapes(text, stops, is_python_escape)
            }
            Self::PythonString => {
                let stops = Finder::new([BACKSLASH, QUOTE, CONTROL, APOSTROPHE, ANGLE]);
                has_only_escapes(text, stops, is_python_escape)
            }
            Self::PythonRaw => {
                Finder::new([BACKSLASH, QUOTE, CONTROL, APOSTROPHE, ANGLE]).are_absent(text)
            }
            Self::Verbatim | Self::MarkupRules | Self::Framed => {
                Finder::new([BACKSLASH, CONTROL, ANGLE, QUOTE]).are_absent(text)
            }
            Self::Entities => {
                Finder::new([BACKSLASH, CONTROL, ANGLE, QUOTE_OR_AND]).are_absent(text)
            }
            Self::InBrackets => {
                Finder::new([BACKSLASH_OR_BRACKET, QUOTE, CONTROL]).are_absent(text)
            }
        }
    }

    /// Returns `true` if all of `text`, in which no marker begins, passes unchanged.
    pub(crate) fn passes_between_markers(self, text: &[u8]) -> bool {
        if matches!(self, Self::JsonString | Self::BracketString | Self::UnmarkedString) {
            let stops = Finder::new([BACKSLASH, QUOTE, CONTROL]);
            return has_only_escapes(text, stops, is_simple_escape);
        }
        if self == Self::QuotedString {
            let stops = Finder::new([BACKSLASH, QUOTE, CONTROL]);
            return has_only_escapes(text, stops, is_python_escape);
        }
        let stops = Finder::new([BACKSLASH, QUOTE, CONTROL, APOSTROPHE]);
        self == Self::PythonString && has_only_escapes(text, stops, is_python_escape)
    }
}

/// Returns `true` for the letter of an escape with the same meaning in Python, which has no escape for a slash.
fn is_python_escape(letter: u8) -> bool {
    letter != b'/' && is_simple_escape(letter)
}

/// A reader of one payload in pieces of any size: the body of one call, or of several.
///
/// However the text is split, the joined outputs are the same. A reader never allocates for text that
/// passes; what it must hold is bounded.
pub(crate) trait PayloadReader: Debug + Send + Sync {
    /// Reads the next piece; returns the number of its bytes that belong to the payload. That is less than all if
    /// the grammar itself determines that the payload ended there, or at a mistake that cannot be repaired
    /// if the call has no closer.
    fn feed(&mut self, text: &str, out: &mut PayloadSink<'_>) -> usize;

    /// Returns the text that passes unchanged: it may be skipped, and is then both source and JSON text
    /// of the arguments.
    fn plain(&self) -> PlainText {
        PlainText::Nothing
    }

    /// Emits the JSON of text in which no marker begins and which continues as markup, and returns which of
    /// the following text passes unchanged; called if text is plain as markup is. Such text may be skipped.
    /// Returns `None`, and emits nothing, for other text.
    fn pass_escaped(&mut self, _text: &str, _out: &mut dyn FnMut(&str)) -> Option<PlainText> {
        None
    }

    /// Counts text that passed unchanged, or escaped.
    fn skip(&mut self, _bytes: usize) {}

    /// Returns `true` if the payload is complete, so that a missing closer can be tolerated.
    fn is_whole(&self) -> bool;

    /// Returns `true` if the payload has ended according to the grammar: text after it is not part
    /// of it.
    fn has_ended(&self) -> bool {
        self.is_whole()
    }

    /// Returns `true` if the payload has ended, provided that no more text follows.
    fn ends_with_text(&self) -> bool {
        self.has_ended()
    }

    /// Returns `true` after a mistake that cannot be repaired, unless the end of the payload is searched
    /// for after it.
    fn has_failed(&self) -> bool {
        false
    }

    /// Returns `true` if the payload is complete where the closer of a surrounding block
    /// follows.
    fn is_whole_in_block(&self) -> bool {
        self.is_whole()
    }

    /// Returns `true` after a mistake in one of several calls, when the next one is searched for.
    fn may_recover(&self) -> bool {
        false
    }

    /// Returns the meaning of a marker at the current position.
    fn guard(&self) -> MarkerGuard {
        MarkerGuard::Open
    }

    /// Returns the tag that ends a value, if there is one in `text`, which follows an ambiguous closer inside a value;
    /// with `anywhere`, the next value may begin inside a line.
    fn value_tag(&self, _text: &str, _anywhere: bool) -> Option<ValueTag> {
        None
    }

    /// Ends a value without an end of its own, because the end of the function follows.
    fn end_value(&mut self, _out: &mut PayloadSink<'_>) {}

    /// Begins a key at the opener of a call, of this length, which may stand for the key's own.
    fn begin_key(&mut self, _bytes: usize, _out: &mut PayloadSink<'_>) {}

    /// Counts the opener of a call that was passed on because it is inside a value. In an element, all text up to
    /// the end of the inner call is data.
    fn begin_inner_call(&mut self) {}

    /// Counts the closer of a call inside a value, before it is passed on.
    fn end_inner_call(&mut self, _out: &mut PayloadSink<'_>) {}

    /// Treats the JSON string of the current value as broken: tags inside it count from here on.
    fn break_string(&mut self, _out: &mut PayloadSink<'_>) {}

    /// Returns the repairs of the current call.
    fn repairs(&self) -> RepairSet {
        RepairSet::default()
    }

    /// Records that the call, which is complete, ends without a closer of its own.
    fn end_without_closer(&mut self) {}

    /// Ends the payload at its closer: completes what can be completed, or returns the fault and
    /// its offset, in bytes from the first that was fed.
    fn close(&mut self, out: &mut PayloadSink<'_>) -> Result<(), PayloadFault>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_text_holds_nothing_that_its_place_gives_a_meaning() {
        #[rustfmt::skip]
        let cases: [(PlainText, &[&str]); 8] = [
            (PlainText::JsonString,    &["\"", "\\", "\n", "\t", "\0", "<"]),
            (PlainText::BracketString, &["\"", "\\", "\n", "\t", "\0", "["]),
            (PlainText::QuotedString,  &["\"", "\\", "\n", "\t", "\0", "<", "\\/"]),
            (PlainText::PythonString, &["'", "\"", "\\", "\n", "\t", "\0", "<"]),
            (PlainText::MarkupRules,       &["\"", "\\", "\n", "\t", "\0", "<"]),
            (PlainText::Framed,       &["\"", "\\", "\n", "\t", "\0", "<"]),
            (PlainText::Entities,     &["&", "\"", "\\", "\n", "\t", "\0", "<"]),
            (PlainText::InBrackets,   &["]", "\"", "\\", "\n", "\t", "\0"]),
        ];
        for (plain, all) in cases {
            for text in ["", "a", "plain text that is longer than two words", "é日本", "a > b"] {
                assert!(plain.passes(text.as_bytes()), "{plain:?}: {text}");
                assert!(!PlainText::Nothing.passes(text.as_bytes()), "{text}");
            }
            for special in all {
                for length in 0..40 {
                    let text = format!("{}{special}{}", "x".repeat(length), "y".repeat(length % 7));
                    assert!(!plain.passes(text.as_bytes()), "{plain:?}: {text:?}");
                }
            }
        }
    }
}
