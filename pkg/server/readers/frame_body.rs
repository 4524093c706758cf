//! A body of frames produced on demand, without a task, a queue, or a timer per frame.

use std::{
    convert::Infallible,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::{Bytes, BytesMut};
use futures_core::Stream;
use futures_util::{FutureExt as _, StreamExt as _};
use http_body::{Body, Frame};
use tokio::time::{Instant, Sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::{frames::COMMENT, runs::cancel_wait::CancelWait};

/// Size of pending frames that are sent in one piece, in bytes; the last of them may exceed it.
const PIECE_BYTES: usize = 16 << 10;

/// Time without a frame taken after which a reader counts as stalled.
const STALLED: Duration = Duration::from_secs(5);

/// Time after which a comment keeps the connection alive.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Time after which a comment begins a response that has nothing else to send: some proxies pass the head on only with the first bytes of the body.
const OPENING: Duration = Duration::from_millis(250);

/// Maximum wait for a frame once the service ends.
const LAST_FRAME: Duration = Duration::from_millis(250);

/// A body of frames. Sends the available frames in one piece; a single frame is sent without a copy.
///
/// A connection takes the next piece as soon as it has room. A connection without room for [`STALLED`] gets one more full piece and the end: its reader
/// reconnects with the last number it saw. If less than a piece is available, the reader has caught up, and goes on. A connection that never has room again
/// is closed by the owner of the socket. Once the service ends, the body ends after the available frames.
pub(crate) struct FrameBody<S> {
    /// `None` after the end.
    frames: Option<S>,
    /// The time the last piece was taken; `None` while the connection has room and waits for the next.
    taken: Option<Instant>,
    /// The time the last frame or comment was sent; `None` before the first.
    spoke: Option<Instant>,
    /// Fires no later than the next comment is due, so that it is reset once per [`KEEP_ALIVE`]; once the service ends, fires at the end.
    comment: Pin<Box<Sleep>>,
    /// `None` once the service ends.
    ends: Option<CancelWait>,
}

impl<S: Stream<Item = Bytes> + Unpin> FrameBody<S> {
    /// Returns a body whose reader is present from now on.
    pub(crate) fn new(frames: S, ends: CancellationToken) -> Self {
        let now = Instant::now();
        let comment = Box::pin(sleep_until(now + OPENING));
        let ends = Some(CancelWait::new(ends));
        Self { frames: Some(frames), taken: Some(now), spoke: None, comment, ends }
    }

    /// Returns the available frames as one piece, and records the end.
    fn piece(&mut self, context: &mut Context<'_>) -> Bytes {
        let (mut first, mut all) = (Bytes::new(), BytesMut::new());
        while first.len().max(all.len()) < PIECE_BYTES
            && let Some(frames) = &mut self.frames
        {
            match frames.poll_next_unpin(context) {
                Poll::Ready(Some(frame)) if first.is_empty() => first = frame,
                Poll::Ready(Some(frame)) => {
                    if all.is_empty() {
                        all.extend_from_slice(&first);
                    }
                    all.extend_from_slice(&frame);
                }
                Poll::Ready(None) => self.frames = None,
                Poll::Pending => break,
            }
        }
        if all.is_empty() { first } else { all.freeze() }
    }

    /// Waits until a comment is due or the service ends; `None` is the end of the body.
    fn poll_silence(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if let Some(ends) = &mut self.ends
            && ends.poll(context).is_ready()
        {
            self.ends = None;
            self.comment.as_mut().reset(Instant::now() + LAST_FRAME);
        }
        if self.ends.is_none() {
            return self.comment.poll_unpin(context).map(|()| None);
        }
        while self.comment.poll_unpin(context).is_ready() {
            let (now, next) = (Instant::now(), self.spoke.map(|spoke| spoke + KEEP_ALIVE));
            let next = next.filter(|next| *next > now);
            self.comment.as_mut().reset(next.unwrap_or(now + KEEP_ALIVE));
            if next.is_none() {
                return Poll::Ready(Some(COMMENT));
            }
        }
        Poll::Pending
    }
}

impl<S: Stream<Item = Bytes> + Send + Unpin> Body for FrameBody<S> {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let this = self.get_mut();
        let is_late = this.taken.take().is_some_and(|taken| taken.elapsed() >= STALLED);
        let mut piece = this.piece(context);
        if piece.is_empty() {
            if this.frames.is_none() {
                return Poll::Ready(None);
            }
            let Some(comment) = ready!(this.poll_silence(context)) else {
                this.frames = None;
                return Poll::Ready(None);
            };
            piece = comment;
        } else if is_late && piece.len() >= PIECE_BYTES {
            tracing::debug!("disconnected a reader that took nothing for 5 s");
            this.frames = None;
        }
        let now = Instant::now();
        if this.ends.is_none() {
            this.comment.as_mut().reset(now + LAST_FRAME);
        }
        (this.taken, this.spoke) = (Some(now), Some(now));
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }
}

#[cfg(test)]
mod tests {
    use futures_util::stream;
    use tokio::{sync::mpsc, time::advance};
    use tokio_stream::wrappers::UnboundedReceiverStream;

    use super::*;

    type Pieces = axum::body::BodyDataStream;

    /// A body, and the place into which its frames are put.
    fn body() -> (mpsc::UnboundedSender<Bytes>, Pieces) {
        let (sender, frames) = mpsc::unbounded_channel();
        let body = FrameBody::new(UnboundedReceiverStream::new(frames), CancellationToken::new());
        (sender, axum::body::Body::new(body).into_data_stream())
    }

    /// The state of a body, or its next piece.
    #[derive(Debug, PartialEq)]
    enum Given {
        Waits,
        Ended,
        Piece(Bytes),
    }

    fn next(pieces: &mut Pieces) -> Given {
        match pieces.next().now_or_never() {
            None => Given::Waits,
            Some(None) => Given::Ended,
            Some(Some(piece)) => Given::Piece(piece.unwrap()),
        }
    }

    fn piece(pieces: &mut Pieces) -> Bytes {
        let Given::Piece(piece) = next(pieces) else { panic!("no piece") };
        piece
    }

    #[tokio::test]
    async fn frames_that_wait_go_out_in_one_piece_and_one_alone_as_it_is() {
        let (sender, mut pieces) = body();
        let frame = Bytes::from("data: 1\n\n".to_owned());
        sender.send(frame.clone()).unwrap();
        assert_eq!(piece(&mut pieces).as_ptr(), frame.as_ptr());
        assert_eq!(next(&mut pieces), Given::Waits);
        for frame in ["a", "", "b", "c"] {
            sender.send(Bytes::from(frame)).unwrap();
        }
        assert_eq!(piece(&mut pieces), "abc");
        let long = "x".repeat(PIECE_BYTES - 1);
        for frame in [&long, "y", "z"] {
            sender.send(Bytes::copy_from_slice(frame.as_bytes())).unwrap();
        }
        drop(sender);
        assert_eq!(piece(&mut pieces), long + "y", "a piece has a bound");
        assert_eq!(piece(&mut pieces), "z");
        assert_eq!((next(&mut pieces), next(&mut pieces)), (Given::Ended, Given::Ended));
    }

    #[tokio::test(start_paused = true)]
    async fn a_comment_comes_after_15_s_in_which_nothing_else_did() {
        let (sender, mut pieces) = body();
        sender.send(Bytes::from_static(b"a")).unwrap();
        assert_eq!(piece(&mut pieces), "a");
        assert_eq!(next(&mut pieces), Given::Waits);
        advance(Duration::from_secs(10)).await;
        sender.send(Bytes::from_static(b"a")).unwrap();
        assert_eq!(piece(&mut pieces), "a");
        for silence in [14, 15, 15] {
            assert_eq!(next(&mut pieces), Given::Waits);
            advance(Duration::from_secs(silence)).await;
            let comment = if silence == 15 { Given::Piece(COMMENT) } else { Given::Waits };
            assert_eq!(next(&mut pieces), comment);
            advance(Duration::from_millis(1000 * (15 - silence))).await;
            if silence < 15 {
                assert_eq!(piece(&mut pieces), COMMENT, "15 s behind the frame");
            }
        }
    }

    // Rows: N-66
    #[tokio::test(start_paused = true)]
    async fn a_response_that_has_nothing_to_send_begins_with_a_comment() {
        let (_sender, mut pieces) = body();
        for (millis, comes) in [(0, false), (249, false), (1, true), (14_999, false), (1, true)] {
            advance(Duration::from_millis(millis)).await;
            let given = next(&mut pieces);
            assert_eq!(given == Given::Piece(COMMENT), comes, "{millis}: {given:?}");
        }
        // Whoever has read something waits 15 s for the next.
        let (sender, mut pieces) = body();
        sender.send(Bytes::from_static(b"a")).unwrap();
        assert_eq!(piece(&mut pieces), "a");
        for (millis, comes) in [(14_999, false), (1, true)] {
            advance(Duration::from_millis(millis)).await;
            let given = next(&mut pieces);
            assert_eq!(given == Given::Piece(COMMENT), comes, "{millis}: {given:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn only_a_reader_that_took_nothing_for_5_s_is_let_go() {
        let frames = stream::repeat(Bytes::from_static(&[b'x'; PIECE_BYTES]));
        let pieces = axum::body::Body::new(FrameBody::new(frames, CancellationToken::new()));
        let mut pieces = pieces.into_data_stream();
        for _ in 0..10 {
            advance(STALLED.saturating_sub(Duration::from_millis(1))).await;
            assert_eq!(piece(&mut pieces).len(), PIECE_BYTES);
        }
        advance(STALLED).await;
        assert_eq!(piece(&mut pieces).len(), PIECE_BYTES, "what there is");
        assert_eq!(next(&mut pieces), Given::Ended, "and the end");
        // Such as one whose process got no processor.
        let (sender, mut pieces) = body();
        for frame in ["a", "b"] {
            sender.send(Bytes::from(frame)).unwrap();
            assert_eq!(piece(&mut pieces), frame, "it has caught up");
            advance(STALLED * 2).await;
        }
        // Who waits for what comes late is not slow.
        let (sender, mut pieces) = body();
        sender.send(Bytes::from_static(b"a")).unwrap();
        assert_eq!(piece(&mut pieces), "a");
        for _ in 0..3 {
            assert_eq!(next(&mut pieces), Given::Waits);
            advance(STALLED * 2).await;
            sender.send(Bytes::from_static(b"a")).unwrap();
            assert_eq!(piece(&mut pieces), "a");
        }
        assert_eq!(next(&mut pieces), Given::Waits);
    }

    #[tokio::test(start_paused = true)]
    async fn once_the_service_ends_what_there_is_goes_out_and_then_the_end() {
        let ends = CancellationToken::new();
        let (sender, frames) = mpsc::unbounded_channel();
        let body = FrameBody::new(UnboundedReceiverStream::new(frames), ends.clone());
        let mut pieces = axum::body::Body::new(body).into_data_stream();
        assert_eq!(next(&mut pieces), Given::Waits);
        ends.cancel();
        for frame in ["a", "b"] {
            assert_eq!(next(&mut pieces), Given::Waits);
            advance(LAST_FRAME.saturating_sub(Duration::from_millis(1))).await;
            sender.send(Bytes::from(frame)).unwrap();
            assert_eq!(piece(&mut pieces), frame);
        }
        assert_eq!(next(&mut pieces), Given::Waits);
        advance(LAST_FRAME).await;
        assert_eq!((next(&mut pieces), next(&mut pieces)), (Given::Ended, Given::Ended));
    }
}
