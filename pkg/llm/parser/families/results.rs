//! The forms in which results of calls written as text are sent back.

/// The form of results in the user message that follows the calls.
///
/// Markers that can occur inside a message are the family's own. If a family has none, because a
/// result is a separate turn that only the server's prompt template can write, results are sent back in
/// Forge's form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResultForm {
    #[doc(hidden)]
    pub before: &'static str,
    /// One result: the tool's `{name}`, the call's `{id}`, `{content}`, `{json}` (the content if
    /// it is JSON, or else as a JSON string), `{outcome}` (`ok` or `error`), `{is_error}` (`true` or
    /// `null`); other braces are text.
    #[doc(hidden)]
    pub each: &'static str,
    #[doc(hidden)]
    pub between: &'static str,
    #[doc(hidden)]
    pub after: &'static str,
}

impl ResultForm {
    /// Forge's own form.
    #[doc(hidden)]
    pub const FORGE: Self = Self::new(
        "<tool_result name=\"{name}\" outcome=\"{outcome}\">\n{content}\n</tool_result>",
        "\n\n",
    )
    .within("Results of the tool calls:\n\n", "");

    /// The form of Qwen's templates, adopted by many others.
    pub(super) const TOOL_RESPONSE: Self =
        Self::new("<tool_response>\n{content}\n</tool_response>", "\n");

    /// Creates a form of results with this text between them.
    pub(super) const fn new(each: &'static str, between: &'static str) -> Self {
        Self { before: "", each, between, after: "" }
    }

    /// Sets the texts around all results.
    #[must_use]
    pub(super) const fn within(mut self, before: &'static str, after: &'static str) -> Self {
        (self.before, self.after) = (before, after);
        self
    }
}
