//! The output of a server, with lines of limited length.

use std::{
    future::Future,
    io,
    pin::Pin,
    task::{Context, Poll, ready},
};

use tokio::{
    io::{AsyncRead, ReadBuf},
    sync::watch,
};

use super::last_words::{Aside, LAST_TIMEOUT};

/// Longest line of a server; a longer one is dropped.
pub(super) const MAX_LINE_BYTES: usize = 8 << 20;

/// The knowledge of a server's output.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Heard {
    /// Lines that were too long.
    too_long: u64,
    /// `true` once the server can say nothing more.
    pub(super) has_ended: bool,
}

impl Heard {
    /// Takes note of a line that was too long.
    pub(super) fn count_too_long(&mut self) {
        self.too_long += 1;
    }

    /// Returns the trouble since an earlier look, if there is any.
    pub(super) fn since(self, earlier: Self) -> Option<Trouble> {
        if self.too_long != earlier.too_long {
            return Some(Trouble::TooLong);
        }
        self.has_ended.then_some(Trouble::Ended)
    }
}

/// The reason for which no answer can be waited for.
pub(super) enum Trouble {
    TooLong,
    Ended,
}

/// The output of a server, which tells of each line that is too long, and of its end.
pub(super) struct Lines<R> {
    output: R,
    /// The standard error of the same process.
    aside: Option<Aside>,
    /// The end of the process, and a while for what it wrote last: whoever it started may hold its output open.
    exit: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    /// `true` once the output has ended, though its end may not be told yet.
    is_at_end: bool,
    /// Bytes of the line so far.
    length: usize,
    heard: watch::Sender<Heard>,
}

impl<R> Lines<R> {
    pub(super) fn new(output: R, aside: Option<Aside>) -> (Self, watch::Receiver<Heard>) {
        let (heard, told) = watch::channel(Heard::default());
        (Self { output, aside, exit: None, is_at_end: false, length: 0, heard }, told)
    }

    /// Ends soon after the process has, though others may hold the output open.
    pub(super) fn until(mut self, exit: impl Future<Output = ()> + Send + 'static) -> Self {
        self.exit = Some(Box::pin(async {
            exit.await;
            tokio::time::sleep(LAST_TIMEOUT).await;
        }));
        self
    }

    fn count(&mut self, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let before = self.length;
            self.length = before.saturating_add(piece.len());
            if before <= MAX_LINE_BYTES && self.length > MAX_LINE_BYTES {
                self.heard.send_modify(Heard::count_too_long);
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
        let Self { output, aside, exit, is_at_end, .. } = &mut *self;
        if let Some(aside) = aside {
            aside.read(context);
        }
        let mut read = Ok(());
        let before = buffer.filled().len();
        if !*is_at_end {
            let room = buffer.remaining();
            match Pin::new(output).poll_read(context, buffer) {
                Poll::Ready(done) => {
                    read = done;
                    *is_at_end = read.is_err() || (buffer.filled().len() == before && room > 0);
                }
                Poll::Pending => {
                    let Some(exit) = exit else { return Poll::Pending };
                    ready!(exit.as_mut().poll(context));
                    *is_at_end = true;
                }
            }
        }
        if *is_at_end {
            // What is told of the end has the last words.
            if let Some(aside) = aside {
                ready!(aside.poll_end(context));
            }
            self.heard.send_modify(|heard| heard.has_ended = true);
            return Poll::Ready(read);
        }
        self.count(buffer.filled().get(before..).unwrap_or_default());
        Poll::Ready(read)
    }
}
