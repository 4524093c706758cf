//! The output of a server, whose lines have a limit.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
};

use tokio::{
    io::{AsyncRead, ReadBuf},
    sync::watch,
};

/// Longest line of a server; a longer one is dropped.
pub(super) const MAX_LINE_BYTES: usize = 8 << 20;

/// The output of a server, which tells of each line that is too long.
pub(super) struct Lines<R> {
    output: R,
    /// Bytes of the line so far.
    length: usize,
    too_long: watch::Sender<()>,
}

impl<R> Lines<R> {
    pub(super) fn new(output: R) -> (Self, watch::Receiver<()>) {
        let (too_long, told) = watch::channel(());
        (Self { output, length: 0, too_long }, told)
    }

    fn count(&mut self, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let before = self.length;
            self.length = before.saturating_add(piece.len());
            if before <= MAX_LINE_BYTES && self.length > MAX_LINE_BYTES {
                self.too_long.send_replace(());
            }
            if piece.ends_with(b"\n") {
                self.length = 0;
            }
        }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Lines<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.output).poll_read(context, buffer))?;
        self.count(buffer.filled().get(before..).unwrap_or_default());
        Poll::Ready(Ok(()))
    }
}
