//! The text around the arguments of a call: its name, and other calls.

use super::{
    call::{NO_CALL, NextOpener, OPENER, STRAY, SyntaxCall, SyntaxPhase, new_lexer},
    place::ValuePosition,
};
use crate::grammar::reader::{
    LONG_NAME, MAX_NAME_BYTES, NO_NAME, PayloadOut, PayloadReader, PayloadSink,
};
use forgeline_json::{RepairSet, slice};
use forgeline_types::Repair;

/// The word of a call, as written after a stray colon.
const CALL: &str = "call:";

/// The tag that some models write in its place.
const TAG: &[u8] = b"<call>";

impl SyntaxCall {
    /// Reads a byte of `call:`, or of the whitespace before it.
    pub(super) fn start(&mut self, seen: usize, byte: u8, at: &mut usize) {
        match OPENER.get(seen) {
            _ if seen == 0 && byte.is_ascii_whitespace() => {}
            // The word is missing.
            _ if seen == 0 && matches!(byte, b':' | b'-') => self.state = SyntaxPhase::Name,
            _ if seen == 0 && byte == b'<' => self.state = SyntaxPhase::Tag(1),
            Some(wanted) if byte.eq_ignore_ascii_case(wanted) => {
                self.name.push(char::from(byte));
                let is_all = seen + 1 == OPENER.len();
                self.state = if is_all { SyntaxPhase::Name } else { SyntaxPhase::Start(seen + 1) };
                if is_all {
                    self.name.clear();
                }
            }
            // The name itself.
            _ if is_name_byte(byte) || (seen > 0 && matches!(byte, b'{' | b'(')) => {
                self.state = SyntaxPhase::Name;
                return;
            }
            _ => return self.fail(NO_CALL, self.taken + *at),
        }
        *at += 1;
    }

    /// Reads a byte of the tag used in place of `call:`.
    pub(super) fn tag(&mut self, seen: usize, byte: u8, at: &mut usize) {
        if TAG.get(seen) != Some(&byte) {
            return self.fail(NO_CALL, self.taken + *at);
        }
        self.state =
            if seen + 1 == TAG.len() { SyntaxPhase::Name } else { SyntaxPhase::Tag(seen + 1) };
        *at += 1;
    }

    /// Reads part of the name, or finds its end.
    pub(super) fn name(&mut self, text: &str, at: &mut usize, out: &mut PayloadSink<'_>) {
        let rest = slice(text, *at..);
        if self.name.is_empty() && rest.starts_with(|first: char| first.is_ascii_whitespace()) {
            *at += 1;
            return;
        }
        let end = rest.bytes().position(|byte| !is_name_byte(byte)).unwrap_or(rest.len());
        let room = MAX_NAME_BYTES - self.name.len();
        if end > room {
            return self.fail(LONG_NAME, self.taken + *at + room);
        }
        self.name.push_str(slice(rest, ..end));
        *at += end;
        if end == rest.len() {
            return;
        }
        // A stray colon may also precede the word.
        if let Some(name) = self.name.strip_prefix(CALL) {
            self.name = name.into();
        }
        if self.name.is_empty() {
            return self.fail(NO_NAME, self.taken + *at);
        }
        out(PayloadOut::Name { name: &self.name, at: *at });
        self.tools.call(&self.name);
        self.state = SyntaxPhase::Named { is_called: false, next: NextOpener::Nothing };
    }

    /// Reads the byte after a name without arguments.
    pub(super) fn named(
        &mut self,
        is_called: bool,
        next: NextOpener,
        byte: u8,
        at: &mut usize,
        out: &mut PayloadSink<'_>,
    ) {
        if byte == b'{' && next == NextOpener::Nothing {
            self.state = SyntaxPhase::Arguments;
            return;
        }
        *at += 1;
        self.state = match next.after(byte) {
            _ if byte == b'(' && next == NextOpener::Nothing && !is_called => {
                SyntaxPhase::Parenthesis
            }
            next @ NextOpener::Letters(_) if next.is_opener() => {
                out(PayloadOut::Arguments("{}"));
                return self.next_call(*at, out);
            }
            next @ NextOpener::Letters(_) => SyntaxPhase::Named { is_called, next },
            NextOpener::Nothing if byte.is_ascii_whitespace() && next == NextOpener::Nothing => {
                self.state
            }
            NextOpener::Nothing | NextOpener::Word => {
                return self.fail(STRAY, self.taken + *at - 1);
            }
        };
    }

    /// Reads the byte after a name and `(`: arguments in parentheses are read as an object.
    pub(super) fn parenthesis(&mut self, byte: u8, at: &mut usize, out: &mut PayloadSink<'_>) {
        if byte == b')' {
            self.state = SyntaxPhase::Named { is_called: true, next: NextOpener::Nothing };
        } else if !byte.is_ascii_whitespace() {
            self.state = SyntaxPhase::Arguments;
            self.is_in_parentheses = byte != b'{';
            if self.is_in_parentheses {
                self.lex("{", self.taken + *at - 1, out);
            }
            return;
        }
        *at += 1;
    }

    /// Reads a byte after the arguments: another call may follow.
    pub(super) fn behind(
        &mut self,
        before: NextOpener,
        byte: u8,
        at: &mut usize,
        out: &mut PayloadSink<'_>,
    ) {
        *at += 1;
        let next = before.after(byte);
        if next.is_opener() {
            return self.next_call(*at, out);
        }
        self.state = SyntaxPhase::Behind(next);
        let is_other = match next {
            NextOpener::Letters(_) => false,
            NextOpener::Nothing => !byte.is_ascii_whitespace() || before != NextOpener::Nothing,
            NextOpener::Word => true,
        };
        if is_other {
            self.repairs.insert(Repair::TrailingText);
        }
    }

    pub(super) fn next_call(&mut self, at: usize, out: &mut PayloadSink<'_>) {
        out(PayloadOut::NextCall { at, repairs: self.repairs(), fault: None });
        self.state = SyntaxPhase::Name;
        self.name.clear();
        self.is_in_parentheses = false;
        self.lexer = new_lexer();
        self.lexed = 0;
        self.place = ValuePosition::default();
        self.repairs = RepairSet::default();
    }
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'/' | b':' | b'$' | 0x80..)
}
