//! The output of a server, with the answers in it made readable.

use std::{
    borrow::Cow,
    io,
    pin::Pin,
    task::{Context, Poll, ready},
};

use serde::de::IgnoredAny;
use tokio::{
    io::{AsyncRead, ReadBuf},
    sync::watch,
};

use super::{
    answer_repair::{MessageReading, read_message},
    output_lines::{MAX_LINE_BYTES, OutputStatus},
};

/// Maximum length of a message that is spread over several lines, in bytes.
const MAX_SPREAD_BYTES: usize = 64 << 10;

/// The length up to which the buffer of a line is kept for the next one, in bytes.
const KEPT_BYTES: usize = 64 << 10;

/// Maximum length of a line that was made readable, in bytes: a byte that is not UTF-8 becomes three.
pub(crate) const MAX_REPAIRED_BYTES: usize = 3 * MAX_LINE_BYTES;

/// Whole lines of an output, each as the protocol can read it.
pub(crate) struct RepairedLines<R> {
    output: R,
    heard: watch::Sender<OutputStatus>,
    /// The current line so far.
    line: Vec<u8>,
    /// `true` while the rest of a line that is too long is dropped.
    is_skipping: bool,
    /// The lines so far of a message that has not ended.
    spread: Vec<u8>,
    /// The lines that have not been passed on yet, from `given` on.
    ready: Vec<u8>,
    given: usize,
}

impl<R> RepairedLines<R> {
    pub(crate) fn new(output: R, heard: watch::Sender<OutputStatus>) -> Self {
        let (line, spread, ready) = Default::default();
        Self { output, heard, line, is_skipping: false, spread, ready, given: 0 }
    }

    fn take(&mut self, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            if self.line.len() + piece.len() > MAX_LINE_BYTES {
                (self.line, self.is_skipping) = (Vec::new(), true);
            }
            if !self.is_skipping {
                self.line.extend_from_slice(piece);
            }
            if piece.ends_with(b"\n") {
                self.end_line();
                self.is_skipping = false;
            }
        }
    }

    /// Passes the current line on, or what takes its place.
    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        if let Some(message) = self.whole(&line) {
            match read_message(&message) {
                MessageReading::AsIs => self.ready.extend_from_slice(&message),
                MessageReading::Repaired(message) => {
                    self.ready.extend_from_slice(message.as_bytes());
                }
                MessageReading::Unreadable => {
                    self.heard.send_modify(OutputStatus::count_unreadable);
                }
            }
            if self.ready.last().is_some_and(|byte| *byte != b'\n') {
                self.ready.push(b'\n');
            }
        }
        if line.capacity() <= KEPT_BYTES {
            self.line = line;
            self.line.clear();
        }
    }

    /// Returns the message that ends with this line; `None` if more of its lines are expected.
    fn whole<'l>(&mut self, line: &'l [u8]) -> Option<Cow<'l, [u8]>> {
        let ends_early = |json: &[u8]| {
            let parsed = serde_json::from_slice::<IgnoredAny>(json);
            json.trim_ascii_start().starts_with(b"{") && parsed.is_err_and(|error| error.is_eof())
        };
        if self.spread.is_empty() {
            if line.len() > MAX_SPREAD_BYTES || !ends_early(line) {
                return Some(line.into());
            }
            self.spread.extend_from_slice(line);
            return None;
        }
        if is_message(line) || self.spread.len() + line.len() > MAX_SPREAD_BYTES {
            self.spread.clear();
            return Some(line.into());
        }
        self.spread.extend_from_slice(line);
        if ends_early(&self.spread) {
            return None;
        }
        let joined = std::mem::take(&mut self.spread);
        let is_break = |byte: &u8| matches!(byte, b'\n' | b'\r');
        Some(joined.into_iter().filter(|byte| !is_break(byte)).collect::<Vec<_>>().into())
    }
}

/// Returns `true` for a line that is a message by itself.
fn is_message(line: &[u8]) -> bool {
    let names_protocol = || line.windows(9).any(|piece| piece == b"\"jsonrpc\"");
    line.trim_ascii_start().starts_with(b"{")
        && names_protocol()
        && serde_json::from_slice::<IgnoredAny>(line).is_ok()
}

impl<R: AsyncRead + Unpin> AsyncRead for RepairedLines<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        loop {
            let left = this.ready.get(this.given..).unwrap_or_default();
            if let Some((piece, _)) = left.split_at_checked(left.len().min(buffer.remaining()))
                && !left.is_empty()
            {
                buffer.put_slice(piece);
                this.given += piece.len();
                return Poll::Ready(Ok(()));
            }
            (this.ready, this.given) = (Vec::new(), 0);
            let mut room = [0; 8 << 10];
            let mut read = ReadBuf::new(&mut room);
            ready!(Pin::new(&mut this.output).poll_read(context, &mut read))?;
            if !read.filled().is_empty() {
                this.take(read.filled());
                continue;
            }
            if this.line.is_empty() || this.is_skipping {
                return Poll::Ready(Ok(()));
            }
            // The last answer of a program may lack the end of its line.
            this.end_line();
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    /// Returns what is passed on, and the number of answers that cannot be read, however the text is cut.
    async fn passed_on(text: &str) -> (String, bool) {
        let mut all = None;
        for size in [1, 3, 7, text.len().max(1)] {
            let (heard, told) = watch::channel(OutputStatus::default());
            let before = *told.borrow();
            let (output, mut input) = tokio::io::duplex(size);
            let written = text.to_owned();
            tokio::spawn(async move { input.write_all(written.as_bytes()).await });
            let mut lines = RepairedLines::new(output, heard);
            let mut read = String::new();
            lines.read_to_string(&mut read).await.unwrap();
            let end = (read, told.borrow().since(before).is_some());
            assert_eq!(*all.get_or_insert_with(|| end.clone()), end, "cut at {size}");
        }
        all.unwrap()
    }

    // Rows: N-44
    #[tokio::test]
    async fn n44_lines_are_passed_on_whole_repaired_and_joined() {
        let answer = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
        let rows = [
            (format!("log\n{answer}\n\n"), format!("log\n{answer}\n\n"), false),
            (format!("{answer}\r\n"), format!("{answer}\r\n"), false),
            (answer.to_owned(), format!("{answer}\n"), false),
            (
                "{\n \"jsonrpc\": \"2.0\",\n \"id\": 1,\n \"result\": {}\n}\n".to_owned(),
                "{ \"jsonrpc\": \"2.0\", \"id\": 1, \"result\": {}}\n".to_owned(),
                false,
            ),
            (format!("{{\nnot json\n{answer}\n"), format!("{{not json\n{answer}\n"), false),
            (format!("{{\"a\":\n{answer}\n"), format!("{answer}\n"), false),
            (
                r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"?"}}"#.to_owned()
                    + "\n",
                String::new(),
                true,
            ),
        ];
        for (text, want, is_told) in rows {
            assert_eq!(passed_on(&text).await, (want, is_told), "{text}");
        }
    }
}
