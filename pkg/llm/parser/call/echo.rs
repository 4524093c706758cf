//! Calls without a marker whose meaning depends on the text that follows: lists that a model repeats, and lines.

use crate::{
    ahead::found::{MarkerMatch, TextAhead},
    builder::role::MarkerRole,
    compiled::tools::CompiledTools,
};
use forgeline_json::slice;

/// Maximum length of a list that is held, in bytes; a longer one is treated as calls.
const MAX_HELD_BYTES: usize = 64 << 10;

/// The meaning of the held calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HeldCalls {
    /// More text decides.
    Unknown,
    /// A repetition.
    Echo,
    Calls,
    Text,
}

/// A list of calls directly after a marked one, held until it is known whether the closer of such a
/// call follows; or one call, until it is known whether text of its line follows.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "facts that have nothing in common")]
pub(crate) struct CallEcho {
    pub(crate) held: String,
    /// The form of the calls, and the number of bytes before them.
    pub(crate) call: (usize, usize),
    is_line: bool,
    depth: u32,
    quote: Option<char>,
    is_escaped: bool,
    /// The offset after the list.
    end: Option<usize>,
}

impl CallEcho {
    /// Creates an echo for calls of this form, with this number of bytes before them.
    pub(crate) fn new(call: (usize, usize), is_line: bool) -> Self {
        Self { call, is_line, ..Self::default() }
    }

    /// Adds the next character.
    pub(crate) fn push(&mut self, next: char, dialect: &CompiledTools) -> HeldCalls {
        self.held.push(next);
        if self.held.len() >= MAX_HELD_BYTES {
            return HeldCalls::Calls;
        }
        let Some(end) = self.end else {
            self.step(next);
            return HeldCalls::Unknown;
        };
        if self.is_line && next == '\n' {
            return HeldCalls::Calls;
        }
        let rest = slice(&self.held, end..).trim_ascii_start();
        if rest.is_empty() {
            return HeldCalls::Unknown;
        }
        match dialect.text.check_below(usize::MAX, rest.as_bytes(), TextAhead::More) {
            (MarkerMatch::Yes(_), which)
                if !self.is_line && dialect.role(which) == MarkerRole::CallCloser =>
            {
                HeldCalls::Echo
            }
            (MarkerMatch::Yes(_), _) => HeldCalls::Calls,
            (MarkerMatch::Maybe, _) => HeldCalls::Unknown,
            (MarkerMatch::No | MarkerMatch::Mention(_), _) if self.is_line => HeldCalls::Text,
            (MarkerMatch::No | MarkerMatch::Mention(_), _) => HeldCalls::Calls,
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
