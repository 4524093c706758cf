//! Extraction of reasoning, text and calls from a response in one pass.

#[cfg(test)]
mod tests;

use super::{thinking::ThinkingParser, toolcall::ToolCallParser};
use crate::content::{parsed::ResponsePiece, token::TokenKind};

/// A parser that separates a response into reasoning, text and tool calls, while it arrives in pieces of any size.
///
/// The output is the same as that of a [`ToolCallParser`] that reads the answer of a [`ThinkingParser`], but the text
/// is read only once: both parsers must find the ends of calls, and here the first uses those found by the second.
/// One case is handled better: the opener of a block of calls directly before reasoning is framing.
///
/// # Examples
///
/// ```
/// use forgeline::llm::parser::{
///     ParsedContent, ResponseParser, ResponsePiece, ThinkingDialect, ThinkingParser, ToolCallParser,
///     ToolDialect,
/// };
///
/// let (thinking, tools) = (ThinkingDialect::AUTO, ToolDialect::AUTO);
/// let mut parser =
///     ResponseParser::new(ThinkingParser::new(&thinking, &tools), ToolCallParser::new(&tools));
/// let (mut reasoning, mut text, mut calls) = (String::new(), String::new(), Vec::new());
/// let out = &mut |piece: ResponsePiece<'_>| match piece {
///     ResponsePiece::Thinking(piece) => reasoning.push_str(piece),
///     ResponsePiece::Answer(ParsedContent::Text(piece)) => text.push_str(piece),
///     ResponsePiece::Answer(ParsedContent::CallName(name)) => calls.push(name.to_owned()),
///     _ => {}
/// };
/// for piece in ["<think>a cl", "ock</think>Now: <tool_c", "all>{\"name\":\"clock\"}</tool_call>"] {
///     parser.parse(piece, out);
/// }
/// parser.flush(true, out);
/// assert_eq!((reasoning.as_str(), text.as_str()), ("a clock", "Now: "));
/// assert_eq!(calls, ["clock"]);
/// ```
#[derive(Debug)]
pub struct ResponseParser {
    /// The parser of the reasoning, which contains the parser of the calls.
    thinking: ThinkingParser,
}

impl ResponseParser {
    /// Creates a parser from two unused ones; calls are read as by `calls`, in its dialect.
    #[must_use]
    pub fn new(mut thinking: ThinkingParser, calls: ToolCallParser) -> Self {
        thinking.set_calls(calls);
        Self { thinking }
    }

    /// Parses the next piece of text and emits its content.
    #[inline]
    pub fn parse(&mut self, text: &str, out: &mut impl FnMut(ResponsePiece<'_>)) {
        self.thinking.take_text(text, out);
    }

    /// Parses the next piece of text, for which the caller knows the kind of tokens, see
    /// [`ThinkingParser::parse_token`].
    pub fn parse_token(
        &mut self,
        text: &str,
        token: TokenKind,
        out: &mut impl FnMut(ResponsePiece<'_>),
    ) {
        self.thinking.take_token(text, token, out);
    }

    /// Ends a stretch of text without ending the stream: something else follows, such as a call in a field
    /// of its own.
    pub fn end_section(&mut self, out: &mut impl FnMut(ResponsePiece<'_>)) {
        self.thinking.take_end_of_section(out);
    }

    /// Ends the stream and emits the text that was held back. A call that is still open is incomplete;
    /// with `may_close_calls`, one whose payload is complete counts as complete, see [`ToolCallParser::flush`].
    pub fn flush(&mut self, may_close_calls: bool, out: &mut impl FnMut(ResponsePiece<'_>)) {
        self.thinking.take_end(may_close_calls, out);
    }

    /// Returns the parser of the reasoning.
    #[must_use]
    pub fn thinking(&self) -> &ThinkingParser {
        &self.thinking
    }

    /// Returns the parser of the calls.
    #[must_use]
    pub fn calls(&self) -> &ToolCallParser {
        self.thinking.calls()
    }
}
