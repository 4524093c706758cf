//! Strings and their escapes.

use super::{
    machine::Tokenizer,
    piece::Piece,
    state::{Escape, JsonState},
    token::Sink,
};
use crate::{
    Repair,
    escape::{escape_of, find_special, is_simple_escape},
    subslice,
};

impl Tokenizer {
    pub(super) fn start_string(
        &mut self,
        quote: u8,
        is_key: bool,
        piece: &mut Piece<'_, impl Sink>,
    ) {
        take_quote(quote, piece);
        self.state = JsonState::String { quote, is_key, escape: Escape::None };
    }

    pub(super) fn in_string(&mut self, quote: u8, is_key: bool, piece: &mut Piece<'_, impl Sink>) {
        let bytes = piece.text.as_bytes();
        piece.at += find_special(subslice(bytes, piece.at..), quote);
        let Some(byte) = piece.peek() else { return };
        if byte == quote {
            take_quote(quote, piece);
            if is_key {
                piece.flush();
                self.end_key(piece);
            } else {
                self.end_value(piece);
            }
        } else if byte == b'\\' {
            if bytes.get(piece.at + 1).is_some_and(|next| is_simple_escape(*next)) {
                piece.at += 2;
            } else {
                piece.skip();
                self.state = JsonState::String { quote, is_key, escape: Escape::Backslash };
            }
        } else if byte == b'"' || self.repair(Repair::RawControl, piece) {
            piece.skip();
            piece.emit_text(escape_of(byte));
        }
    }

    pub(super) fn in_escape(
        &mut self,
        byte: u8,
        quote: u8,
        is_key: bool,
        escape: Escape,
        piece: &mut Piece<'_, impl Sink>,
    ) {
        let mut next = Escape::None;
        match (escape, byte) {
            (Escape::Unicode { mut digits, count, is_short }, _) if byte.is_ascii_hexdigit() => {
                piece.skip();
                if let Some(digit) = digits.get_mut(usize::from(count)) {
                    *digit = byte;
                }
                if count == 3 {
                    piece.emit_text("\\u");
                    piece.emit_text(std::str::from_utf8(&digits).unwrap_or_default());
                } else {
                    next = Escape::Unicode { digits, count: count + 1, is_short };
                }
            }
            (Escape::Backslash, b'u') => {
                piece.skip();
                next = Escape::Unicode { digits: [0; 4], count: 0, is_short: false };
            }
            // Single quotes are Python's.
            (Escape::Backslash, b'x') if quote == b'\'' => {
                piece.skip();
                next = Escape::Unicode { digits: *b"00\0\0", count: 2, is_short: true };
            }
            (Escape::Backslash, _) if is_simple_escape(byte) => {
                piece.emit_text("\\");
                piece.at += 1;
            }
            (Escape::Backslash, b'\'') if quote == b'\'' => piece.at += 1,
            _ if !self.repair(Repair::InvalidEscape, piece) => return,
            (Escape::Unicode { digits, count, is_short }, _) => {
                let (letter, from) = if is_short { ("\\\\x", 2) } else { ("\\\\u", 0) };
                piece.emit_text(letter);
                let seen = subslice(&digits, from..usize::from(count));
                piece.emit_text(std::str::from_utf8(seen).unwrap_or_default());
            }
            (Escape::Backslash, b'\'') => piece.at += 1,
            (Escape::Backslash | Escape::None, _) => piece.emit_text("\\\\"),
        }
        self.state = JsonState::String { quote, is_key, escape: next };
    }
}

#[inline]
fn take_quote(quote: u8, piece: &mut Piece<'_, impl Sink>) {
    if quote == b'"' {
        piece.at += 1;
    } else {
        piece.skip();
        piece.emit_text("\"");
    }
}
