//! The browser, in the process of the model: what it costs is not counted. It compares what comes with what the model said, and the model
//! may wait for it.

use std::{sync::LazyLock, time::Duration};

use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::TcpStream,
    sync::watch,
    time::timeout,
};

use super::answer::Answer;
use crate::Result;

/// The address at which a browser is asked to read: behind it are the number of deltas, the port and the path.
pub(super) const READ: &str = "read";

/// The word of a browser to which all came.
pub(super) const WHOLE: &str = "whole";

/// Longest wait for a line.
const PATIENCE: Duration = Duration::from_mins(1);

/// The number of deltas that the browser has, and 1 for its being there; 0 before. One browser reads at a time.
static SEEN: LazyLock<watch::Sender<usize>> = LazyLock::new(|| watch::Sender::new(0));

/// Waits until the browser is there and has so many deltas.
pub(super) async fn has_seen(deltas: usize) -> Result<()> {
    SEEN.subscribe().wait_for(|seen| *seen > deltas).await?;
    Ok(())
}

/// Reads as a browser, and answers whether all came.
pub(super) async fn answer(mut asked: BufReader<TcpStream>, count: usize, at: &str) -> Result<()> {
    let told = match read(at, count).await {
        Ok(()) => WHOLE.to_owned(),
        Err(wrong) => wrong.to_string(),
    };
    SEEN.send_replace(0);
    let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{told}", told.len());
    asked.write_all(head.as_bytes()).await?;
    Ok(asked.shutdown().await?)
}

async fn read(at: &str, count: usize) -> Result<()> {
    let (port, path) = at.split_once('/').ok_or("no path")?;
    let mut connection = TcpStream::connect(("127.0.0.1", port.parse()?)).await?;
    connection.set_nodelay(true)?;
    let head = format!("GET /{path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\n\r\n");
    connection.write_all(head.as_bytes()).await?;
    let mut connection = BufReader::new(connection);
    let (mut body, mut events, mut deltas) = (Vec::new(), 0_u64, 0);
    let mut reading = Answer::Text.reading(count);
    head_of(&mut connection).await?;
    SEEN.send_replace(1);
    'body: while chunk(&mut connection, &mut body).await? {
        // What is behind the last line end comes whole with the next chunk.
        let whole = body.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let rest = body.split_off(whole);
        for text in str::from_utf8(&std::mem::replace(&mut body, rest))?.lines() {
            if let Some(id) = text.strip_prefix("id: ") {
                if id.parse() != Ok(events) {
                    return Err(format!("the event {id} came, not {events}").into());
                }
                events += 1;
            } else if text == "event: run_end" || text == "data: [DONE]" {
                break 'body;
            } else if let Some(data) = text.strip_prefix("data: ") {
                let data: Value = serde_json::from_str(data)?;
                if let Some(delta) = delta(&data) {
                    reading.add(delta);
                    deltas += 1;
                    SEEN.send_modify(|seen| *seen += 1);
                }
            }
        }
    }
    if deltas != count {
        return Err(format!("{deltas} deltas of {count}").into());
    }
    reading.finish()
}

async fn line(connection: &mut BufReader<TcpStream>) -> Result<String> {
    let mut line = String::new();
    let read = timeout(PATIENCE, connection.read_line(&mut line)).await;
    match read.map_err(|_| "nothing came for 60 s")?? {
        0 => Err("the connection ended".into()),
        _ => Ok(line.trim_end().to_owned()),
    }
}

/// Reads the head of an answer that has a body in chunks.
async fn head_of(connection: &mut BufReader<TcpStream>) -> Result<()> {
    let status = line(connection).await?;
    if status != "HTTP/1.1 200 OK" {
        return Err(status.into());
    }
    while !line(connection).await?.is_empty() {}
    Ok(())
}

/// Appends the next chunk of a body; `false` behind the last.
async fn chunk(connection: &mut BufReader<TcpStream>, body: &mut Vec<u8>) -> Result<bool> {
    let length = usize::from_str_radix(&line(connection).await?, 16)?;
    let begun = body.len();
    body.resize(begun + length, 0);
    let rest = body.get_mut(begun..).unwrap_or_default();
    timeout(PATIENCE, connection.read_exact(rest)).await.map_err(|_| "a chunk is not whole")??;
    line(connection).await?;
    Ok(length > 0)
}

/// The text of an event: of forgeline's, or of the model's as it is.
fn delta(data: &Value) -> Option<&str> {
    let text = match data.get("type") {
        Some(kind) if kind == "message_content" => data.get("content"),
        Some(_) => None,
        None => data.pointer("/choices/0/delta/content"),
    };
    text.and_then(Value::as_str).filter(|text| !text.is_empty())
}
