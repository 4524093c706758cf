//! A whole answer from a stream of chunks, without looking for calls in its text.

use std::pin::pin;

use futures_core::Stream;
use futures_util::StreamExt as _;

use super::{ProviderError, StreamChunk};
use crate::types::Completion;

/// Joins the chunks of one response.
///
/// # Errors
///
/// The error that the stream ends with; what had arrived is dropped.
pub async fn collect(
    stream: impl Stream<Item = Result<StreamChunk, ProviderError>>,
) -> Result<Completion, ProviderError> {
    let mut stream = pin!(stream);
    let mut completion = Completion::default();
    while let Some(chunk) = stream.next().await {
        let chunk = chunk?;
        completion.text.push_str(&chunk.content);
    }
    Ok(completion)
}
