//! The kind of the tokens in a piece of text, for callers with token ids.

use serde::{Deserialize, Serialize};

use crate::ahead::found::TextAhead;

/// The kind of tokens that a piece of text comes from, for callers that have the model's token ids.
///
/// Models write their markers as special tokens; the same characters in ordinary tokens only spell
/// them out. Once a caller provides the kind, a marker counts only if its first byte comes
/// from a special token, and then always: even inside a string or a code span.
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
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum TokenKind {
    /// Unknown: markers are recognized by their spelling and place.
    #[default]
    Unknown,
    /// One or more special tokens.
    Special,
    /// Ordinary tokens.
    Ordinary,
}

impl TokenKind {
    /// Returns what may follow a marker in such text; `is_last` if the text is the last.
    pub(crate) const fn ahead(self, is_last: bool) -> TextAhead {
        match self {
            Self::Special if !is_last => TextAhead::Any,
            Self::Special | Self::Unknown | Self::Ordinary => TextAhead::at_end(is_last),
        }
    }

    /// Returns `true` if a marker may begin here.
    pub(crate) const fn counts(self) -> bool {
        !matches!(self, Self::Ordinary)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ParsedContent, ToolCallParser, ToolDialect};

    #[test]
    fn where_the_tokens_are_known_they_settle_what_a_marker_is() {
        const CALL: &str = "{\"name\":\"f\",\"arguments\":{\"x\":\"";
        use TokenKind::{Ordinary, Special, Unknown};
        #[rustfmt::skip]
        let cases: [(&[(&str, TokenKind)], usize); 6] = [
            (&[("<tool_call>", Unknown),   (CALL, Unknown),  ("</tool_call>", Unknown),  ("\"}}</tool_call>", Unknown)], 1),
            (&[("<tool_call>", Ordinary),  (CALL, Ordinary), ("\"}}</tool_call>", Ordinary)],  0),
            (&[("<tool_call>", Special),   (CALL, Ordinary), ("</tool_call>", Ordinary), ("\"}}", Ordinary), ("</tool_call>", Special)], 1),
            (&[("`", Ordinary), ("<tool_call>", Special), (CALL, Ordinary), ("\"}}", Ordinary), ("</tool_call>", Special)], 1),
            (&[("`", Unknown), ("<tool_call>", Unknown), (CALL, Unknown), ("\"}}", Unknown), ("</tool_call>`", Unknown)], 0),
            // The first byte decides.
            (&[("<", Ordinary), ("tool_call>", Special), (CALL, Ordinary), ("\"}}", Ordinary), ("</tool_call>", Special)], 0),
        ];
        for (pieces, want) in cases {
            let mut parser = ToolCallParser::new(&ToolDialect::AUTO);
            let mut calls = 0;
            let out = &mut |content: ParsedContent<'_>| {
                calls += usize::from(matches!(content, ParsedContent::CallStart));
            };
            for (text, kind) in pieces {
                match kind {
                    Unknown => parser.parse(text, out),
                    Special | Ordinary => parser.parse_token(text, *kind, out),
                }
            }
            parser.flush(true, out);
            assert_eq!(calls, want, "{pieces:?}");
        }
    }
}
