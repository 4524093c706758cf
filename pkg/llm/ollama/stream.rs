//! The body of an Ollama response becomes chunks.

use crate::llm::{BodyDecoder, Progress, ProviderError, StreamChunk};

/// Decodes the body of an Ollama response, of `/api/chat` and of `/api/generate`.
#[derive(Debug, Default)]
pub struct OllamaDecoder;

impl BodyDecoder for OllamaDecoder {
    fn push(
        &mut self,
        _bytes: &[u8],
        _emit: &mut dyn FnMut(StreamChunk),
    ) -> Result<(), ProviderError> {
        Ok(())
    }

    fn finish(&mut self, _emit: &mut dyn FnMut(StreamChunk)) -> Result<(), ProviderError> {
        Ok(())
    }

    fn progress(&self) -> Progress {
        Progress::Open
    }
}
