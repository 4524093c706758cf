//! Lists of calls that a model repeats without their opener.

use crate::{
    ahead::found::{MarkerMatch, TextAhead},
    builder::role::MarkerRole,
    compiled::tools::CompiledTools,
};
use forgeline_json::slice;

/// Maximum length of a list that is held, in bytes; a longer one is treated as calls.
const MAX_HELD_BYTES: usize = 64 << 10;

/// A list of calls directly after a marked one, held until it is known whether the closer of such a
/// call follows.
#[derive(Debug, Default)]
pub(crate) struct CallEcho {
    pub(crate) held: String,
    /// The form of the calls, and the number of bytes before them.
    pub(crate) call: (usize, usize),
    depth: u32,
    quote: Option<char>,
    is_escaped: bool,
    /// The offset after the list.
    end: Option<usize>,
}

impl CallEcho {
    /// Creates an echo for calls of this form, with this number of bytes before them.
    pub(crate) fn new(call: (usize, usize)) -> Self {
        Self { call, ..Self::default() }
    }

    /// Adds the next character. Returns `true` for an echo, `false` for calls, once this is known.
    pub(crate) fn push(&mut self, next: char, dialect: &CompiledTools) -> Option<bool> {
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
        match dialect.text.check_below(usize::MAX, rest.as_bytes(), TextAhead::More) {
            (MarkerMatch::Yes(_), which) => Some(dialect.role(which) == MarkerRole::CallCloser),
            (MarkerMatch::Maybe, _) => None,
            (MarkerMatch::No | MarkerMatch::Mention(_), _) => Some(false),
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
