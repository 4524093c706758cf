//! The body of a OpenAI Responses response becomes chunks.

use crate::llm::{
    Progress, ProviderError, StreamChunk,
    event_body::{EventReader, event_decoder},
    sse::SseEvent,
};

event_decoder! {
    /// Decodes the body of a OpenAI Responses response.
    ResponsesDecoder, Reader
}

#[derive(Debug, Default)]
struct Reader;

impl EventReader for Reader {
    fn event(
        &mut self,
        _event: &SseEvent<'_>,
        _emit: &mut dyn FnMut(StreamChunk),
    ) -> Result<(), ProviderError> {
        Ok(())
    }

    fn whole(&mut self, _text: &str, _emit: &mut dyn FnMut(StreamChunk)) -> Result<(), ()> {
        Err(())
    }

    fn take_error(&mut self) -> Option<ProviderError> {
        None
    }

    fn progress(&self) -> Progress {
        Progress::Open
    }
}
