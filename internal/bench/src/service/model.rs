//! A model that says when it speaks: each chunk holds the time at which it was sent.

use std::{
    net::SocketAddr,
    time::{Duration, SystemTime},
};

use tokio::{
    io::{AsyncWriteExt as _, BufReader},
    net::{TcpListener, TcpStream},
    sync::watch,
    time,
};

use super::Result;
use crate::http::request;

/// Before the numbers of a prompt that say how many chunks come, and how many milliseconds apart.
const ASK: &str = "bench:";
/// Before the time in a chunk.
pub(super) const STAMP: &str = "sent:";

const HEAD: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
const LAST: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

/// What a run is asked to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ask {
    /// Chunks of its answer.
    pub(super) count: usize,
    /// Between two of them; zero for as fast as it can.
    pub(super) pace: Duration,
    /// `true` when it waits behind the first chunk until [`Model::release`].
    pub(super) waits: bool,
}

impl Ask {
    /// Returns the prompt that asks for this.
    pub(super) fn prompt(self) -> String {
        let Self { count, pace, waits } = self;
        format!("{ASK}{count}:{}:{}:", pace.as_millis(), u8::from(waits))
    }

    /// Reads the last prompt of a request.
    pub(super) fn read(body: &str) -> Result<Self> {
        let wrong = "the prompt does not say how many chunks come";
        let (_, ask) = body.rsplit_once(ASK).ok_or(wrong)?;
        let mut numbers = ask.split(':').map(str::parse::<u64>);
        let mut next = || numbers.next().and_then(std::result::Result::ok).ok_or(wrong);
        let (count, pace) = (usize::try_from(next()?)?, Duration::from_millis(next()?));
        Ok(Self { count, pace, waits: next()? == 1 })
    }
}

/// The model; it serves until the runtime ends.
#[derive(Debug)]
pub(super) struct Model {
    pub(super) address: SocketAddr,
    released: watch::Sender<bool>,
}

impl Model {
    pub(super) async fn start() -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let (address, (released, release)) = (listener.local_addr()?, watch::channel(false));
        tokio::spawn(async move {
            while let Ok((connection, _)) = listener.accept().await {
                let release = release.clone();
                // A client that gave up has told why itself.
                tokio::spawn(async move { drop(respond(connection, release).await) });
            }
        });
        Ok(Self { address, released })
    }

    /// Lets answers that wait go on.
    pub(super) fn release(&self) {
        self.released.send_replace(true);
    }
}

/// Microseconds since 1970.
pub(super) fn now() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}

async fn respond(connection: TcpStream, mut release: watch::Receiver<bool>) -> Result<()> {
    connection.set_nodelay(true)?;
    let mut connection = BufReader::new(connection);
    let (_, body) = request(&mut connection).await?;
    let Ask { count, pace, waits } = Ask::read(&body)?;
    let mut connection = connection.into_inner();
    connection.write_all(HEAD.as_bytes()).await?;
    let mut beat = time::interval(pace.max(Duration::from_micros(1)));
    for at in 0..count {
        if waits && at == 1 {
            release.wait_for(|released| *released).await?;
        }
        if !pace.is_zero() {
            beat.tick().await;
        }
        let chunk = format!(
            "data: {{\"id\":\"bench\",\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{STAMP}{} \"}}}}]}}\n\n",
            now()
        );
        connection.write_all(chunk.as_bytes()).await?;
    }
    connection.write_all(LAST.as_bytes()).await?;
    connection.shutdown().await?;
    Ok(())
}
