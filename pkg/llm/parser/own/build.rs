//! Building a dialect from its description.

use crate::{
    builder::{DialectError, ThinkingDialectBuilder, ToolDialectBuilder},
    content::parsed::{ParseOutcome, ParsedContent},
    dialects::dialect::{ThinkingDialect, ToolDialect},
    toolcall::ToolCallParser,
};

impl ToolDialect {
    /// Starts the description of a custom dialect.
    ///
    /// [`name`](Self::name) returns `name`; [`by_name`](Self::by_name) does not find the dialect. An agent in
    /// text mode sends results in Forge's form or, if `name` is that of a known dialect, in that
    /// dialect's.
    ///
    /// # Examples
    ///
    /// ```
    /// use forgeline::llm::parser::{
    ///     CallForm, ParsedContent, PayloadGrammar, ToolCallParser, ToolDialect,
    /// };
    ///
    /// let arguments = PayloadGrammar::name_then_json("=>");
    /// let dialect = ToolDialect::builder("at-signs")
    ///     .example(r#"@@run add => {"a":1}@@end"#)
    ///     .calls(&[CallForm::new("@@run ", "@@end", arguments)])
    ///     .build()?;
    ///
    /// let mut parser = ToolCallParser::new(&dialect);
    /// let (mut text, mut arguments) = (String::new(), String::new());
    /// for piece in ["Well. @", "@run clock => {\"zo", "ne\":\"UTC\"}@@", "end"] {
    ///     parser.parse(piece, &mut |content| match content {
    ///         ParsedContent::Text(part) => text.push_str(part),
    ///         ParsedContent::CallArguments(part) => arguments.push_str(part),
    ///         _ => {}
    ///     });
    /// }
    /// assert_eq!((text.as_str(), arguments.as_str()), ("Well. ", "{\"zone\":\"UTC\"}"));
    /// # Ok::<(), forgeline::llm::parser::DialectError>(())
    /// ```
    pub const fn builder<'a>(name: &'static str) -> ToolDialectBuilder<'a> {
        ToolDialectBuilder::new(name)
    }
}

impl ToolDialectBuilder<'_> {
    /// Checks the description and returns the dialect.
    ///
    /// # Errors
    ///
    /// [`DialectError`] if the markers cannot be distinguished or searched for, if a grammar lacks a
    /// part, or if there is no example or it is not read as complete calls.
    pub fn build(self) -> Result<ToolDialect, DialectError> {
        let dialect = self.describe()?;
        if has_calls(&dialect, self.example) { Ok(dialect) } else { Err(DialectError::Example) }
    }

    /// Returns the dialect without checking its example.
    pub(super) fn describe(self) -> Result<ToolDialect, DialectError> {
        self.check()?;
        Ok(ToolDialect::own(&self))
    }
}

impl ThinkingDialect {
    /// Starts the description of a custom dialect.
    ///
    /// [`name`](Self::name) returns `name`; [`by_name`](Self::by_name) does not find the dialect. If only
    /// the name of a tag differs, [`tags`](Self::tags) is shorter.
    ///
    /// # Examples
    ///
    /// ```
    /// use forgeline::llm::parser::{
    ///     Section, ThinkingDialect, ThinkingParser, ThinkingPiece, ToolDialect,
    /// };
    ///
    /// let dialect = ThinkingDialect::builder("notes")
    ///     .sections(&[Section::new("[[note]]", "[[/note]]")])
    ///     .framing(1, 1, 1)
    ///     .build()?;
    ///
    /// let mut parser = ThinkingParser::new(&dialect, &ToolDialect::NONE);
    /// let (mut thinking, mut message) = (String::new(), String::new());
    /// let out = &mut |piece: ThinkingPiece<'_>| match piece {
    ///     ThinkingPiece::Thinking(part) => thinking.push_str(part),
    ///     ThinkingPiece::Message(part) => message.push_str(part),
    ///     _ => {}
    /// };
    /// for piece in ["[[no", "te]]\nSix times", " seven.\n[[/note]]\nIt is 42."] {
    ///     parser.parse(piece, out);
    /// }
    /// parser.flush(out);
    /// assert_eq!((thinking.as_str(), message.as_str()), ("Six times seven.", "It is 42."));
    /// # Ok::<(), forgeline::llm::parser::DialectError>(())
    /// ```
    pub const fn builder<'a>(name: &'static str) -> ThinkingDialectBuilder<'a> {
        ThinkingDialectBuilder::new(name)
    }
}

impl ThinkingDialectBuilder<'_> {
    /// Checks the description and returns the dialect.
    ///
    /// # Errors
    ///
    /// [`DialectError`] if the markers cannot be distinguished or searched for.
    pub fn build(self) -> Result<ThinkingDialect, DialectError> {
        self.check()?;
        Ok(ThinkingDialect::own(&self))
    }
}

/// Returns `true` if `text` contains calls, all of them complete.
fn has_calls(dialect: &ToolDialect, text: &str) -> bool {
    let (mut calls, mut whole) = (0, 0);
    let mut parser = ToolCallParser::new(dialect);
    let out = &mut |content: ParsedContent<'_>| {
        if let ParsedContent::CallEnd { outcome, .. } = content {
            calls += 1;
            whole += usize::from(*outcome == ParseOutcome::Complete);
        }
    };
    parser.parse(text, out);
    parser.flush(true, out);
    calls > 0 && calls == whole
}
