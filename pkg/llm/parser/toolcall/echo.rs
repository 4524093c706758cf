//! A block of calls that a model repeats without its opener: framing, not a second run.

use super::{Started, ToolCallParser};
use crate::llm::parser::{
    compiled::{Compiled, Role},
    content::{Emit, ParsedContent},
    description::Bare,
    found::{Ahead, Found},
    unmarked::Start,
};
use crate::types::slice;

/// Longest list that is held, in bytes; a longer one is called.
const MAX_HELD_BYTES: usize = 64 << 10;

/// A list of calls directly behind a marked one, held until it is known whether the closer of such a
/// call follows.
#[derive(Debug, Default)]
pub(in crate::llm::parser) struct Echo {
    pub(in crate::llm::parser) held: String,
    /// The form of the calls, and the bytes before them.
    call: (usize, usize),
    depth: u32,
    quote: Option<char>,
    is_escaped: bool,
    /// The place behind the list.
    end: Option<usize>,
}

impl Echo {
    /// Takes the next character. Returns `true` for an echo, `false` for calls, once that is known.
    fn push(&mut self, next: char, dialect: &Compiled) -> Option<bool> {
        self.held.push(next);
        if self.held.len() >= MAX_HELD_BYTES {
            return Some(false);
        }
        let Some(end) = self.end else {
            self.step(next);
            return None;
        };
        let rest = slice(&self.held, end..).trim_ascii_start();
        if rest.is_empty() {
            return None;
        }
        match dialect.text.check_below(usize::MAX, rest.as_bytes(), Ahead::More) {
            (Found::Yes(_), which) => Some(dialect.role(which) == Role::CallCloser),
            (Found::Maybe, _) => None,
            (Found::No | Found::Mention(_), _) => Some(false),
        }
    }

    fn step(&mut self, next: char) {
        match (self.quote, next) {
            (Some(_), _) if self.is_escaped => self.is_escaped = false,
            (Some(_), '\\') => self.is_escaped = true,
            (Some(quote), _) if quote == next => self.quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => self.quote = Some(next),
            (None, '[' | '(' | '{') => self.depth += 1,
            (None, ']' | ')' | '}') => {
                self.depth = self.depth.saturating_sub(1);
                self.end = (self.depth == 0).then_some(self.held.len());
            }
            (None, _) => {}
        }
    }
}

impl ToolCallParser {
    /// Returns `true` for the form of Python calls without a marker.
    pub(super) fn is_python(&self, form: usize) -> bool {
        self.dialect.compiled().bare.contains(&(Bare::Python, form))
    }

    /// Holds the calls that have begun without a marker, directly behind marked ones.
    pub(super) fn hold_echo(&mut self, started: &Started) {
        let Some(call) = started.call else { return };
        self.start = Start::Echo(Box::new(Echo { call, ..Echo::default() }));
        self.pending.insert_str(0, &started.text);
    }

    /// Takes text of what may be an echo.
    pub(super) fn look_at_echo(&mut self, text: &str, at: &mut usize, out: &mut Emit<'_>) {
        for next in slice(text, *at..).chars() {
            *at += next.len_utf8();
            let Start::Echo(echo) = &mut self.start else { return };
            let Some(is_echo) = echo.push(next, self.dialect.compiled()) else { continue };
            if is_echo {
                out(ParsedContent::Marker(&echo.held));
                return self.begin_section(true);
            }
            return self.call_echo(*at, out);
        }
    }

    /// Calls what was held: no closer follows it.
    pub(super) fn call_echo(&mut self, at: usize, out: &mut Emit<'_>) {
        let Start::Echo(echo) = &mut self.start else { return };
        let Echo { held, call, .. } = std::mem::take(&mut **echo);
        self.start = Start::Past;
        self.begin_unmarked(&held, call, self.taken + at as u64, out);
    }
}
