//! The brackets that are open.

/// Deepest nesting, the parentheses of the call included.
const MAX_DEPTH: u32 = 128;

/// What a bracket holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bracket {
    /// `(` behind a name: arguments.
    Call,
    List,
    Dict,
    /// A tuple, which has a comma or nothing at all.
    Tuple,
    /// `(` and perhaps one value, without a comma so far.
    Parenthesis,
}

/// The open brackets of a call: two bits for each inside the first.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Stack {
    high: u128,
    low: u128,
    depth: u32,
}

impl Stack {
    /// The innermost bracket.
    pub(super) fn top(&self) -> Bracket {
        match (self.depth, self.high & 1, self.low & 1) {
            (0 | 1, ..) => Bracket::Call,
            (_, 0, 0) => Bracket::List,
            (_, 0, _) => Bracket::Dict,
            (_, _, 0) => Bracket::Tuple,
            _ => Bracket::Parenthesis,
        }
    }

    /// Opens a bracket; whether there was room.
    pub(super) fn push(&mut self, bracket: Bracket) -> bool {
        if self.depth == MAX_DEPTH {
            return false;
        }
        self.depth += 1;
        self.high <<= 1;
        self.low <<= 1;
        self.set_top(bracket);
        true
    }

    /// Closes the innermost bracket.
    pub(super) fn pop(&mut self) {
        self.depth = self.depth.saturating_sub(1);
        self.high >>= 1;
        self.low >>= 1;
    }

    /// Makes another of the innermost bracket.
    pub(super) fn set_top(&mut self, bracket: Bracket) {
        let (high, low) = match bracket {
            Bracket::Call | Bracket::List => (0, 0),
            Bracket::Dict => (0, 1),
            Bracket::Tuple => (1, 0),
            Bracket::Parenthesis => (1, 1),
        };
        self.high = self.high & !1 | high;
        self.low = self.low & !1 | low;
    }
}
