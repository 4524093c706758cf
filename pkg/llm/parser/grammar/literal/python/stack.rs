//! The open brackets of a call.

/// Deepest nesting, the parentheses of the call included.
const MAX_DEPTH: usize = 128;

/// An open bracket, by its content.
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

/// The open brackets of a call, inside the one around its arguments.
#[derive(Debug, Clone)]
pub(super) struct Stack {
    brackets: [Bracket; MAX_DEPTH - 1],
    depth: usize,
}

impl Stack {
    pub(super) const fn new() -> Self {
        Self { brackets: [Bracket::Call; MAX_DEPTH - 1], depth: 0 }
    }

    /// Forgets all brackets.
    pub(super) fn clear(&mut self) {
        self.depth = 0;
    }

    /// Returns the innermost bracket.
    pub(super) fn top(&self) -> Bracket {
        let top = self.depth.checked_sub(1).and_then(|at| self.brackets.get(at));
        top.copied().unwrap_or(Bracket::Call)
    }

    /// Opens a bracket; returns `false` when it has no room.
    pub(super) fn push(&mut self, bracket: Bracket) -> bool {
        let Some(place) = self.brackets.get_mut(self.depth) else { return false };
        *place = bracket;
        self.depth += 1;
        true
    }

    /// Closes the innermost bracket.
    pub(super) fn pop(&mut self) {
        self.depth = self.depth.saturating_sub(1);
    }

    /// Replaces the innermost bracket.
    pub(super) fn set_top(&mut self, bracket: Bracket) {
        self.pop();
        self.push(bracket);
    }
}
