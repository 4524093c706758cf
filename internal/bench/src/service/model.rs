//! A model that says when it speaks: each chunk holds the time at which it was sent.

use std::{
    net::SocketAddr,
    time::{Duration, SystemTime},
};

use tokio::{
    io::{AsyncWriteExt as _, BufReader},
    net::{TcpListener, TcpStream},
    sync::watch,
    time::{self, Instant},
};

use super::Result;
use crate::http::request;

/// Before the numbers of a prompt that say how many chunks come, how many milliseconds apart, and how many milliseconds behind the request.
const ASK: &str = "bench:";
/// Before the time in a chunk.
const STAMP: &str = "sent:";

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
    /// Before the first: runs of different people do not speak in the same millisecond.
    pub(super) begins: Duration,
    /// `true` when it waits behind the first chunk until [`Model::release`].
    pub(super) waits: bool,
}

impl Ask {
    /// Returns what asks for this many chunks as fast as they come.
    pub(super) fn at_once(count: usize) -> Self {
        Self { count, pace: Duration::ZERO, begins: Duration::ZERO, waits: false }
    }

    /// Returns the prompt that asks for this.
    pub(super) fn prompt(self) -> String {
        let Self { count, pace, begins, waits } = self;
        format!("{ASK}{count}:{}:{}:{}:", pace.as_millis(), begins.as_millis(), u8::from(waits))
    }

    /// Reads the last prompt of a request.
    pub(super) fn read(body: &str) -> Result<Self> {
        let wrong = "the prompt does not say how many chunks come";
        let (_, ask) = body.rsplit_once(ASK).ok_or(wrong)?;
        let mut numbers = ask.split(':').map(str::parse::<u64>);
        let mut next = || numbers.next().and_then(std::result::Result::ok).ok_or(wrong);
        let count = usize::try_from(next()?)?;
        let (pace, begins) = (Duration::from_millis(next()?), Duration::from_millis(next()?));
        Ok(Self { count, pace, begins, waits: next()? == 1 })
    }

    /// Asks the model for this; gives the connection on which the answer comes.
    pub(super) async fn send(self, to: SocketAddr) -> Result<BufReader<TcpStream>> {
        let mut connection = TcpStream::connect(to).await?;
        let prompt = self.prompt();
        let head = format!("POST / HTTP/1.1\r\ncontent-length: {}\r\n\r\n", prompt.len());
        connection.write_all(format!("{head}{prompt}").as_bytes()).await?;
        Ok(BufReader::new(connection))
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

/// Returns the time at which the chunk was sent that this line has, if it has one.
pub(super) fn sent(line: &str) -> Option<u64> {
    let (_, sent) = line.strip_prefix("data: ")?.split_once(STAMP)?;
    sent.split_once(' ')?.0.parse().ok()
}

/// Returns what a chunk says that was sent at this time.
pub(super) fn stamp(sent: u64) -> String {
    format!("{STAMP}{sent} ")
}

async fn respond(connection: TcpStream, mut release: watch::Receiver<bool>) -> Result<()> {
    connection.set_nodelay(true)?;
    let mut connection = BufReader::new(connection);
    let (_, body) = request(&mut connection).await?;
    let Ask { count, pace, begins, waits } = Ask::read(&body)?;
    let mut connection = connection.into_inner();
    connection.write_all(HEAD.as_bytes()).await?;
    let mut beat = time::interval_at(Instant::now() + begins, pace.max(Duration::from_micros(1)));
    for at in 0..count {
        if waits && at == 1 {
            release.wait_for(|released| *released).await?;
        }
        if !pace.is_zero() {
            beat.tick().await;
        }
        let chunk = format!(
            "data: {{\"id\":\"bench\",\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{}\"}}}}]}}\n\n",
            stamp(now())
        );
        connection.write_all(chunk.as_bytes()).await?;
    }
    connection.write_all(LAST.as_bytes()).await?;
    connection.shutdown().await?;
    Ok(())
}
