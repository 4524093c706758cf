//! Decoding of a stream of bytes into a stream of chunks.

use std::{
    error::Error as StdError,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use futures_core::Stream;
use pin_project::pin_project;

use super::{BodyDecoder, BodyDecoding, Progress};
use crate::{ChunkStream, ContentTyper, ProviderError, StreamChunk};
use forgeline_parser::{ThinkingDialect, ToolDialect};

/// Decodes a body from any source of bytes into the chunks of one response.
///
/// Neither an HTTP client nor a runtime of this crate is needed: the bytes may come from another client, a
/// file, a socket or a test. `decoder` is the decoder of the body's protocol, such as
/// [`OpenAiDecoder`](crate::openai::OpenAiDecoder), or
/// [`Protocol::decoder`](crate::Protocol::decoder) for a protocol known only at run time.
///
/// The chunks are the same as those of a [`Provider`](crate::Provider), with one exception: reasoning that
/// the model writes as tagged text, such as `<think>…</think>`, stays message text. A
/// [`ContentTyper`] separates it.
///
/// # Errors
///
/// The stream ends after its first error:
/// * [`ProviderError::Body`] if `bytes` yields an error, with the number of bytes before it,
/// * [`ProviderError::Decode`] if the body does not follow the decoder's protocol or exceeds one of its
///   limits,
/// * [`ProviderError::InStream`] if the server reported an error in the body,
/// * [`ProviderError::EndedEarly`] if the body ends before the answer is complete.
///
/// # Limits
///
/// Lines and events are bounded by the decoder's [`SseLimits`](crate::sse::SseLimits), by
/// default 8 MiB each. There is no limit on the whole body and no time limit: bound `bytes` if the
/// source is not trusted. At most the chunks of one item of `bytes` are buffered.
///
/// # Cancel safety
///
/// Dropping the stream drops `bytes` with it; dropping a future that waits for the next chunk loses
/// nothing. Once the protocol's end has been seen, `bytes` is dropped as soon as it has nothing ready.
///
/// # Examples
///
/// ```
/// use std::io;
///
/// use bytes::Bytes;
/// use forgeline::llm::{decode, openai::OpenAiDecoder};
/// use futures_util::{StreamExt as _, stream};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), forgeline::llm::ProviderError> {
/// let body = [
///     "data: {\"choices\":[{\"delta\":{\"content\":\"Hel",
///     "lo\"}}]}\n\ndata: [DONE]\n\n",
/// ];
/// let bytes = stream::iter(body).map(|piece| Ok::<_, io::Error>(Bytes::from(piece)));
/// let mut chunks = decode(bytes, OpenAiDecoder::default());
/// let mut text = String::new();
/// while let Some(chunk) = chunks.next().await {
///     text.push_str(&chunk?.content);
/// }
/// assert_eq!(text, "Hello");
/// # Ok(())
/// # }
/// ```
pub fn decode<E>(
    bytes: impl Stream<Item = Result<Bytes, E>> + Send + 'static,
    decoder: impl BodyDecoder + 'static,
) -> ChunkStream
where
    E: Into<Box<dyn StdError + Send + Sync>>,
{
    let typer = ContentTyper::new(&ThinkingDialect::NONE, &ToolDialect::NONE);
    let decoding = BodyDecoding::new(decoder, typer, usize::MAX);
    Box::pin(DecodedBytes { bytes: Some(bytes), decoding })
}

#[pin_project]
struct DecodedBytes<S, D> {
    #[pin]
    bytes: Option<S>,
    decoding: BodyDecoding<D>,
}

impl<S, D, E> Stream for DecodedBytes<S, D>
where
    S: Stream<Item = Result<Bytes, E>>,
    D: BodyDecoder,
    E: Into<Box<dyn StdError + Send + Sync>>,
{
    type Item = Result<StreamChunk, ProviderError>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut this = self.project();
        let decoding = this.decoding;
        loop {
            if let Some(item) = decoding.next() {
                return Poll::Ready(Some(item));
            }
            if decoding.is_over() {
                this.bytes.set(None);
            }
            let Some(bytes) = this.bytes.as_mut().as_pin_mut() else { return Poll::Ready(None) };
            match bytes.poll_next(context) {
                Poll::Ready(Some(Ok(bytes))) => decoding.push(&bytes),
                Poll::Ready(Some(Err(error))) => {
                    let received = decoding.received();
                    let source = error.into();
                    decoding.end(Some(ProviderError::Body { received, source }));
                }
                Poll::Ready(None) => decoding.end(None),
                Poll::Pending if decoding.progress() == Progress::Done => decoding.end(None),
                Poll::Pending => return Poll::Pending,
            }
        }
    }
}
