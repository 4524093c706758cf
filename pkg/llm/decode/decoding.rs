//! The state of decoding one body: bytes in, typed chunks and the end out. Pure: no I/O, no clock.

use std::collections::VecDeque;

use super::{BodyDecoder, Progress};
use crate::{ContentTyper, ProviderError, StreamChunk};
use forgeline_types::Text;

/// The chunks of one response, as far as its bytes have arrived.
#[derive(Debug)]
pub struct BodyDecoding<D> {
    decoder: D,
    typer: ContentTyper,
    /// The chunks of the last read; empty before the next one.
    queue: VecDeque<StreamChunk>,
    error: Option<ProviderError>,
    received: u64,
    max_bytes: u64,
    is_over: bool,
}

impl<D: BodyDecoder> BodyDecoding<D> {
    /// Decodes at most `max_bytes` of a body.
    #[doc(hidden)]
    pub fn new(decoder: D, typer: ContentTyper, max_bytes: usize) -> Self {
        Self {
            decoder,
            typer,
            queue: VecDeque::with_capacity(4),
            error: None,
            received: 0,
            max_bytes: u64::try_from(max_bytes).unwrap_or(u64::MAX),
            is_over: false,
        }
    }

    /// Returns the next chunk of the last read, and at the end of the body its error.
    pub(crate) fn next(&mut self) -> Option<Result<StreamChunk, ProviderError>> {
        self.queue.pop_front().map(Ok).or_else(|| self.error.take().map(Err))
    }

    /// Returns `true` if the last read produced chunks that have not been taken.
    pub fn has_chunks(&self) -> bool {
        !self.queue.is_empty()
    }

    /// Returns `true` if the chunks that have not been taken contain part of the answer.
    pub fn delivers(&self) -> bool {
        self.queue.iter().any(StreamChunk::is_delivery)
    }

    /// Returns `true` once the body has ended.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over
    }

    /// Returns the number of bytes read.
    pub(crate) fn received(&self) -> u64 {
        self.received
    }

    /// Returns the progress of the response.
    pub(crate) fn progress(&self) -> Progress {
        self.decoder.progress()
    }

    /// Decodes the next bytes.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.received += bytes.len() as u64;
        let Self { decoder, typer, queue, .. } = self;
        let result = decoder.push(bytes, &mut |chunk| {
            typer.push(chunk, &mut |chunk| queue.push_back(chunk));
        });
        if let Err(error) = result {
            self.end(Some(error));
        } else if self.received > self.max_bytes {
            self.end_by(ProviderError::Decode {
                offset: self.max_bytes,
                reason: Text::from("the response is longer than max_response_bytes"),
            });
        }
    }

    fn is_complete(&self) -> bool {
        matches!(self.progress(), Progress::Complete | Progress::Done)
    }

    /// Ends the body because a limit of the reader was exceeded: a complete answer stays complete.
    pub(crate) fn end_by(&mut self, error: ProviderError) {
        let error = Some(error).filter(|_| !self.is_complete());
        self.end(error);
    }

    /// Ends the body, normally or because of `error`; a complete answer ignores the error unless it is one of decoding.
    pub(crate) fn end(&mut self, error: Option<ProviderError>) {
        self.is_over = true;
        let is_complete = self.is_complete();
        let has_failed = self.progress() == Progress::Failed;
        let decodes = !matches!(error, Some(ProviderError::Decode { .. }));
        let Self { decoder, typer, queue, .. } = self;
        let mut emit = |chunk| typer.push(chunk, &mut |chunk| queue.push_back(chunk));
        let ended = if decodes || has_failed { decoder.finish(&mut emit).err() } else { None };
        typer.finish(&mut |chunk| queue.push_back(chunk));
        self.error = match error {
            // An error that the server reported is more useful than the way in which the body broke off after it.
            Some(error) if has_failed => ended.or(Some(error)),
            Some(_) if is_complete && decodes => ended,
            Some(error) => Some(error),
            None => ended,
        };
    }
}
