//! The open brackets of Python literals.

/// An open bracket, by its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OpenBracket {
    /// `(` after a name: arguments.
    Call,
    List,
    Dict,
    Set,
    /// A tuple, which contains a comma or nothing at all.
    Tuple,
    /// `(`, possibly with one value, without a comma so far.
    Parenthesis,
}
