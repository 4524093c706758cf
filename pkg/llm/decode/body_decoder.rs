//! The interface of a body decoder.

use crate::{ProviderError, StreamChunk};

/// A decoder of the body of one response, received in pieces of any size, into chunks. Pure: no I/O, no clock.
///
/// Every protocol has a decoder, such as [`OpenAiDecoder`](crate::openai::OpenAiDecoder);
/// [`decode`](fn@crate::decode) drives one over a stream of bytes.
///
/// # Examples
///
/// ```
/// use forgeline::llm::{BodyDecoder, Protocol};
///
/// let mut decoder = Protocol::Ollama.decoder();
/// let mut text = String::new();
/// for piece in ["{\"message\":{\"con", "tent\":\"Hi\"},\"done\":true}\n"] {
///     decoder.push(piece.as_bytes(), &mut |chunk| text.push_str(&chunk.content))?;
/// }
/// decoder.finish(&mut |_| {})?;
/// assert_eq!(text, "Hi");
/// # Ok::<(), forgeline::llm::ProviderError>(())
/// ```
pub trait BodyDecoder: Send {
    /// Decodes the next bytes and emits the chunks completed by them.
    ///
    /// # Errors
    ///
    /// Returns an error if the body cannot be decoded; nothing more can be read then.
    fn push(
        &mut self,
        bytes: &[u8],
        emit: &mut dyn FnMut(StreamChunk),
    ) -> Result<(), ProviderError>;

    /// Ends the body.
    ///
    /// # Errors
    ///
    /// Returns the error that the server reported in the stream, or [`ProviderError::EndedEarly`]
    /// if the protocol's terminal marker is missing.
    fn finish(&mut self, emit: &mut dyn FnMut(StreamChunk)) -> Result<(), ProviderError>;

    /// Returns the progress of the response.
    fn progress(&self) -> Progress;
}

impl<D: BodyDecoder + ?Sized> BodyDecoder for Box<D> {
    fn push(
        &mut self,
        bytes: &[u8],
        emit: &mut dyn FnMut(StreamChunk),
    ) -> Result<(), ProviderError> {
        (**self).push(bytes, emit)
    }

    fn finish(&mut self, emit: &mut dyn FnMut(StreamChunk)) -> Result<(), ProviderError> {
        (**self).finish(emit)
    }

    fn progress(&self) -> Progress {
        (**self).progress()
    }
}

/// The progress of a response.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Progress {
    /// The answer is being written.
    #[default]
    Open,
    /// The server has reported an error, which [`BodyDecoder::finish`] returns.
    Failed,
    /// The answer is complete; only metadata such as its usage may follow.
    Complete,
    /// Nothing that follows matters.
    Done,
}
