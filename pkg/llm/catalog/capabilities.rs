//! The capabilities that a model is known to have or lack.

use forgeline_types::Capabilities;

/// The capabilities that a model is known to have or lack: `Some(false)` is known to be missing,
/// `None` is unknown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct KnownCapabilities {
    /// Native function calling.
    pub tools: Option<bool>,
    /// Several native calls in one response.
    pub parallel_tools: Option<bool>,
    /// Images as input.
    pub vision: Option<bool>,
    /// Documents as input.
    pub documents: Option<bool>,
    /// Prompt caching that the request can control.
    pub prompt_caching: Option<bool>,
    /// Answers constrained to JSON or to a schema.
    pub structured_output: Option<bool>,
    /// Reasoning separate from the answer.
    pub thinking: Option<bool>,
}

impl KnownCapabilities {
    /// Returns the capabilities of the model over `protocol`: a capability of the protocol is removed
    /// only if the model is known to lack it, and none is added.
    #[must_use]
    pub fn narrow(self, protocol: Capabilities) -> Capabilities {
        let keeps = |carried: bool, known: Option<bool>| carried && known != Some(false);
        protocol
            .tools(keeps(protocol.tools, self.tools))
            .parallel_tools(keeps(protocol.parallel_tools, self.parallel_tools))
            .vision(keeps(protocol.vision, self.vision))
            .documents(keeps(protocol.documents, self.documents))
            .prompt_caching(keeps(protocol.prompt_caching, self.prompt_caching))
            .structured_output(keeps(protocol.structured_output, self.structured_output))
            .thinking(keeps(protocol.thinking, self.thinking))
    }

    /// Parses seven letters, such as `TPV-?SR`.
    pub(super) fn parse(letters: &str) -> Option<Self> {
        let mut letters = letters.chars();
        let mut next = |letter: char| match letters.next()? {
            '?' => Some(None),
            '-' => Some(Some(false)),
            found => (found == letter).then_some(Some(true)),
        };
        let known = Self {
            tools: next('T')?,
            parallel_tools: next('P')?,
            vision: next('V')?,
            documents: next('D')?,
            prompt_caching: next('C')?,
            structured_output: next('S')?,
            thinking: next('R')?,
        };
        letters.next().is_none().then_some(known)
    }
}
