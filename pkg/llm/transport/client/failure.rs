//! Failures on the way to a server, in words.

use std::{error::Error as StdError, fmt, io};

/// A failure of a connection in words for people; what the layers below say about it is in its `Debug` form and in the log.
pub(super) struct ConnectionFailure {
    words: &'static str,
    raw: Box<dyn StdError + Send + Sync>,
}

/// The step of an exchange that failed, as far as a client says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FailedStep {
    Connect,
    /// A wait that took longer than the client allows.
    Wait,
    Exchange,
}

impl ConnectionFailure {
    /// Returns the failure of a request or of its response.
    pub(super) fn of(raw: impl StdError + Send + Sync + 'static, step: FailedStep) -> Self {
        let words = words(&raw, step);
        tracing::debug!(error = ?raw, "a connection to a server failed");
        Self { words, raw: Box::new(raw) }
    }
}

/// Returns what happened, as far as the layers below tell.
fn words(raw: &(dyn StdError + 'static), step: FailedStep) -> &'static str {
    let mut cause: Option<&(dyn StdError + 'static)> = Some(raw);
    let mut text = String::new();
    while let Some(error) = cause {
        if let Some(words) = error.downcast_ref::<io::Error>().and_then(words_of_io) {
            return words;
        }
        text = error.to_string();
        cause = error.source();
    }
    let has = |part: &str| text.to_ascii_lowercase().contains(part);
    match () {
        () if step == FailedStep::Wait => "it did not answer in time",
        () if has("certificate") => "its certificate is not accepted",
        () if has("lookup") || has("dns") || has("name or service") => {
            "the name of the host is not known"
        }
        () if has("closed") || has("incomplete") || has("eof") => {
            "the connection was closed before the answer was complete"
        }
        () if step == FailedStep::Connect => "the connection could not be made",
        () => "the connection failed",
    }
}

/// The words for a kind of failure.
const WORDS_OF_IO: [(io::ErrorKind, &str); 9] = [
    (io::ErrorKind::ConnectionRefused, "the connection was refused"),
    (io::ErrorKind::ConnectionReset, "the other side ended the connection"),
    (io::ErrorKind::ConnectionAborted, "the other side ended the connection"),
    (io::ErrorKind::BrokenPipe, "the other side ended the connection"),
    (io::ErrorKind::UnexpectedEof, "the connection was closed before the answer was complete"),
    (io::ErrorKind::TimedOut, "it did not answer in time"),
    (io::ErrorKind::HostUnreachable, "the host cannot be reached from here"),
    (io::ErrorKind::NetworkUnreachable, "the host cannot be reached from here"),
    (io::ErrorKind::AddrNotAvailable, "the address is not available"),
];

fn words_of_io(error: &io::Error) -> Option<&'static str> {
    WORDS_OF_IO.iter().find(|(kind, _)| *kind == error.kind()).map(|(_, words)| *words)
}

impl fmt::Display for ConnectionFailure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.words)
    }
}

impl fmt::Debug for ConnectionFailure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("ConnectionFailure").field(&self.words).field(&self.raw).finish()
    }
}

// Without a source: whoever shows the causes of an error shows them to people.
impl StdError for ConnectionFailure {}

#[cfg(test)]
mod tests {
    use futures_util::TryStreamExt as _;
    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _},
        net::TcpListener,
    };

    use super::*;
    use crate::transport::{HttpRequest, HttpTransport, Transport as _, TransportError};

    /// Returns the failure of a request to a server that answers this and then closes; `None` for one that does not exist.
    async fn failure(answer: Option<&'static str>) -> Box<dyn StdError> {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        match answer {
            None => drop(listener),
            Some(answer) => drop(tokio::spawn(async move {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut head = [0; 1024];
                let _read = stream.read(&mut head).await.unwrap();
                stream.write_all(answer.as_bytes()).await.unwrap();
            })),
        }
        let request = HttpRequest::new("GET", format!("http://{address}/"));
        let error = match HttpTransport::new().unwrap().send(request).await {
            Ok(response) => response.body.try_for_each(async |_| Ok(())).await.unwrap_err(),
            Err(error) => error,
        };
        let (TransportError::Connect { source, .. } | TransportError::Broken { source }) = error
        else {
            panic!("{error:?}");
        };
        source
    }

    // Rows: N-66
    #[tokio::test]
    async fn failures_of_connections_are_told_in_words() {
        for (answer, want) in [
            (None, "the connection was refused"),
            (Some(""), "the connection was closed before the answer was complete"),
            (
                Some("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf"),
                "the connection was closed before the answer was complete",
            ),
            (Some("no HTTP at all\r\n\r\n"), "the connection failed"),
        ] {
            let failure = failure(answer).await;
            assert_eq!(failure.to_string(), want, "{failure:?}");
            assert!(failure.source().is_none(), "{failure:?}");
        }
    }
}
