//! Lenient JSON in, strict JSON out.
//!
//! Strict JSON passes byte for byte, as slices of the input; what models get wrong is mended on the
//! way and named. One pass, no allocation but for a comma that may turn out to be one too many.

use std::mem;

use compact_str::CompactString;

use super::special::{escape_of, find_special, is_simple_escape};
use crate::{
    llm::parser::repairs::RepairSet,
    types::{Repair, slice},
};

/// Deepest nesting; one bit a level.
const MAX_DEPTH: u32 = 128;
/// Blanks kept behind a comma that may have to go; further ones are dropped.
const MAX_HELD_BLANKS: usize = 4096;

/// Whether mistakes are mended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::llm::parser) enum Strictness {
    /// The first mistake ends the reading.
    Strict,
    /// Known mistakes are mended and named.
    Lenient,
}

/// What the lexer gives, in order. The reader answers whether it wants the marks inside a value that
/// starts; what it answers to everything else does not matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::llm::parser) enum Out<'a> {
    /// Strict JSON text.
    Text(&'a str),
    /// A key of an object begins at byte `at` of the input at hand, at nesting `depth`.
    KeyStart { depth: u32, at: usize },
    /// The key ended before byte `at`.
    KeyEnd { depth: u32, at: usize },
    /// A value begins at byte `at` of the input at hand, inside `depth` brackets.
    ValueStart { depth: u32, kind: Kind, at: usize },
    /// The value was whole, and another one begins at byte `at` of the input at hand.
    Next { at: usize },
    /// The value ended before byte `at`; what was mended since the last such end.
    ValueEnd { depth: u32, at: usize, repairs: RepairSet },
}

/// Marks inside this many brackets or more are of no interest to a reader of calls: the deepest are
/// those of an array of objects that wrap the call in a `function` object.
const MAX_MARKED_DEPTH: u32 = 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::llm::parser) enum Kind {
    Object,
    Array,
    String,
    Number,
    Word,
}

/// What was seen last, and so what may come next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// A value must come.
    Value,
    /// `[` was seen: a value or `]`.
    FirstItem,
    /// A comma in an array was seen and is withheld: a value, or `]` and it was one too many.
    NextItem,
    /// `{` was seen: a key or `}`.
    FirstKey,
    /// A comma in an object was seen and is withheld.
    NextKey,
    /// A key was seen.
    Colon,
    /// A value inside brackets ended.
    AfterValue,
    /// Inside a string.
    Text { quote: u8, is_key: bool, escape: Escape },
    /// Inside a number.
    Number(Digits),
    /// Inside `true`, `None` and the like.
    Word,
    /// Inside a key without quotes.
    BareKey,
    /// The value is whole.
    Done,
    /// A mistake that cannot be mended was seen.
    Failed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Escape {
    None,
    /// A backslash was seen and is withheld.
    Backslash,
    /// `\u` and this many hex digits were seen and are withheld.
    Unicode {
        digits: [u8; 4],
        count: u8,
    },
}

/// What was seen of a JSON number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::llm::parser) enum Digits {
    Minus,
    Zero,
    Whole,
    Point,
    Fraction,
    Exponent,
    Sign,
    Power,
}

impl Digits {
    /// What the first byte of a value begins, if that is a number.
    pub(in crate::llm::parser) fn first(byte: u8) -> Option<Self> {
        Some(match byte {
            b'-' => Self::Minus,
            b'0' => Self::Zero,
            b'1'..=b'9' => Self::Whole,
            _ => return None,
        })
    }

    /// Where one more byte leads; `None` when the number ends before it.
    pub(in crate::llm::parser) fn next(self, byte: u8) -> Option<Self> {
        Some(match (self, byte) {
            (Self::Minus, b'0') => Self::Zero,
            (Self::Minus, b'1'..=b'9') | (Self::Whole, b'0'..=b'9') => Self::Whole,
            (Self::Zero | Self::Whole, b'.') => Self::Point,
            (Self::Point | Self::Fraction, b'0'..=b'9') => Self::Fraction,
            (Self::Zero | Self::Whole | Self::Fraction, b'e' | b'E') => Self::Exponent,
            (Self::Exponent, b'+' | b'-') => Self::Sign,
            (Self::Exponent | Self::Sign | Self::Power, b'0'..=b'9') => Self::Power,
            _ => return None,
        })
    }

    /// Whether the number is whole if it ends here.
    pub(in crate::llm::parser) fn may_end(self) -> bool {
        matches!(self, Self::Zero | Self::Whole | Self::Fraction | Self::Power)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Comment {
    None,
    /// A slash was seen.
    Slash,
    Line,
    Block,
    /// A star inside a block comment was seen.
    BlockStar,
}

/// What may stand behind the value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Behind {
    /// Further objects, or text, which is a mistake that is mended.
    Objects,
    /// Text, which is a mistake.
    Text,
    /// The end of a Markdown fence.
    Ticks,
    /// What is not for this lexer to read.
    Nothing,
}

/// Reads one JSON value in pieces of any size and gives it as strict JSON.
#[derive(Debug)]
pub(in crate::llm::parser) struct Lenient {
    strictness: Strictness,
    state: State,
    comment: Comment,
    /// One bit a bracket, innermost lowest: 1 for `{`.
    brackets: u128,
    depth: u32,
    /// A withheld comma and the blanks behind it, when a chunk ended there.
    held: CompactString,
    /// The letters of the word at hand; bounded by the longest word, `false`.
    word: CompactString,
    repairs: RepairSet,
    /// Bytes taken before the piece at hand.
    taken: usize,
    fault: (&'static str, usize),
    behind: Behind,
    /// Marks are given inside less than so many brackets.
    marked_depth: u32,
}

/// The place in the piece at hand.
struct Cursor<'a> {
    text: &'a str,
    /// `text[run..at]` passed unchanged and was not yet given out.
    run: usize,
    at: usize,
    /// Where the withheld comma stands, when it stands in this piece.
    comma: usize,
}

impl<'a> Cursor<'a> {
    fn slice(&self, from: usize, to: usize) -> &'a str {
        slice(self.text, from..to)
    }

    /// Gives out what passed, up to here.
    fn flush(&mut self, out: &mut impl FnMut(Out<'_>) -> bool) {
        self.flush_to(self.at, out);
    }

    fn flush_to(&mut self, to: usize, out: &mut impl FnMut(Out<'_>) -> bool) {
        if self.run < to {
            out(Out::Text(self.slice(self.run, to)));
        }
        self.run = to;
    }

    /// Takes one byte without passing it on.
    fn skip(&mut self, out: &mut impl FnMut(Out<'_>) -> bool) {
        self.flush(out);
        self.at += 1;
        self.run = self.at;
    }
}

impl Lenient {
    pub(in crate::llm::parser) fn new(strictness: Strictness) -> Self {
        Self {
            strictness,
            state: State::Value,
            comment: Comment::None,
            brackets: 0,
            depth: 0,
            held: CompactString::const_new(""),
            word: CompactString::const_new(""),
            repairs: RepairSet::default(),
            taken: 0,
            fault: ("the JSON ends too early", 0),
            behind: Behind::Text,
            marked_depth: MAX_MARKED_DEPTH,
        }
    }

    /// What was mended since the last end of a value.
    pub(in crate::llm::parser) fn repairs(&self) -> RepairSet {
        self.repairs
    }

    /// Whether exactly one value was read.
    pub(in crate::llm::parser) fn is_whole(&self) -> bool {
        if let State::Number(digits) = self.state {
            return self.depth == 0 && digits.may_end();
        }
        let is_word = self.state == State::Word && self.depth == 0;
        self.state == State::Done || (is_word && word_value(&self.word).is_some())
    }

    /// The quote of the string at hand.
    pub(in crate::llm::parser) fn string_quote(&self) -> Option<u8> {
        if let State::Text { quote, .. } = self.state { Some(quote) } else { None }
    }

    /// Lets backticks follow the value: it stands in a Markdown fence.
    pub(in crate::llm::parser) fn allow_ticks(&mut self) {
        self.behind = Behind::Ticks;
    }

    /// Lets further objects follow the value.
    pub(in crate::llm::parser) fn allow_next(&mut self) {
        self.behind = Behind::Objects;
    }

    /// Reads nothing behind the value, nor behind a mistake that cannot be mended.
    pub(in crate::llm::parser) fn end_itself(&mut self) {
        self.behind = Behind::Nothing;
    }

    /// Whether a marker here is none: inside a comment.
    pub(in crate::llm::parser) fn is_in_comment(&self) -> bool {
        matches!(self.comment, Comment::Line | Comment::Block | Comment::BlockStar)
    }

    pub(in crate::llm::parser) fn has_failed(&self) -> bool {
        self.state == State::Failed
    }

    /// What is wrong and where; for a value that is only not whole, that it ends too early.
    pub(in crate::llm::parser) fn fault(&self) -> (&'static str, usize) {
        if self.has_failed() { self.fault } else { (self.fault.0, self.taken) }
    }

    /// Whether the next byte is the inside of a value in `"`, and no escape.
    pub(in crate::llm::parser) fn is_in_plain_string(&self) -> bool {
        self.state == State::Text { quote: b'"', is_key: false, escape: Escape::None }
    }

    /// So many bytes passed as they are.
    pub(in crate::llm::parser) fn skip(&mut self, bytes: usize) {
        self.taken += bytes;
    }

    /// Takes the next piece; gives how many bytes of it were read.
    pub(in crate::llm::parser) fn feed(
        &mut self,
        text: &str,
        out: &mut impl FnMut(Out<'_>) -> bool,
    ) -> usize {
        let mut cursor = Cursor { text, run: 0, at: 0, comma: 0 };
        let bytes = text.as_bytes();
        while let Some(&byte) = bytes.get(cursor.at) {
            if self.comment != Comment::None {
                self.in_comment(byte, &mut cursor, out);
                continue;
            }
            match self.state {
                State::Text { quote, is_key, escape: Escape::None } => {
                    self.in_string(quote, is_key, &mut cursor, out);
                }
                State::Text { quote, is_key, escape } => {
                    self.in_escape(byte, quote, is_key, escape, &mut cursor, out);
                }
                State::Number(digits) => match digits.next(byte) {
                    Some(digits) => {
                        self.state = State::Number(digits);
                        cursor.at += 1;
                    }
                    None => self.end_number(digits, &mut cursor, out),
                },
                State::Word if byte.is_ascii_alphabetic() && self.word.len() < 6 => {
                    self.word.push(char::from(byte));
                    cursor.skip(out);
                }
                State::Word => self.end_word(&mut cursor, out),
                State::BareKey if is_key_byte(byte) => cursor.at += 1,
                State::BareKey => {
                    cursor.flush(out);
                    out(Out::Text("\""));
                    self.end_key(cursor.at, out);
                }
                State::Failed => break,
                State::Done if self.behind == Behind::Nothing => break,
                State::Value
                | State::FirstItem
                | State::NextItem
                | State::FirstKey
                | State::NextKey
                | State::Colon
                | State::AfterValue
                | State::Done => self.between(byte, &mut cursor, out),
            }
        }
        self.end_piece(&mut cursor, out);
        let is_over =
            self.behind == Behind::Nothing && matches!(self.state, State::Done | State::Failed);
        let read = if is_over { cursor.at } else { text.len() };
        self.taken += read;
        read
    }

    /// Gives out what passed; a comma that may have to go stays here, with the blanks behind it.
    fn end_piece(&mut self, cursor: &mut Cursor<'_>, out: &mut impl FnMut(Out<'_>) -> bool) {
        if matches!(self.state, State::NextItem | State::NextKey) {
            let comma = cursor.comma.max(cursor.run);
            cursor.flush_to(comma, out);
            self.hold(cursor.slice(comma, cursor.at));
        } else {
            // After a fault the loop has stopped there: what came before it passed.
            cursor.flush(out);
        }
    }

    fn hold(&mut self, text: &str) {
        let room = MAX_HELD_BLANKS.saturating_sub(self.held.len());
        self.held.push_str(slice(text, ..text.len().min(room)));
    }

    /// Between the tokens: blanks, brackets, commas, and the first byte of everything else.
    fn between(
        &mut self,
        byte: u8,
        cursor: &mut Cursor<'_>,
        out: &mut impl FnMut(Out<'_>) -> bool,
    ) {
        match byte {
            b' ' | b'\t' | b'\n' | b'\r' => {
                cursor.at += 1;
                if self.state == State::Done {
                    cursor.run = cursor.at;
                }
            }
            b'/' | b'#' if self.state != State::Done => {
                // A withheld comma stays withheld: what is before the comment goes there too.
                if matches!(self.state, State::NextItem | State::NextKey) {
                    self.end_piece(cursor, out);
                    cursor.run = cursor.at;
                }
                cursor.skip(out);
                cursor.comma = cursor.at;
                if byte == b'#' {
                    self.start_comment(Comment::Line, cursor);
                } else {
                    self.comment = Comment::Slash;
                }
            }
            _ => match self.state {
                State::FirstItem if byte == b']' => self.close(cursor, out),
                State::FirstKey if byte == b'}' => self.close(cursor, out),
                State::FirstItem | State::FirstKey if byte == b',' => {
                    if self.mend(Repair::ExtraComma, cursor) {
                        cursor.skip(out);
                    }
                }
                State::Value | State::FirstItem => self.value(byte, cursor, out),
                State::FirstKey => self.key(byte, cursor, out),
                State::NextItem | State::NextKey => self.after_comma(byte, cursor, out),
                State::Colon if byte == b':' => {
                    self.state = State::Value;
                    cursor.at += 1;
                }
                State::Colon => self.fail("a colon is missing after a key", cursor),
                State::AfterValue => self.after_value(byte, cursor, out),
                State::Done
                | State::Failed
                | State::Text { .. }
                | State::Number(_)
                | State::Word
                | State::BareKey => {
                    if byte == b'{' && self.behind == Behind::Objects && self.state == State::Done {
                        cursor.run = cursor.at;
                        out(Out::Next { at: cursor.at });
                        self.state = State::Value;
                        return;
                    }
                    let is_expected = byte == b'`' && self.behind == Behind::Ticks;
                    if is_expected || self.mend(Repair::TrailingText, cursor) {
                        cursor.at += 1;
                        cursor.run = cursor.at;
                    }
                }
            },
        }
    }

    fn after_value(
        &mut self,
        byte: u8,
        cursor: &mut Cursor<'_>,
        out: &mut impl FnMut(Out<'_>) -> bool,
    ) {
        match (byte, self.is_object()) {
            (b',', is_object) => {
                self.state = if is_object { State::NextKey } else { State::NextItem };
                cursor.comma = cursor.at;
                cursor.at += 1;
            }
            (b'}', true) | (b']', false) => self.close(cursor, out),
            (_, true) => self.fail("a comma or `}` is missing in an object", cursor),
            (_, false) => self.fail("a comma or `]` is missing in an array", cursor),
        }
    }

    /// A withheld comma is settled by the first byte of what follows.
    fn after_comma(
        &mut self,
        byte: u8,
        cursor: &mut Cursor<'_>,
        out: &mut impl FnMut(Out<'_>) -> bool,
    ) {
        let is_object = self.state == State::NextKey;
        match byte {
            b',' => {
                if self.mend(Repair::ExtraComma, cursor) {
                    self.end_piece(cursor, out);
                    cursor.at += 1;
                    cursor.run = cursor.at;
                    cursor.comma = cursor.at;
                }
            }
            b'}' | b']' if (byte == b'}') == is_object => {
                if self.mend(Repair::ExtraComma, cursor) {
                    self.drop_comma(cursor, out);
                    self.close(cursor, out);
                }
            }
            _ => {
                if !self.held.is_empty() {
                    out(Out::Text(&self.held));
                    self.held.clear();
                }
                if is_object {
                    self.key(byte, cursor, out);
                } else {
                    self.value(byte, cursor, out);
                }
            }
        }
    }

    /// Gives out the blanks behind a withheld comma, without the comma.
    fn drop_comma(&mut self, cursor: &mut Cursor<'_>, out: &mut impl FnMut(Out<'_>) -> bool) {
        self.end_piece(cursor, out);
        cursor.run = cursor.at;
        let blanks = slice(&self.held, 1..);
        if !blanks.is_empty() {
            out(Out::Text(blanks));
        }
        self.held.clear();
    }

    fn value(&mut self, byte: u8, cursor: &mut Cursor<'_>, out: &mut impl FnMut(Out<'_>) -> bool) {
        let kind = match byte {
            b'{' => Kind::Object,
            b'[' => Kind::Array,
            b'"' | b'\'' => Kind::String,
            b'-' | b'0'..=b'9' => Kind::Number,
            b'a'..=b'z' | b'A'..=b'Z' => Kind::Word,
            b'}' | b']' => return self.fail("a value is missing before a bracket", cursor),
            b',' => return self.fail("a value is missing before a comma", cursor),
            _ => return self.fail("this starts no JSON value", cursor),
        };
        if byte == b'\'' && !self.mend(Repair::SingleQuotes, cursor) {
            return;
        }
        if self.depth < self.marked_depth {
            cursor.flush(out);
            if !out(Out::ValueStart { depth: self.depth, kind, at: cursor.at }) {
                self.marked_depth = self.depth + 1;
            }
        }
        match kind {
            Kind::Object | Kind::Array => self.open(kind, cursor),
            Kind::String => self.start_string(byte, false, cursor, out),
            Kind::Number => {
                self.state = State::Number(Digits::first(byte).unwrap_or(Digits::Minus));
                cursor.at += 1;
            }
            Kind::Word => {
                self.word.clear();
                self.state = State::Word;
            }
        }
    }

    fn open(&mut self, kind: Kind, cursor: &mut Cursor<'_>) {
        if self.depth == MAX_DEPTH {
            return self.fail("the JSON nests deeper than 128 levels", cursor);
        }
        self.brackets = self.brackets << 1 | u128::from(kind == Kind::Object);
        self.depth += 1;
        self.state = if kind == Kind::Object { State::FirstKey } else { State::FirstItem };
        cursor.at += 1;
    }

    fn close(&mut self, cursor: &mut Cursor<'_>, out: &mut impl FnMut(Out<'_>) -> bool) {
        self.brackets >>= 1;
        self.depth -= 1;
        cursor.at += 1;
        self.end_value(cursor, out);
    }

    fn is_object(&self) -> bool {
        self.brackets & 1 == 1
    }

    fn end_value(&mut self, cursor: &mut Cursor<'_>, out: &mut impl FnMut(Out<'_>) -> bool) {
        self.state = if self.depth == 0 { State::Done } else { State::AfterValue };
        if self.depth < self.marked_depth {
            cursor.flush(out);
            let repairs = mem::take(&mut self.repairs);
            out(Out::ValueEnd { depth: self.depth, at: cursor.at, repairs });
            if self.depth + 1 == self.marked_depth {
                self.marked_depth = MAX_MARKED_DEPTH;
            }
        }
    }

    fn key(&mut self, byte: u8, cursor: &mut Cursor<'_>, out: &mut impl FnMut(Out<'_>) -> bool) {
        let is_quoted = matches!(byte, b'"' | b'\'');
        if !is_quoted && !is_key_start(byte) {
            return self.fail("this starts no key of an object", cursor);
        }
        if byte == b'\'' && !self.mend(Repair::SingleQuotes, cursor) {
            return;
        }
        if !is_quoted && !self.mend(Repair::UnquotedKey, cursor) {
            return;
        }
        if self.depth < self.marked_depth {
            cursor.flush(out);
            out(Out::KeyStart { depth: self.depth, at: cursor.at });
        }
        if is_quoted {
            self.start_string(byte, true, cursor, out);
        } else {
            cursor.flush(out);
            out(Out::Text("\""));
            self.state = State::BareKey;
        }
    }

    fn end_key(&mut self, at: usize, out: &mut impl FnMut(Out<'_>) -> bool) {
        self.state = State::Colon;
        if self.depth < self.marked_depth {
            out(Out::KeyEnd { depth: self.depth, at });
        }
    }

    fn start_string(
        &mut self,
        quote: u8,
        is_key: bool,
        cursor: &mut Cursor<'_>,
        out: &mut impl FnMut(Out<'_>) -> bool,
    ) {
        if quote == b'"' {
            cursor.at += 1;
        } else {
            cursor.skip(out);
            out(Out::Text("\""));
        }
        self.state = State::Text { quote, is_key, escape: Escape::None };
    }

    fn in_string(
        &mut self,
        quote: u8,
        is_key: bool,
        cursor: &mut Cursor<'_>,
        out: &mut impl FnMut(Out<'_>) -> bool,
    ) {
        let bytes = cursor.text.as_bytes();
        cursor.at += find_special(bytes.get(cursor.at..).unwrap_or_default(), quote);
        let Some(&byte) = bytes.get(cursor.at) else { return };
        if byte == quote {
            if quote == b'"' {
                cursor.at += 1;
            } else {
                cursor.skip(out);
                out(Out::Text("\""));
            }
            if is_key {
                cursor.flush(out);
                self.end_key(cursor.at, out);
            } else {
                self.end_value(cursor, out);
            }
        } else if byte == b'\\' {
            if bytes.get(cursor.at + 1).is_some_and(|next| is_simple_escape(*next)) {
                cursor.at += 2;
            } else {
                cursor.skip(out);
                self.state = State::Text { quote, is_key, escape: Escape::Backslash };
            }
        } else if byte == b'"' || self.mend(Repair::RawControl, cursor) {
            cursor.skip(out);
            out(Out::Text(escape_of(byte)));
        }
    }

    fn in_escape(
        &mut self,
        byte: u8,
        quote: u8,
        is_key: bool,
        escape: Escape,
        cursor: &mut Cursor<'_>,
        out: &mut impl FnMut(Out<'_>) -> bool,
    ) {
        let mut next = Escape::None;
        match (escape, byte) {
            (Escape::Unicode { mut digits, count }, _) if byte.is_ascii_hexdigit() => {
                cursor.skip(out);
                if let Some(digit) = digits.get_mut(usize::from(count)) {
                    *digit = byte;
                }
                if count == 3 {
                    out(Out::Text("\\u"));
                    out(Out::Text(std::str::from_utf8(&digits).unwrap_or_default()));
                } else {
                    next = Escape::Unicode { digits, count: count + 1 };
                }
            }
            (Escape::Unicode { digits, count }, _) => {
                if !self.mend(Repair::InvalidEscape, cursor) {
                    return;
                }
                out(Out::Text("\\\\u"));
                let seen = digits.get(..usize::from(count)).unwrap_or_default();
                out(Out::Text(std::str::from_utf8(seen).unwrap_or_default()));
            }
            (_, b'u') => {
                cursor.skip(out);
                next = Escape::Unicode { digits: [0; 4], count: 0 };
            }
            _ if is_simple_escape(byte) => {
                out(Out::Text("\\"));
                cursor.at += 1;
            }
            (_, b'\'') => {
                if quote == b'"' && !self.mend(Repair::InvalidEscape, cursor) {
                    return;
                }
                cursor.at += 1;
            }
            _ => {
                if !self.mend(Repair::InvalidEscape, cursor) {
                    return;
                }
                out(Out::Text("\\\\"));
            }
        }
        self.state = State::Text { quote, is_key, escape: next };
    }

    fn end_number(
        &mut self,
        digits: Digits,
        cursor: &mut Cursor<'_>,
        out: &mut impl FnMut(Out<'_>) -> bool,
    ) {
        let follows = cursor.text.as_bytes().get(cursor.at);
        let is_clean = follows.is_none_or(|byte| !is_key_byte(*byte));
        if digits.may_end() && is_clean {
            self.end_value(cursor, out);
        } else {
            self.fail("this is no JSON number", cursor);
        }
    }

    fn end_word(&mut self, cursor: &mut Cursor<'_>, out: &mut impl FnMut(Out<'_>) -> bool) {
        let Some(value) = word_value(&self.word) else {
            self.fail("this word is no JSON value", cursor);
            self.fault.1 -= self.word.len();
            return;
        };
        if value != self.word.as_str() && !self.mend(Repair::PythonLiteral, cursor) {
            return;
        }
        out(Out::Text(value));
        self.end_value(cursor, out);
    }

    fn start_comment(&mut self, comment: Comment, cursor: &Cursor<'_>) {
        if self.mend(Repair::Comment, cursor) {
            self.comment = comment;
        }
    }

    fn in_comment(
        &mut self,
        byte: u8,
        cursor: &mut Cursor<'_>,
        out: &mut impl FnMut(Out<'_>) -> bool,
    ) {
        match (self.comment, byte) {
            (Comment::Slash, b'/') => self.start_comment(Comment::Line, cursor),
            (Comment::Slash, b'*') => self.start_comment(Comment::Block, cursor),
            (Comment::Slash, _) => {
                self.comment = Comment::None;
                return self.fail("this starts no JSON value", cursor);
            }
            (Comment::Line, b'\n') | (Comment::BlockStar, b'/') => self.comment = Comment::None,
            (Comment::Block | Comment::BlockStar, b'*') => self.comment = Comment::BlockStar,
            (Comment::BlockStar, _) => self.comment = Comment::Block,
            _ => {}
        }
        if self.has_failed() {
            self.comment = Comment::None;
            return;
        }
        cursor.skip(out);
        cursor.comma = cursor.at;
    }

    /// Ends the value at its closer; brackets that are missing are added. Whether it is whole now.
    pub(in crate::llm::parser) fn close_at_end(
        &mut self,
        out: &mut impl FnMut(Out<'_>) -> bool,
    ) -> bool {
        let mut cursor = Cursor { text: "", run: 0, at: 0, comma: 0 };
        if let State::Number(digits) = self.state {
            self.end_number(digits, &mut cursor, out);
        } else if self.state == State::Word {
            self.end_word(&mut cursor, out);
        }
        if matches!(self.state, State::NextItem | State::NextKey)
            && self.mend(Repair::ExtraComma, &cursor)
        {
            self.drop_comma(&mut cursor, out);
            self.state = State::AfterValue;
        }
        while matches!(self.state, State::FirstItem | State::FirstKey | State::AfterValue) {
            if !self.mend(Repair::MissingBracket, &cursor) {
                break;
            }
            out(Out::Text(if self.is_object() { "}" } else { "]" }));
            self.brackets >>= 1;
            self.depth -= 1;
            self.end_value(&mut cursor, out);
        }
        self.state == State::Done
    }

    /// Notes a repair; where nothing is mended it is a fault. Whether to go on.
    fn mend(&mut self, repair: Repair, cursor: &Cursor<'_>) -> bool {
        match self.strictness {
            Strictness::Lenient => {
                self.repairs.insert(repair);
                true
            }
            Strictness::Strict => {
                self.fail("this is no strict JSON", cursor);
                false
            }
        }
    }

    fn fail(&mut self, reason: &'static str, cursor: &Cursor<'_>) {
        self.state = State::Failed;
        self.fault = (reason, self.taken + cursor.at);
    }
}

fn is_key_start(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | 0x80..)
}

fn is_key_byte(byte: u8) -> bool {
    is_key_start(byte) || matches!(byte, b'-' | b'.')
}

/// JSON's word for a word of JSON or Python.
fn word_value(word: &str) -> Option<&'static str> {
    match word {
        "true" | "True" => Some("true"),
        "false" | "False" => Some("false"),
        "null" | "None" => Some("null"),
        _ => None,
    }
}
