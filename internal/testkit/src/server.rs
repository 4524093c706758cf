//! A scripted HTTP server that controls every chunk boundary.

use std::{net::SocketAddr, sync::Arc};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::{Notify, mpsc},
    task::JoinHandle,
};

/// One step of the server on a connection.
#[derive(Debug, Clone)]
pub enum Step {
    /// Sends a status line and headers; the body follows in HTTP chunks.
    Head(u16, Vec<(&'static str, String)>),
    /// Sends one HTTP chunk.
    Chunk(Vec<u8>),
    /// Ends the body properly.
    End,
    /// Sends raw bytes.
    Raw(Vec<u8>),
    /// Waits until the client closes the connection.
    Stall,
    /// Waits until the test lets it go on.
    Wait(Arc<Notify>),
    /// Breaks the connection.
    Reset,
}

impl Step {
    /// Returns the head of a successful event stream.
    #[must_use]
    pub fn stream() -> Self {
        Self::Head(200, vec![("content-type", "text/event-stream".to_owned())])
    }

    /// Returns a step that sends one HTTP chunk.
    #[must_use]
    pub fn chunk(bytes: impl Into<Vec<u8>>) -> Self {
        Self::Chunk(bytes.into())
    }
}

/// An event on a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Seen {
    /// A request arrived.
    Request {
        /// Its head, as sent.
        head: String,
        /// Its body.
        body: Vec<u8>,
    },
    /// The client closed the connection during [`Step::Stall`].
    Closed,
}

/// A server on 127.0.0.1 that plays one script for each connection. Dropping it stops the server.
#[derive(Debug)]
pub struct ScriptedServer {
    address: SocketAddr,
    seen: mpsc::UnboundedReceiver<Seen>,
    task: JoinHandle<()>,
}

impl ScriptedServer {
    /// Starts a server that plays `scripts`, the first one on the first connection.
    ///
    /// # Panics
    ///
    /// When no port can be opened.
    pub async fn start(scripts: Vec<Vec<Step>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, seen) = mpsc::unbounded_channel();
        let task = tokio::spawn(async move {
            for script in scripts {
                let Ok((stream, _)) = listener.accept().await else { return };
                // A broken connection is part of some scripts.
                drop(play(stream, script, &sender).await);
            }
        });
        Self { address, seen, task }
    }

    /// Returns the base URL.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Waits for the next event.
    ///
    /// # Panics
    ///
    /// When the server has ended.
    pub async fn seen(&mut self) -> Seen {
        self.seen.recv().await.expect("the server has played all its scripts")
    }
}

impl Drop for ScriptedServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn play(
    mut stream: TcpStream,
    script: Vec<Step>,
    seen: &mpsc::UnboundedSender<Seen>,
) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let request = read_request(&mut stream).await?;
    // The test may not read the events.
    seen.send(request).unwrap_or_default();
    for step in script {
        match step {
            Step::Head(status, headers) => {
                let mut head =
                    format!("HTTP/1.1 {status} Scripted\r\ntransfer-encoding: chunked\r\n");
                for (name, value) in headers {
                    head.extend([name, ": ", &value, "\r\n"]);
                }
                head.push_str("connection: close\r\n\r\n");
                stream.write_all(head.as_bytes()).await?;
            }
            Step::Chunk(bytes) => {
                let frame = [format!("{:x}\r\n", bytes.len()).as_bytes(), &bytes, b"\r\n"].concat();
                stream.write_all(&frame).await?;
            }
            Step::End => stream.write_all(b"0\r\n\r\n").await?,
            Step::Raw(bytes) => stream.write_all(&bytes).await?,
            Step::Stall => {
                let mut rest = [0; 64];
                while !matches!(stream.read(&mut rest).await, Ok(0) | Err(_)) {}
                seen.send(Seen::Closed).unwrap_or_default();
            }
            Step::Wait(gate) => gate.notified().await,
            Step::Reset => {
                stream.set_zero_linger()?;
                return Ok(());
            }
        }
    }
    stream.shutdown().await
}

async fn read_request(stream: &mut TcpStream) -> std::io::Result<Seen> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break end + 4;
        }
        if stream.read_buf(&mut bytes).await? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
    };
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
    });
    let mut body = bytes.split_off(end);
    while body.len() < length.unwrap_or(0) {
        if stream.read_buf(&mut body).await? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
    }
    Ok(Seen::Request { head, body })
}
