//! Requests, in as few words as HTTP needs: each has a connection of its own.

use std::{
    io::{self, BufRead as _, BufReader, Write as _},
    net::{SocketAddr, TcpStream},
    time::Duration,
};

use serde_json::Value;

/// Longest wait for a connection.
const CONNECTING: Duration = Duration::from_secs(1);

/// A whole response.
#[derive(Debug, Clone)]
pub struct HttpReply {
    /// The status.
    pub status: u16,
    /// The type of the body.
    pub kind: String,
    /// The body.
    pub body: String,
}

impl HttpReply {
    /// Returns the body as JSON.
    ///
    /// # Panics
    ///
    /// Panics when it is not.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// Sends a request with these additional header lines, and reads the whole response.
///
/// # Errors
///
/// Those of the connection, and of a response that takes longer than `patience`.
pub fn ask(
    to: SocketAddr,
    [method, path]: [&str; 2],
    headers: &str,
    body: Option<&Value>,
    patience: Duration,
) -> io::Result<HttpReply> {
    let mut response = open(to, [method, path], headers, body, patience)?;
    let mut bytes = Vec::new();
    while response.next_piece(&mut bytes)? {}
    let body = String::from_utf8_lossy(&bytes).into_owned();
    Ok(HttpReply { status: response.status, kind: response.kind, body })
}

/// Sends a request, and reads the head of the response.
pub(super) fn open(
    to: SocketAddr,
    [method, path]: [&str; 2],
    headers: &str,
    body: Option<&Value>,
    patience: Duration,
) -> io::Result<OpenResponse> {
    let mut stream = TcpStream::connect_timeout(&to, CONNECTING)?;
    stream.set_read_timeout(Some(patience))?;
    stream.set_write_timeout(Some(patience))?;
    stream.set_nodelay(true)?;
    let kind = body.map_or("", |_| "content-type: application/json\r\n");
    let body = body.map(Value::to_string).unwrap_or_default();
    let length = body.len();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: {to}\r\nconnection: close\r\ncontent-length: {length}\r\n{kind}{headers}\r\n"
    );
    stream.write_all(&[head.as_bytes(), body.as_bytes()].concat())?;
    let mut reader = BufReader::new(stream);
    let head = read_head(&mut reader)?;
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    let status = status.ok_or_else(|| io::Error::other(format!("no status in {head:?}")))?;
    let is_chunked = field(&head, "transfer-encoding").is_some();
    let length = field(&head, "content-length").and_then(|length| length.parse().ok());
    let kind = field(&head, "content-type").unwrap_or_default().to_owned();
    Ok(OpenResponse { reader, status, kind, is_chunked, left: length.unwrap_or(0) })
}

/// A response whose body is read.
#[derive(Debug)]
pub(super) struct OpenResponse {
    reader: BufReader<TcpStream>,
    pub(super) status: u16,
    kind: String,
    is_chunked: bool,
    /// Bytes that are left of the chunk, or of a body that is not chunked.
    left: usize,
}

impl OpenResponse {
    /// Adds what there is of the body, even of a chunk that never ends; returns `false` at its end.
    pub(super) fn next_piece(&mut self, bytes: &mut Vec<u8>) -> io::Result<bool> {
        if self.is_chunked && self.left == 0 {
            let mut size = String::new();
            // The line end of the chunk before comes first.
            while size.trim_end().is_empty() {
                size.clear();
                if self.reader.read_line(&mut size)? == 0 {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
            }
            let size = usize::from_str_radix(size.trim_end(), 16);
            self.left = size.map_err(|_| io::Error::from(io::ErrorKind::InvalidData))?;
        }
        if self.left == 0 {
            return Ok(false);
        }
        let there = self.reader.fill_buf()?;
        let count = there.len().min(self.left);
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        bytes.extend_from_slice(&there[..count]);
        self.reader.consume(count);
        self.left -= count;
        Ok(true)
    }
}

/// Reads the head of a request or of a response.
pub(super) fn read_head(reader: &mut BufReader<TcpStream>) -> io::Result<String> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head)? == 0 || head.len() > 64 << 10 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    Ok(head)
}

/// Returns the value of a field of a head.
pub(super) fn field<'h>(head: &'h str, name: &str) -> Option<&'h str> {
    let mut fields = head.lines().filter_map(|line| line.split_once(':'));
    fields.find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
}
