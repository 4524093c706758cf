//! The syntax between scalars: whitespace, brackets, commas, colons and comments.

use super::{
    machine::{MAX_DEPTH, Tokenizer},
    piece::Piece,
    state::{Behind, Comment, JsonState},
    token::{Kind, Sink, Strictness, Token},
};
use crate::{Number, Repair, slice};

/// Maximum number of bytes kept from a withheld comma on; whitespace beyond them is dropped.
const MAX_HELD_BYTES: usize = 4096;

impl Tokenizer {
    /// Reads whitespace, a bracket, a comma, or the first byte of anything else.
    pub(super) fn between(&mut self, byte: u8, piece: &mut Piece<'_, impl Sink>) {
        match byte {
            b' ' | b'\t' | b'\n' | b'\r' => {
                piece.at += 1;
                if self.state == JsonState::Done {
                    piece.run = piece.at;
                }
            }
            b'/' | b'#' if self.state != JsonState::Done => self.start_comment(byte, piece),
            _ => match self.state {
                JsonState::FirstItem if byte == b']' => self.close(piece),
                JsonState::FirstItem if byte == b')' && self.tuples > 0 => self.close_tuple(piece),
                JsonState::FirstKey if byte == b'}' => self.close(piece),
                JsonState::FirstItem | JsonState::FirstKey if byte == b',' => {
                    if self.repair(Repair::ExtraComma, piece) {
                        piece.skip();
                    }
                }
                JsonState::Value | JsonState::FirstItem => self.value(byte, piece),
                JsonState::FirstKey => self.key(byte, piece),
                JsonState::NextItem | JsonState::NextKey => self.after_comma(byte, piece),
                JsonState::Colon if byte == b':' => {
                    self.state = JsonState::Value;
                    piece.at += 1;
                }
                JsonState::Colon => self.fail("a colon is missing after a key", piece),
                JsonState::AfterValue => self.after_value(byte, piece),
                JsonState::Done
                | JsonState::Failed
                | JsonState::String { .. }
                | JsonState::Number(_)
                | JsonState::Word
                | JsonState::BareKey => self.after_end(byte, piece),
            },
        }
    }

    /// Reads a byte after the complete value.
    fn after_end(&mut self, byte: u8, piece: &mut Piece<'_, impl Sink>) {
        if byte == b'{' && self.behind == Behind::Objects {
            piece.run = piece.at;
            piece.emit(Token::Next { at: piece.at });
            self.state = JsonState::Value;
            return;
        }
        let is_expected = byte == b'`' && self.behind == Behind::Ticks;
        if is_expected || self.repair(Repair::TrailingText, piece) {
            piece.discard();
        }
    }

    fn after_value(&mut self, byte: u8, piece: &mut Piece<'_, impl Sink>) {
        match (byte, self.is_object()) {
            (b',', is_object) => {
                self.state = if is_object { JsonState::NextKey } else { JsonState::NextItem };
                piece.comma = piece.at;
                piece.at += 1;
            }
            (b'}', true) | (b']', false) => self.close(piece),
            (b')', false) if self.tuples > 0 => self.close_tuple(piece),
            (b'}' | b']', _) if self.closes_outer(byte) => self.add_bracket(piece),
            // The end of the fence.
            (b'`', _) if self.behind == Behind::Ticks => self.add_bracket(piece),
            (_, true) if self.strictness == Strictness::Lenient && is_key(byte) => {
                self.repair(Repair::MissingComma, piece);
                piece.flush();
                piece.emit_text(",");
                self.key(byte, piece);
            }
            (_, true) => self.fail("a comma or `}` is missing in an object", piece),
            (_, false) => self.fail("a comma or `]` is missing in an array", piece),
        }
    }

    /// Decides on a withheld comma by the first byte after it.
    fn after_comma(&mut self, byte: u8, piece: &mut Piece<'_, impl Sink>) {
        let is_object = self.state == JsonState::NextKey;
        match byte {
            b',' => {
                if self.repair(Repair::ExtraComma, piece) {
                    self.end_piece(piece);
                    piece.discard();
                    piece.comma = piece.at;
                }
            }
            b'}' | b']' if (byte == b'}') == is_object => {
                if self.repair(Repair::ExtraComma, piece) {
                    self.drop_comma(piece);
                    self.close(piece);
                }
            }
            b')' if !is_object && self.tuples > 0 => {
                self.drop_comma(piece);
                self.close_tuple(piece);
            }
            // Another item of the list begins: the objects before it have ended.
            b'{' if is_object && self.closes_outer(b']') => {
                if self.repair(Repair::MissingBracket, piece) {
                    self.drop_comma(piece);
                    while self.is_object() {
                        self.add_bracket(piece);
                    }
                    piece.emit_text(",");
                    self.value(byte, piece);
                }
            }
            _ => {
                if !self.held.is_empty() {
                    piece.emit_text(&self.held);
                    self.held.clear();
                }
                if is_object {
                    self.key(byte, piece);
                } else {
                    self.value(byte, piece);
                }
            }
        }
    }

    /// Emits the whitespace after a withheld comma, without the comma.
    fn drop_comma(&mut self, piece: &mut Piece<'_, impl Sink>) {
        self.end_piece(piece);
        piece.run = piece.at;
        let whitespace = slice(&self.held, 1..);
        if !whitespace.is_empty() {
            piece.emit_text(whitespace);
        }
        self.held.clear();
    }

    /// Emits the text that passed; a comma that may have to be dropped is held, with the whitespace after it.
    pub(super) fn end_piece(&mut self, piece: &mut Piece<'_, impl Sink>) {
        if matches!(self.state, JsonState::NextItem | JsonState::NextKey) {
            let comma = piece.comma.max(piece.run);
            piece.flush_to(comma);
            // A comma and whitespace are ASCII.
            let room = MAX_HELD_BYTES.saturating_sub(self.held.len());
            self.held.push_str(slice(piece.text, comma..piece.at.min(comma + room)));
        } else {
            // After a fault the loop has stopped there; the text before it passed.
            piece.flush();
        }
    }

    fn value(&mut self, byte: u8, piece: &mut Piece<'_, impl Sink>) {
        let kind = match byte {
            b'{' => Kind::Object,
            b'[' | b'(' => Kind::Array,
            b'"' | b'\'' => Kind::String,
            b'-' | b'0'..=b'9' => Kind::Number,
            b'a'..=b'z' | b'A'..=b'Z' => Kind::Word,
            b'}' | b']' => return self.fail("a value is missing before a bracket", piece),
            b',' => return self.fail("a value is missing before a comma", piece),
            _ => return self.fail("expected a JSON value", piece),
        };
        let repair = match byte {
            b'\'' => Some(Repair::SingleQuotes),
            b'(' => Some(Repair::PythonLiteral),
            _ => None,
        };
        if repair.is_some_and(|repair| !self.repair(repair, piece)) {
            return;
        }
        if matches!(kind, Kind::Object | Kind::Array) && self.depth == MAX_DEPTH {
            return self.fail_too_deep(piece);
        }
        self.mark_value(kind, piece);
        match kind {
            Kind::Object | Kind::Array => {
                let is_object = kind == Kind::Object;
                self.push_bracket(is_object);
                self.state = if is_object { JsonState::FirstKey } else { JsonState::FirstItem };
                if byte == b'(' {
                    self.tuples += 1;
                    piece.skip();
                    piece.emit_text("[");
                } else {
                    piece.at += 1;
                }
            }
            Kind::String => self.start_string(byte, false, piece),
            Kind::Number => {
                self.state = JsonState::Number(Number::first(byte).unwrap_or(Number::Minus));
                piece.at += 1;
            }
            Kind::Word => self.state = JsonState::Word,
        }
    }

    fn key(&mut self, byte: u8, piece: &mut Piece<'_, impl Sink>) {
        if !is_key(byte) {
            return self.fail("expected a key of an object", piece);
        }
        let is_quoted = matches!(byte, b'"' | b'\'');
        if byte == b'\'' && !self.repair(Repair::SingleQuotes, piece) {
            return;
        }
        if !is_quoted && !self.repair(Repair::UnquotedKey, piece) {
            return;
        }
        self.mark_key(piece);
        if is_quoted {
            self.start_string(byte, true, piece);
        } else {
            piece.flush();
            piece.emit_text("\"");
            self.state = JsonState::BareKey;
        }
    }

    pub(super) fn in_bare_key(&mut self, byte: u8, piece: &mut Piece<'_, impl Sink>) {
        if is_key_byte(byte) {
            piece.at += 1;
        } else {
            piece.flush();
            piece.emit_text("\"");
            self.end_key(piece);
        }
    }

    fn close(&mut self, piece: &mut Piece<'_, impl Sink>) {
        self.pop_bracket();
        piece.at += 1;
        self.end_value(piece);
    }

    /// Closes a list written as a Python tuple.
    fn close_tuple(&mut self, piece: &mut Piece<'_, impl Sink>) {
        self.tuples -= 1;
        piece.skip();
        piece.emit_text("]");
        self.pop_bracket();
        self.end_value(piece);
    }

    /// Returns `true` if `byte` closes a bracket around the innermost one.
    fn closes_outer(&self, byte: u8) -> bool {
        let (objects, depth) = self.outer_brackets();
        if byte == b'}' { objects > 0 } else { objects < depth }
    }

    /// Closes the innermost bracket, whose own closing bracket is missing.
    fn add_bracket(&mut self, piece: &mut Piece<'_, impl Sink>) {
        if self.repair(Repair::MissingBracket, piece) {
            piece.flush();
            piece.emit_text(if self.is_object() { "}" } else { "]" });
            self.pop_bracket();
            self.end_value(piece);
        }
    }

    /// Ends the value at the end of the call and adds missing brackets after a member or an item; returns `true`
    /// if the value is now complete.
    #[doc(hidden)]
    pub fn close_at_end(&mut self, sink: &mut impl FnMut(Token<'_>) -> bool) -> bool {
        let mut piece = Piece::new("", sink);
        if let JsonState::Number(number) = self.state {
            self.end_number(number, &mut piece);
        } else if self.state == JsonState::Word {
            self.end_word(&mut piece);
        }
        if matches!(self.state, JsonState::NextItem | JsonState::NextKey)
            && self.repair(Repair::ExtraComma, &piece)
        {
            self.drop_comma(&mut piece);
            self.state = JsonState::AfterValue;
        }
        // After a bracket that was only opened, anything might have followed.
        while self.state == JsonState::AfterValue {
            self.add_bracket(&mut piece);
        }
        self.is_done()
    }

    /// Completes the emitted JSON of an incomplete value, so that it is valid, whatever
    /// it means.
    #[doc(hidden)]
    pub fn abandon(&mut self, sink: &mut impl FnMut(Token<'_>) -> bool) {
        let mut piece = Piece::new("", sink);
        if !self.held.is_empty() {
            piece.emit_text(&self.held);
            self.held.clear();
        }
        let state = if self.has_failed() { self.fault.state } else { self.state };
        piece.emit_text(match state {
            JsonState::Value | JsonState::NextItem | JsonState::Word => "null",
            JsonState::NextKey => "\"\":null",
            JsonState::BareKey | JsonState::String { is_key: true, .. } => "\":null",
            JsonState::Colon => ":null",
            JsonState::String { .. } => "\"",
            JsonState::Number(number) if !number.may_end() => "0",
            JsonState::Number(_) | JsonState::FirstItem | JsonState::FirstKey => "",
            JsonState::AfterValue | JsonState::Done | JsonState::Failed => "",
        });
        while self.depth > 0 {
            piece.emit_text(if self.is_object() { "}" } else { "]" });
            self.pop_bracket();
        }
        self.state = JsonState::Done;
    }

    fn start_comment(&mut self, byte: u8, piece: &mut Piece<'_, impl Sink>) {
        if self.strictness == Strictness::Strict {
            return self.fail("this is not strict JSON", piece);
        }
        // A withheld comma stays withheld: the text before the comment is held with it.
        if matches!(self.state, JsonState::NextItem | JsonState::NextKey) {
            self.end_piece(piece);
            piece.run = piece.at;
        }
        piece.skip();
        piece.comma = piece.at;
        if byte == b'#' {
            self.enter_comment(Comment::Line, piece);
        } else {
            self.comment = Comment::Slash;
        }
    }

    fn enter_comment(&mut self, comment: Comment, piece: &Piece<'_, impl Sink>) {
        if self.repair(Repair::Comment, piece) {
            self.comment = comment;
        }
    }

    pub(super) fn in_comment(&mut self, byte: u8, piece: &mut Piece<'_, impl Sink>) {
        match (self.comment, byte) {
            (Comment::Slash, b'/') => self.enter_comment(Comment::Line, piece),
            (Comment::Slash, b'*') => self.enter_comment(Comment::Block, piece),
            (Comment::Slash, _) => {
                self.comment = Comment::None;
                return self.fail("expected a JSON value", piece);
            }
            (Comment::Line, b'\n') | (Comment::BlockStar, b'/') => self.comment = Comment::None,
            (Comment::Block | Comment::BlockStar, b'*') => self.comment = Comment::BlockStar,
            (Comment::BlockStar, _) => self.comment = Comment::Block,
            _ => {}
        }
        piece.skip();
        piece.comma = piece.at;
    }
}

/// Returns `true` if a key, quoted or not, may begin with this byte.
fn is_key(byte: u8) -> bool {
    matches!(byte, b'"' | b'\'') || is_key_start(byte)
}

fn is_key_start(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | 0x80..)
}

/// Returns `true` if this byte may be part of an unquoted key, or would make a number invalid.
pub(super) fn is_key_byte(byte: u8) -> bool {
    is_key_start(byte) || matches!(byte, b'-' | b'.')
}
