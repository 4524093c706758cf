//! Words for a request whose head cannot be read: hyper answers it by itself, with a status alone.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use hyper::StatusCode;
use serde_json::json;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::{Sleep, sleep},
};

use super::accept::{MAX_HEAD_BYTES, MAX_HEADERS};

/// Longest time in which the rest of a refused request is read: a connection that is closed over it is reset, and the answer with it.
const REST_TIMEOUT: Duration = Duration::from_secs(1);
/// Most bytes of the rest of a refused request that are read.
const MAX_REST_BYTES: usize = 2 << 20;
/// The header of a response of hyper that has no body.
const NO_BODY: &str = "content-length: 0\r\n";

/// A connection on which hyper's own refusals have words.
///
/// A write is such a refusal when it begins where the one before was taken whole, is an error without a body, and has none of the headers that
/// each answer of the service has.
#[derive(Debug)]
pub(super) struct RefusalStream<S> {
    stream: S,
    /// What is left of a refusal.
    refusal: Vec<u8>,
    /// `true` when the last write was taken whole.
    is_between: bool,
    /// The bytes of the rest of a request that were read; `None` while none was refused.
    rest_bytes: Option<usize>,
    rest_timeout: Option<Pin<Box<Sleep>>>,
}

impl<S: AsyncRead + AsyncWrite + Unpin> RefusalStream<S> {
    pub(super) fn new(stream: S) -> Self {
        let (refusal, is_between) = (Vec::new(), true);
        Self { stream, refusal, is_between, rest_bytes: None, rest_timeout: None }
    }

    fn poll_refusal(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.refusal.is_empty() {
            match ready!(Pin::new(&mut self.stream).poll_write(context, &self.refusal))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                count => drop(self.refusal.drain(..count)),
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Reads what still comes of a refused request, as far as it may.
    fn poll_rest(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let timeout = self.rest_timeout.get_or_insert_with(|| Box::pin(sleep(REST_TIMEOUT)));
        if timeout.as_mut().poll(context).is_ready() {
            return Poll::Ready(());
        }
        let mut piece = [0; 4 << 10];
        let bytes = self.rest_bytes.get_or_insert(0);
        while *bytes < MAX_REST_BYTES {
            let mut piece = ReadBuf::new(&mut piece);
            match ready!(Pin::new(&mut self.stream).poll_read(context, &mut piece)) {
                Ok(()) if !piece.filled().is_empty() => *bytes += piece.filled().len(),
                Ok(()) | Err(_) => break,
            }
        }
        Poll::Ready(())
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for RefusalStream<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        piece: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_read(context, piece)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for RefusalStream<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        ready!(this.poll_refusal(context))?;
        if this.is_between
            && let Some(refusal) = worded(bytes)
        {
            (this.refusal, this.rest_bytes) = (refusal, Some(0));
            return Poll::Ready(Ok(bytes.len()));
        }
        let count = ready!(Pin::new(&mut this.stream).poll_write(context, bytes))?;
        this.is_between = count == bytes.len();
        Poll::Ready(Ok(count))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if let [bytes] = pieces {
            return self.poll_write(context, bytes);
        }
        let this = self.get_mut();
        ready!(this.poll_refusal(context))?;
        let count = ready!(Pin::new(&mut this.stream).poll_write_vectored(context, pieces))?;
        this.is_between = count == pieces.iter().map(|piece| piece.len()).sum::<usize>();
        Poll::Ready(Ok(count))
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        ready!(this.poll_refusal(context))?;
        Pin::new(&mut this.stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.rest_timeout.is_none() {
            ready!(this.poll_refusal(context))?;
            ready!(Pin::new(&mut this.stream).poll_shutdown(context))?;
        }
        if this.rest_bytes.is_some() {
            ready!(this.poll_rest(context));
        }
        Poll::Ready(Ok(()))
    }
}

/// Returns a refusal of hyper with words; `None` for anything else.
fn worded(bytes: &[u8]) -> Option<Vec<u8>> {
    if !bytes.starts_with(b"HTTP/1.1 4") {
        return None;
    }
    let head = str::from_utf8(bytes).ok()?;
    let (code, detail) = match head.get(9..12)? {
        "400" => (
            "bad_request",
            "the request is not valid HTTP/1.1; its first line or one of its headers cannot be parsed"
                .into(),
        ),
        "431" => (
            "head_too_large",
            format!(
                "the request has more than {MAX_HEADERS} headers, or a head of more than {MAX_HEAD_BYTES} bytes; send less"
            ),
        ),
        _ => return None,
    };
    let status = StatusCode::from_bytes(&bytes[9..12]).ok()?;
    let is_whole = head.find("\r\n\r\n") == Some(head.len() - 4);
    let (begin, end) = head.split_once(NO_BODY)?;
    if !is_whole || head.contains("\r\nx-request-id: ") {
        return None;
    }
    let problem = json!({
        "type": format!("about:blank#{code}"),
        "code": code,
        "title": status.canonical_reason(),
        "status": status.as_u16(),
        "detail": detail,
    });
    let problem = problem.to_string();
    let length = problem.len();
    let headers = format!(
        "content-type: application/problem+json\r\ncache-control: no-store\r\ncontent-length: {length}\r\n"
    );
    Some([begin, &headers, end, &problem].concat().into_bytes())
}

#[cfg(test)]
mod tests {
    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _, duplex},
        time::Instant,
    };

    use super::*;

    const REFUSED: &str = "HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";

    /// Writes these pieces with room for `room` bytes at a time, and returns what came.
    async fn written(pieces: &[&str], room: usize) -> String {
        let (ours, mut client) = duplex(room);
        let mut ours = RefusalStream::new(ours);
        let taken = tokio::spawn(async move {
            let mut taken = String::new();
            client.read_to_string(&mut taken).await.unwrap();
            taken
        });
        for piece in pieces {
            ours.write_all(piece.as_bytes()).await.unwrap();
        }
        ours.shutdown().await.unwrap();
        taken.await.unwrap()
    }

    #[tokio::test]
    async fn refusals_get_a_body_and_other_responses_are_unchanged() {
        // With room for 16 bytes the refusal in the body below begins a write, and is none.
        for room in [1, 7, 16, 4096] {
            let told = written(&["HTTP/1.1 200 OK\r\n\r\nall", REFUSED], room).await;
            let (before, told) = told.split_at("HTTP/1.1 200 OK\r\n\r\nall".len());
            assert!(before.ends_with("all"));
            let (head, body) = told.split_once("\r\n\r\n").unwrap();
            assert!(head.contains(&format!("content-length: {}", body.len())), "{head}");
            assert!(body.contains("\"head_too_large\""), "{body}");
            for same in [
                REFUSED.replace("\r\n\r\n", "\r\nx-request-id: a\r\n\r\n"),
                format!("{REFUSED}more"),
                REFUSED.replace("content-length: 0", "content-length: 10"),
                REFUSED.replace("431", "200"),
                format!("a body that has {REFUSED}"),
            ] {
                assert_eq!(written(&[&same], room).await, same);
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_rest_of_a_refused_request_is_read_for_a_second_and_no_longer() {
        let (ours, client) = duplex(4096);
        let mut ours = RefusalStream::new(ours);
        ours.write_all(REFUSED.as_bytes()).await.unwrap();
        let begun = Instant::now();
        ours.shutdown().await.unwrap();
        assert_eq!(begun.elapsed(), REST_TIMEOUT);
        drop(client);
    }

    #[tokio::test(start_paused = true)]
    async fn the_whole_rest_of_a_refused_request_is_read() {
        let (ours, mut client) = duplex(4096);
        let mut ours = RefusalStream::new(ours);
        ours.write_all(REFUSED.as_bytes()).await.unwrap();
        let sent = tokio::spawn(async move {
            client.write_all(&vec![b'x'; 20_000]).await?;
            client.shutdown().await?;
            // What came is read only then, as a client does that sends first.
            client.read_to_end(&mut Vec::new()).await
        });
        ours.shutdown().await.unwrap();
        drop(ours);
        assert!(sent.await.unwrap().unwrap() > REFUSED.len());
    }
}
