//! What a caller that sees token ids knows of a piece of text.

/// Where the bytes of a piece of text come from, for callers that have the model's token ids.
///
/// Models write their markers as special tokens; the same characters in ordinary tokens are only
/// spelled out. Once a caller says which is which, a marker counts only where its first byte came
/// from a special token, and there it counts always: inside a string or a code span too.
///
/// # Examples
///
/// ```
/// use forgeline::llm::parser::{ParsedContent, TokenKind, ToolCallParser, ToolDialect};
///
/// let mut parser = ToolCallParser::new(&ToolDialect::AUTO);
/// let mut text = String::new();
/// parser.parse_token("<tool_call>", TokenKind::Ordinary, &mut |content| {
///     if let ParsedContent::Text(piece) = content {
///         text.push_str(piece);
///     }
/// });
/// assert_eq!(text, "<tool_call>");
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TokenKind {
    /// Not known: markers are told by their spelling and place.
    #[default]
    Unknown,
    /// A special token, or several.
    Special,
    /// Ordinary tokens.
    Ordinary,
}

impl TokenKind {
    /// Whether a marker may begin here.
    pub(super) const fn counts(self) -> bool {
        !matches!(self, Self::Ordinary)
    }
}
