//! One JSON value inside another grammar.

use crate::json::{Strictness, Token, Tokenizer};
use crate::llm::parser::{RepairSet, grammar::reader::Fault};

/// Reads one lenient JSON value in pieces of any size and gives it as strict JSON.
#[derive(Debug)]
pub(crate) struct JsonValue {
    lexer: Tokenizer,
    repairs: RepairSet,
}

impl JsonValue {
    pub(crate) fn new() -> Self {
        Self { lexer: Tokenizer::new(Strictness::Lenient), repairs: RepairSet::default() }
    }

    /// Takes the next piece.
    pub(crate) fn feed(&mut self, text: &str, out: &mut impl FnMut(&str)) {
        let Self { lexer, repairs } = self;
        lexer.feed(text, &mut |token| take(token, repairs, out));
    }

    /// Returns `true` when the next byte is the inside of a string in `"` and passes unchanged,
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

    /// Ends the value: adds brackets that are missing, or says what is wrong, and where in it. What
    /// was repaired otherwise.
    pub(crate) fn close(&mut self, out: &mut impl FnMut(&str)) -> Result<RepairSet, Fault> {
        let Self { lexer, repairs } = self;
        if !lexer.close_at_end(&mut |token| take(token, repairs, out)) {
            return Err(lexer.fault());
        }
        repairs.extend(lexer.repairs());
        Ok(*repairs)
    }
}

fn take(token: Token<'_>, repairs: &mut RepairSet, out: &mut impl FnMut(&str)) -> bool {
    match token {
        Token::Text(text) => out(text),
        Token::ValueEnd { repairs: mended, .. } => repairs.extend(mended),
        Token::KeyStart { .. }
        | Token::KeyEnd { .. }
        | Token::ValueStart { .. }
        | Token::Next { .. } => {}
    }
    false
}
