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

use super::last_words::{ErrorOutput, LAST_TIMEOUT};

/// Maximum length of a server's line, in bytes; a longer line is dropped.
pub(crate) const MAX_LINE_BYTES: usize = 8 << 20;

/// The state of a server's output.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct OutputStatus {
    /// The number of lines that were too long.
    too_long: u64,
    /// The number of answers of which it is not known to which call they belong.
    unreadable: u64,
    /// `true` once the server cannot send anything more.
    pub(crate) has_ended: bool,
}

impl OutputStatus {
    /// Counts a line that was too long.
    pub(crate) fn count_too_long(&mut self) {
        self.too_long += 1;
    }

    /// Counts an answer that cannot be read.
    pub(crate) fn count_unreadable(&mut self) {
        self.unreadable += 1;
    }

    /// Returns the trouble that occurred since an earlier state, if any.
    pub(crate) fn since(self, earlier: Self) -> Option<OutputTrouble> {
        if self.too_long != earlier.too_long {
            return Some(OutputTrouble::TooLong);
        }
        if self.unreadable != earlier.unreadable {
            return Some(OutputTrouble::Unreadable);
        }
        self.has_ended.then_some(OutputTrouble::Ended)
    }
}

/// The reason for which it is useless to wait for an answer.
pub(crate) enum OutputTrouble {
    TooLong,
    Unreadable,
    Ended,
}

/// The output of a server, which reports each overlong line, and the end of the output.
pub(crate) struct OutputLines<R> {
    output: R,
    /// The standard error of the same process.
    aside: Option<ErrorOutput>,
    /// The end of the process, plus a delay for its last output: processes that it started may hold the output open.
    exit: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    /// `true` once the output has ended, even if its end has not been reported yet.
    is_at_end: bool,
    /// The length of the current line so far, in bytes.
    length: usize,
    heard: watch::Sender<OutputStatus>,
}

impl<R> OutputLines<R> {
    pub(crate) fn new(
        output: R,
        aside: Option<ErrorOutput>,
    ) -> (Self, watch::Receiver<OutputStatus>) {
        let (heard, told) = watch::channel(OutputStatus::default());
        (Self { output, aside, exit: None, is_at_end: false, length: 0, heard }, told)
    }

    /// Returns the place where trouble with the output is reported.
    pub(crate) fn status(&self) -> watch::Sender<OutputStatus> {
        self.heard.clone()
    }

    /// Ends the output soon after the process ends, even if others hold the output open.
    pub(crate) fn until(mut self, exit: impl Future<Output = ()> + Send + 'static) -> Self {
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
                self.heard.send_modify(OutputStatus::count_too_long);
            }
            if piece.ends_with(b"\n") {
                self.length = 0;
            }
        }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for OutputLines<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let Self { output, aside, exit, is_at_end, .. } = &mut *self;
        if let Some(aside) = aside {
            aside.read_output(context);
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
            // The report of the end includes the last output.
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
