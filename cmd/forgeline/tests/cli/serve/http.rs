//! A connection with the service, in as few words as HTTP needs.

use std::{
    io::{self, BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    time::Duration,
};

use serde_json::Value;

use crate::flood::SOON;

/// A connection.
#[derive(Debug)]
pub(crate) struct Connection {
    reader: BufReader<TcpStream>,
    host: String,
}

/// An answer; a body that goes on is empty.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let fields = self.head.lines().filter_map(|line| line.split_once(": "));
        fields.into_iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }
}

impl Connection {
    pub(crate) fn to(host: &str) -> io::Result<Self> {
        let stream = TcpStream::connect(host)?;
        stream.set_read_timeout(Some(SOON))?;
        stream.set_write_timeout(Some(SOON))?;
        Ok(Self { reader: BufReader::new(stream), host: host.to_owned() })
    }

    /// Fails a read for which nothing comes within this time.
    pub(crate) fn within(self, limit: Duration) -> Self {
        self.reader.get_ref().set_read_timeout(Some(limit)).unwrap();
        self
    }

    /// Writes these bytes.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.reader.get_mut().write_all(bytes)
    }

    /// Writes a request, with these headers besides.
    pub(crate) fn ask(&mut self, method: &str, path: &str, more: &str, body: &str) {
        let host = &self.host;
        let length = body.len();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: {host}\r\ncontent-length: {length}\r\n{more}\r\n"
        );
        self.write(&[head.as_bytes(), body.as_bytes()].concat()).unwrap();
    }

    /// Sends a request and reads the whole answer.
    pub(crate) fn send(&mut self, method: &str, path: &str, body: Option<&Value>) -> Answer {
        let kind = body.map_or("", |_| "content-type: application/json\r\n");
        self.ask(method, path, kind, &body.map(Value::to_string).unwrap_or_default());
        self.answer()
    }

    /// Reads a whole answer.
    pub(crate) fn answer(&mut self) -> Answer {
        let mut answer = self.head();
        answer.body = self.body(&answer);
        answer
    }

    /// Reads the first line of an answer.
    pub(crate) fn first_line(&mut self) -> String {
        let mut line = String::new();
        self.reader.read_line(&mut line).unwrap();
        line
    }

    /// What comes, as it is.
    pub(crate) fn raw(&mut self) -> &mut impl io::Read {
        &mut self.reader
    }

    /// Reads the head of an answer.
    pub(crate) fn head(&mut self) -> Answer {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            let read = self.reader.read_line(&mut head).unwrap();
            assert!(read > 0, "the connection ended behind {head:?}");
        }
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Answer { status, head, body: String::new() }
    }

    fn body(&mut self, answer: &Answer) -> String {
        if answer.header("transfer-encoding").is_some() {
            return self.rest();
        }
        let length = answer.header("content-length").map_or(0, |length| length.parse().unwrap());
        let mut body = vec![0; length];
        self.reader.read_exact(&mut body).unwrap();
        String::from_utf8(body).unwrap()
    }

    /// Reads chunks until the last one.
    pub(crate) fn rest(&mut self) -> String {
        let mut body = String::new();
        while let Some(chunk) = self.chunk() {
            body.push_str(&chunk);
        }
        body
    }

    /// Reads the next chunk.
    pub(crate) fn chunk(&mut self) -> Option<String> {
        let mut size = String::new();
        self.reader.read_line(&mut size).unwrap();
        let size = usize::from_str_radix(size.trim_end(), 16).unwrap();
        let mut chunk = vec![0; size + 2];
        self.reader.read_exact(&mut chunk).unwrap();
        chunk.truncate(size);
        (size > 0).then(|| String::from_utf8(chunk).unwrap())
    }
}
