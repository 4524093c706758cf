//! Reading of calls in call syntax.
//!
//! Between its strings the syntax is lenient JSON, which [`Tokenizer`] reads. A string between the
//! dialect's own delimiters bypasses the lexer and is escaped on the way; the lexer sees only its two
//! quotes. An unquoted word reaches the lexer as the literal or the string that it means (R12).

use compact_str::CompactString;

use super::place::ValuePosition;
use crate::grammar::{
    json::guard_of,
    reader::{
        MarkerGuard, NO_NAME, PayloadFault, PayloadOut, PayloadReader, PayloadSink, PlainText,
        give_source, is_free_of,
    },
    schema::KnownTools,
};
use forgeline_json::{RepairSet, Strictness, Tokenizer, escape_into, slice};
use forgeline_types::Repair;

pub(super) const NO_CALL: &str = "the payload begins with no `call:`";
pub(super) const STRAY: &str = "this belongs in no call";

/// A reader of the calls of one payload, in pieces of any size.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "facts that have nothing in common")]
pub(crate) struct SyntaxCall {
    /// The text on both sides of a string: ASCII, with a first byte that does not occur again in it.
    pub(super) delimiter: &'static str,
    pub(super) state: SyntaxPhase,
    pub(super) name: CompactString,
    pub(super) lexer: Tokenizer,
    /// The number of bytes that the lexer has read.
    pub(super) lexed: usize,
    /// The number of bytes before the current piece.
    pub(super) taken: usize,
    pub(super) repairs: RepairSet,
    pub(super) fault: Option<PayloadFault>,
    /// `true` if no closer follows the arguments.
    ends_itself: bool,
    /// `true` if the arguments are in parentheses, with `=` after the keys.
    pub(super) is_in_parentheses: bool,
    /// The tools, whose schemas determine the types of values, and the position of the current value in them.
    pub(super) tools: KnownTools,
    pub(super) place: ValuePosition,
    /// The current unquoted word, or a string that may be a literal; bounded by the limit of a
    /// call's body.
    pub(super) word: String,
}

/// The part that was read last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SyntaxPhase {
    /// This number of bytes of `call:`, which whitespace may precede.
    Start(usize),
    /// This number of bytes of the tag used in its place.
    Tag(usize),
    /// `call:`, and part of the name.
    Name,
    /// The name, and `()` if it has parentheses: arguments, or another call, may follow.
    Named { is_called: bool, next: NextOpener },
    /// The name and `(`.
    Parenthesis,
    /// Arguments, outside the dialect's strings.
    Arguments,
    /// This number of bytes of a delimiter that opens a string.
    Opening(usize),
    /// A string between delimiters, and this number of bytes of the closing one.
    Quoted(usize),
    /// A string between delimiters that is held until its end, because the schema requires another type.
    Held(usize),
    /// A string in backticks.
    Ticks,
    /// An unquoted value or key.
    Word { is_key: bool },
    /// The arguments ended.
    Behind(NextOpener),
    /// A mistake that cannot be repaired.
    Failed { is_in_arguments: bool },
}

/// The text on both sides of a string that is taken literally.
pub(super) const TICK: &str = "`";

/// The text that begins every call, in any ASCII case.
pub(super) const OPENER: &[u8] = b"call:";

/// The part of another call's opener that has been read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NextOpener {
    /// Nothing, and it may begin here.
    Nothing,
    /// This number of bytes.
    Letters(usize),
    /// None, inside another word.
    Word,
}

impl NextOpener {
    pub(super) fn after(self, byte: u8) -> Self {
        let seen = match self {
            Self::Nothing => 0,
            Self::Letters(seen) => seen,
            Self::Word => usize::MAX,
        };
        match OPENER.get(seen) {
            Some(wanted) if byte.eq_ignore_ascii_case(wanted) => Self::Letters(seen + 1),
            _ if byte.is_ascii_alphanumeric() || matches!(byte, b'_' | 0x80..) => Self::Word,
            _ => Self::Nothing,
        }
    }

    pub(super) fn is_opener(self) -> bool {
        self == Self::Letters(OPENER.len())
    }
}

impl SyntaxCall {
    /// Creates a reader of strings between `delimiter`s, in addition to those of JSON, in a call that `ends_itself` if no
    /// closer follows the arguments; the schemas of `tools` determine the types of values.
    pub(crate) fn new(delimiter: &'static str, ends_itself: bool, tools: KnownTools) -> Self {
        Self {
            delimiter,
            ends_itself,
            is_in_parentheses: false,
            state: SyntaxPhase::Start(0),
            name: CompactString::const_new(""),
            lexer: new_lexer(),
            lexed: 0,
            taken: 0,
            repairs: RepairSet::default(),
            fault: None,
            tools,
            place: ValuePosition::default(),
            word: String::new(),
        }
    }

    fn is_in_arguments(&self) -> bool {
        matches!(
            self.state,
            SyntaxPhase::Arguments
                | SyntaxPhase::Opening(_)
                | SyntaxPhase::Quoted(_)
                | SyntaxPhase::Held(_)
                | SyntaxPhase::Ticks
                | SyntaxPhase::Word { .. }
                | SyntaxPhase::Failed { is_in_arguments: true }
        )
    }

    pub(super) fn fail(&mut self, reason: &'static str, offset: usize) {
        self.state = SyntaxPhase::Failed { is_in_arguments: self.is_in_arguments() };
        self.fault.get_or_insert((reason, offset));
    }
}

impl PayloadReader for SyntaxCall {
    fn feed(&mut self, text: &str, out: &mut PayloadSink<'_>) -> usize {
        let mut at = 0;
        let mut source = self.is_in_arguments().then_some(0);
        while let Some(&byte) = text.as_bytes().get(at).filter(|_| !self.has_ended()) {
            match self.state {
                SyntaxPhase::Start(seen) => self.start(seen, byte, &mut at),
                SyntaxPhase::Tag(seen) => self.tag(seen, byte, &mut at),
                SyntaxPhase::Name => self.name(text, &mut at, out),
                SyntaxPhase::Named { is_called, next } => {
                    self.named(is_called, next, byte, &mut at, out);
                    source = self.is_in_arguments().then_some(at);
                }
                SyntaxPhase::Parenthesis => {
                    self.parenthesis(byte, &mut at, out);
                    source = self.is_in_arguments().then_some(at);
                }
                SyntaxPhase::Arguments => self.arguments(text, &mut at, out),
                SyntaxPhase::Opening(seen) => self.opening(seen, text, &mut at, out),
                SyntaxPhase::Quoted(seen) | SyntaxPhase::Held(seen) => {
                    self.quoted(seen, text, &mut at, out);
                }
                SyntaxPhase::Ticks => self.ticks(text, &mut at, out),
                SyntaxPhase::Word { is_key } => self.word(is_key, text, &mut at, out),
                SyntaxPhase::Behind(next) => self.behind(next, byte, &mut at, out),
                SyntaxPhase::Failed { .. } => break,
            }
            if let Some(start) = source
                && !self.is_in_arguments()
            {
                give_source(slice(text, start..at), out);
                source = None;
            }
        }
        let read = if self.ends_itself { at } else { text.len() };
        if let Some(start) = source {
            give_source(slice(text, start..read), out);
        }
        self.taken += read;
        read
    }

    fn plain(&self) -> PlainText {
        if self.state == SyntaxPhase::Quoted(0) && !self.place.is_key() {
            // Delimiters other than tags may occur in text that passes as markup.
            if self.delimiter.starts_with('<') {
                PlainText::MarkupRules
            } else {
                PlainText::Nothing
            }
        } else if self.state == SyntaxPhase::Arguments && self.lexer.is_in_plain_string() {
            PlainText::JsonString
        } else {
            PlainText::Nothing
        }
    }

    fn pass_escaped(&mut self, text: &str, mut out: &mut dyn FnMut(&str)) -> Option<PlainText> {
        if self.state != SyntaxPhase::Quoted(0) || !is_free_of(b'<', text) {
            return None;
        }
        escape_into(text, &mut out);
        Some(PlainText::MarkupRules)
    }

    fn skip(&mut self, bytes: usize) {
        self.taken += bytes;
        if self.state == SyntaxPhase::Arguments {
            self.lexer.skip(bytes);
            self.lexed += bytes;
        }
    }

    fn is_whole(&self) -> bool {
        matches!(self.state, SyntaxPhase::Behind(_) | SyntaxPhase::Named { is_called: true, .. })
    }

    fn has_ended(&self) -> bool {
        self.ends_itself && matches!(self.state, SyntaxPhase::Behind(_))
    }

    fn has_failed(&self) -> bool {
        matches!(self.state, SyntaxPhase::Failed { .. })
    }

    fn guard(&self) -> MarkerGuard {
        if let SyntaxPhase::Quoted(_) | SyntaxPhase::Held(_) = self.state {
            return MarkerGuard::InString(self.delimiter);
        }
        if self.state == SyntaxPhase::Ticks {
            return MarkerGuard::InString(TICK);
        }
        if self.state == SyntaxPhase::Arguments { guard_of(&self.lexer) } else { MarkerGuard::Open }
    }

    fn repairs(&self) -> RepairSet {
        let mut repairs = self.repairs;
        repairs.extend(self.lexer.repairs());
        // Such keys are part of the grammar.
        repairs.without(Repair::UnquotedKey).without(Repair::PythonLiteral)
    }

    fn close(&mut self, out: &mut PayloadSink<'_>) -> Result<(), PayloadFault> {
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        match self.state {
            SyntaxPhase::Start(_) | SyntaxPhase::Tag(_) => return Err((NO_CALL, self.taken)),
            SyntaxPhase::Name if self.name.is_empty() => return Err((NO_NAME, self.taken)),
            SyntaxPhase::Name => {
                out(PayloadOut::Name { name: &self.name, at: 0 });
                out(PayloadOut::Arguments("{}"));
            }
            SyntaxPhase::Named { next: NextOpener::Letters(_), .. } => {
                return Err((STRAY, self.taken));
            }
            SyntaxPhase::Named { .. } => out(PayloadOut::Arguments("{}")),
            SyntaxPhase::Parenthesis => return Err(("the arguments end too early", self.taken)),
            SyntaxPhase::Arguments => return self.close_arguments(out),
            SyntaxPhase::Word { is_key } => {
                self.end_word(is_key, self.taken, out);
                return self.close_arguments(out);
            }
            SyntaxPhase::Opening(seen) => {
                return Err(("expected a JSON value", self.taken - seen));
            }
            SyntaxPhase::Quoted(_) | SyntaxPhase::Held(_) | SyntaxPhase::Ticks => {
                return Err(("a string is not closed before the end of the call", self.taken));
            }
            SyntaxPhase::Behind(NextOpener::Letters(_)) => {
                self.repairs.insert(Repair::TrailingText);
            }
            SyntaxPhase::Behind(_) | SyntaxPhase::Failed { .. } => {}
        }
        Ok(())
    }
}

pub(super) fn new_lexer() -> Tokenizer {
    let mut lexer = Tokenizer::new(Strictness::Lenient).mark_all();
    lexer.end_itself();
    lexer
}
