//! One JSON value inside another grammar.

use crate::json::{Strictness, Token, Tokenizer};
use crate::llm::parser::{
    RepairSet,
    grammar::{arguments::JsonOut, reader::Fault},
};

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
    pub(crate) fn feed(&mut self, text: &str, out: &mut impl JsonOut) {
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

    /// Ends the value: adds brackets that are missing, or says what is wrong, and where in it.
    pub(crate) fn close(&mut self, out: &mut impl JsonOut) -> Result<(), Fault> {
        let Self { lexer, repairs } = self;
        let is_whole = lexer.close_at_end(&mut |token| take(token, repairs, out));
        if is_whole { Ok(()) } else { Err(lexer.fault()) }
    }

    /// Returns the repairs of the value.
    pub(crate) fn repairs(&self) -> RepairSet {
        let mut repairs = self.repairs;
        repairs.extend(self.lexer.repairs());
        repairs
    }
}

/// Takes a token of a value of which only the JSON text and the repairs are wanted.
pub(crate) fn take(token: Token<'_>, repairs: &mut RepairSet, out: &mut impl JsonOut) -> bool {
    if let Token::Text(text) = token {
        out(text);
    } else if let Token::ValueEnd { repairs: mended, .. } = token {
        repairs.extend(mended);
    }
    false
}
