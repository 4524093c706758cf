//! The forms in which results of calls written as text go back.

/// The form of results in the user message that follows the calls.
///
/// Markers that can stand inside a message are the family's own. Where a family has none, because a
/// result is a turn of its own that only the server's prompt template can write, results go back in
/// Forge's form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ResultForm {
    pub(crate) before: &'static str,
    /// One result: `{name}` of the tool, `{id}` of the call, `{content}`, `{json}` (the content when
    /// it is JSON, else as a JSON string), `{outcome}` (`ok` or `error`), `{is_error}` (`true` or
    /// `null`); other braces are text.
    pub(crate) each: &'static str,
    pub(crate) between: &'static str,
    pub(crate) after: &'static str,
}

impl ResultForm {
    /// Forge's own.
    pub(crate) const FORGE: Self = Self::new(
        "<tool_result name=\"{name}\" outcome=\"{outcome}\">\n{content}\n</tool_result>",
        "\n\n",
    )
    .within("Results of the tool calls:\n\n", "");

    /// The form of Qwen's templates, which many others took over.
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
