//! The settings of a parser, and its state.

use super::ToolCallParser;
use crate::{
    ahead::found::{MarkerMatch, TextAhead},
    builder::{WrapperContent, role::MarkerRole},
    dialects::dialect::ToolDialect,
    grammar::{KnownTools, ToolSchemas},
};

impl ToolCallParser {
    /// Sets the names and JSON schemas of the known tools, which determine the types of arguments written as XML.
    #[must_use]
    pub fn schemas(mut self, schemas: ToolSchemas) -> Self {
        self.tools = schemas.into();
        self
    }

    /// Sets the maximum length of the body of one call, in bytes. Default: 4 MiB. A longer call ends malformed and
    /// the parser processes nothing more; see [`over_limit_at`](Self::over_limit_at).
    #[must_use]
    pub fn max_call_bytes(mut self, bytes: usize) -> Self {
        self.max_call_bytes = bytes;
        self
    }

    /// Sets whether a call without a marker must name a known tool, if any are known. Default: no.
    #[must_use]
    #[doc(hidden)]
    pub fn bare_of_known(mut self, only: bool) -> Self {
        self.bare_of_known = only;
        self
    }

    /// Sets whether calls in Markdown code are calls. Default: no, a marker there is text.
    #[must_use]
    pub fn calls_in_code(mut self, are_calls: bool) -> Self {
        self.calls_in_code = are_calls;
        self
    }

    /// Creates a parser that only finds where calls begin and end: they may have any length, and their
    /// arguments are not emitted.
    #[must_use]
    pub(crate) fn finding_ends(dialect: &ToolDialect) -> Self {
        Self::with_tools(dialect, KnownTools::to_find_ends(), usize::MAX >> 1)
    }

    /// Returns the dialect of the calls.
    pub(crate) fn dialect(&self) -> &ToolDialect {
        &self.dialect
    }

    /// Resets the parser to its initial state, with the same settings.
    pub fn reset(&mut self) {
        *self = self.fresh();
    }

    /// Returns a new parser with the same settings.
    #[must_use]
    pub fn fresh(&self) -> Self {
        let Self { dialect, tools, max_call_bytes, calls_in_code, .. } = self;
        let mut fresh = Self::with_tools(dialect, tools.clone(), *max_call_bytes);
        fresh.calls_in_code = *calls_in_code;
        fresh
    }

    /// Sets whether the following text is for a person, up to the end of its section: text in it that looks
    /// like a call is text.
    #[doc(hidden)]
    pub fn set_prose(&mut self, is_prose: bool) {
        self.is_in_prose = is_prose;
    }

    /// Returns `true` if the other parser's marker that was found last begins prose for this
    /// one.
    pub(crate) fn found_begins_prose(&self) -> bool {
        let compiled = self.dialect.compiled();
        let found = compiled.text.check_below(
            compiled.openers,
            self.found().as_bytes(),
            TextAhead::Nothing,
        );
        let (MarkerMatch::Yes(_), which) = found else { return false };
        compiled.role(which) == MarkerRole::WrapperOpener(WrapperContent::Prose)
    }

    /// Returns `true` if there was no text since the last call.
    pub(crate) fn is_behind_call(&self) -> bool {
        self.is_behind_call
    }

    /// Returns `true` while a call is open.
    #[must_use]
    pub fn is_in_call(&self) -> bool {
        self.region.is_some()
    }

    /// Returns the number of openers hidden by a code span or fence.
    #[must_use]
    pub fn hidden_calls(&self) -> u32 {
        self.hidden_calls
    }

    /// Returns the position at which the call that exceeded [`max_call_bytes`](Self::max_call_bytes)
    /// began, in bytes of text from the start of the stream.
    #[must_use]
    pub fn over_limit_at(&self) -> Option<u64> {
        self.is_over_limit.then_some(self.call_offset)
    }
}
