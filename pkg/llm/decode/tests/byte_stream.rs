//! Any stream of bytes becomes chunks.

use std::{
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
};

use bytes::Bytes;
use futures_core::Stream;
use futures_util::{FutureExt as _, StreamExt as _, stream};

use super::{ended, read, said};
use crate::{Protocol, ProviderError, StreamChunk, decode};

/// Everything that is ready.
fn ready(
    bytes: impl Stream<Item = io::Result<Bytes>> + Send + 'static,
    protocol: Protocol,
) -> (Vec<StreamChunk>, Option<ProviderError>) {
    let items = decode(bytes, protocol.decoder()).collect::<Vec<_>>();
    let mut items = items.now_or_never().expect("nothing is waited for");
    let error = items.pop_if(|item| item.is_err()).and_then(Result::err);
    (items.into_iter().map(Result::unwrap).collect(), error)
}

#[test]
fn the_chunks_of_every_cut_are_those_of_the_decoder() {
    for &protocol in Protocol::ALL {
        let body = format!("{}{}{}", said(protocol, "Hé"), said(protocol, "llo"), ended(protocol));
        let want = read(protocol, &body).0;
        for at in 0..=body.len() {
            let (one, two) = body.as_bytes().split_at(at);
            let pieces = [one, two].map(|piece| Ok(Bytes::copy_from_slice(piece)));
            let (chunks, error) = ready(stream::iter(pieces), protocol);
            assert!(error.is_none(), "{protocol} cut at {at}: {error:?}");
            assert_eq!(chunks, want, "{protocol} cut at {at}");
        }
    }
}

#[test]
fn how_a_body_breaks_off_is_the_last_item() {
    let protocol = Protocol::OpenAiChat;
    let hi = said(protocol, "Hi");
    let (length, bytes) = (hi.len() as u64, Bytes::from(hi));
    let broken = || io::Error::other("reset");
    let (chunks, error) = ready(stream::iter([Ok(bytes.clone()), Err(broken())]), protocol);
    assert_eq!(chunks.len(), 1);
    let Some(ProviderError::Body { received, source }) = error else { panic!("{error:?}") };
    assert_eq!((received, source.to_string()), (length, "reset".to_owned()));
    let (_, error) = ready(stream::iter([Ok(bytes.clone())]), protocol);
    assert!(matches!(error, Some(ProviderError::EndedEarly { received }) if received == length));
    let (_, error) = ready(stream::iter([Ok(bytes), Ok("data: oops\n\n".into())]), protocol);
    assert!(matches!(error, Some(ProviderError::Decode { offset, .. }) if offset == length));
    let reported = Bytes::from("data: {\"error\":{\"message\":\"x\"}}\n\n");
    let (_, error) = ready(stream::iter([Ok(reported), Err(broken())]), protocol);
    assert!(matches!(error, Some(ProviderError::InStream { .. })), "{error:?}");
}

/// Bytes that never end, and that note when they are dropped.
struct Endless(Option<Bytes>, Arc<AtomicBool>);

impl Stream for Endless {
    type Item = io::Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.take().map_or(Poll::Pending, |bytes| Poll::Ready(Some(Ok(bytes))))
    }
}

impl Drop for Endless {
    fn drop(&mut self) {
        self.1.store(true, Ordering::Relaxed);
    }
}

#[test]
fn the_source_is_dropped_at_the_end_of_the_answer_and_with_the_stream() {
    let protocol = Protocol::OpenAiChat;
    let dropped = Arc::new(AtomicBool::new(false));
    let body = said(protocol, "Hi") + "data: [DONE]\n\n";
    let source = Endless(Some(Bytes::from(body)), Arc::clone(&dropped));
    let (chunks, error) = ready(source, protocol);
    assert!(error.is_none() && chunks.last().is_some_and(StreamChunk::is_last), "{error:?}");
    assert!(dropped.load(Ordering::Relaxed));
    let dropped = Arc::new(AtomicBool::new(false));
    let source = Endless(Some(Bytes::from(said(protocol, "Hi"))), Arc::clone(&dropped));
    let mut chunks = decode(source, protocol.decoder());
    assert!(chunks.next().now_or_never().flatten().is_some_and(|item| item.is_ok()));
    assert!(chunks.next().now_or_never().is_none(), "it waits for more");
    assert!(!dropped.load(Ordering::Relaxed));
    drop(chunks);
    assert!(dropped.load(Ordering::Relaxed));
}
