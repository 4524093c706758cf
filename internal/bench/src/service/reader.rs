//! A reader of a run, as small as can be: it must not be what is measured.

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::TcpStream,
};

use super::{
    Result,
    model::{Ask, now, sent},
};
use crate::measure::per;

/// A reader of a run.
#[derive(Debug)]
pub(super) struct Reader {
    lines: BufReader<TcpStream>,
    line: Vec<u8>,
    /// The number of its first event.
    from: u64,
    pub(super) seen: Seen,
}

/// What a reader has seen.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// Events, the end of the run among them.
    pub(super) events: u64,
    /// Microseconds from the model to this reader, of each chunk.
    pub(super) times: Vec<f64>,
    /// `true` when the end came, and no number was left out or came twice.
    pub(super) is_whole: bool,
}

/// Begins a run that is to say this; gives its id.
pub(super) async fn submit(to: SocketAddr, ask: Ask) -> Result<String> {
    begin(to, &ask.prompt()).await
}

/// Begins a run with this prompt; gives its id.
pub(super) async fn begin(to: SocketAddr, prompt: &str) -> Result<String> {
    let body = json!({ "input": prompt }).to_string();
    let begin = format!(
        "POST /v1/runs HTTP/1.1\r\ncontent-type: application/json\r\ncontent-length: {}\r\n",
        body.len()
    );
    member(to, &begin, &body, "run_id").await
}

/// Returns the status of a run.
pub(super) async fn status(of: SocketAddr, id: &str) -> Result<String> {
    member(of, &format!("GET /v1/runs/{id} HTTP/1.1\r\n"), "", "status").await
}

/// Asks, and returns a member of the answer.
async fn member(to: SocketAddr, head: &str, body: &str, member: &str) -> Result<String> {
    let mut connection = TcpStream::connect(to).await?;
    connection.set_nodelay(true)?;
    let asked = format!("{head}host: {to}\r\nconnection: close\r\n\r\n{body}");
    connection.write_all(asked.as_bytes()).await?;
    let mut answer = String::new();
    connection.read_to_string(&mut answer).await?;
    let (_, body) = answer.split_once("\r\n\r\n").unwrap_or_default();
    let answered: Value = serde_json::from_str(body).unwrap_or_default();
    let member = answered.get(member).and_then(Value::as_str);
    Ok(member.ok_or_else(|| format!("a request was refused: {answer}"))?.to_owned())
}

impl Reader {
    /// Opens a connection that reads a run from the number `from` on.
    pub(super) async fn open(to: SocketAddr, id: &str, from: u64) -> Result<Self> {
        let mut connection = TcpStream::connect(to).await?;
        connection.set_nodelay(true)?;
        let after = from.checked_sub(1).map_or_else(String::new, |last| format!("?after={last}"));
        let head = format!("GET /v1/runs/{id}/events{after} HTTP/1.1\r\nhost: {to}\r\n\r\n");
        connection.write_all(head.as_bytes()).await?;
        let (mut lines, mut line) = (BufReader::with_capacity(4 << 10, connection), Vec::new());
        lines.read_until(b'\n', &mut line).await?;
        if !line.starts_with(b"HTTP/1.1 200 ") {
            return Err(format!("a reader was refused: {}", String::from_utf8_lossy(&line)).into());
        }
        Ok(Self { lines, line, from, seen: Seen::default() })
    }

    /// Reads to the end of the run, or until `is_enough` events.
    pub(super) async fn read(&mut self, is_enough: impl Fn(&Seen) -> bool) -> Result<()> {
        let mut is_right = true;
        while !is_enough(&self.seen) {
            self.line.clear();
            if self.lines.read_until(b'\n', &mut self.line).await? == 0 {
                return Err("the reader was cut off".into());
            }
            // Pieces of frames are chunks of the body, so that the lengths between them are lines of their own.
            let text = str::from_utf8(&self.line)?.trim_end();
            if let Some(id) = text.strip_prefix("id: ") {
                is_right &= id.parse() == Ok(self.from + self.seen.events);
                self.seen.events += 1;
            } else if text == "event: run_end" {
                self.seen.is_whole = is_right;
                return Ok(());
            } else if let Some(sent) = sent(text) {
                self.seen.times.push(per(now().saturating_sub(sent), 1));
            }
        }
        is_right.then_some(()).ok_or_else(|| "an event was left out, or came twice".into())
    }
}

/// Reads a run from the number `from` on, to its end.
pub(super) async fn read(to: SocketAddr, id: &str, from: u64) -> Result<Seen> {
    let mut reader = Reader::open(to, id, from).await?;
    reader.read(|_| false).await?;
    Ok(reader.seen)
}

/// The time from the submit of a run to its first event.
pub(super) async fn first_event(to: SocketAddr, ask: Ask) -> Result<Duration> {
    let begun = Instant::now();
    let id = submit(to, ask).await?;
    let mut reader = Reader::open(to, &id, 0).await?;
    reader.read(|seen| seen.events == 1).await?;
    let first = begun.elapsed();
    reader.read(|_| false).await?;
    reader.seen.is_whole.then_some(first).ok_or_else(|| "a run is not whole".into())
}
