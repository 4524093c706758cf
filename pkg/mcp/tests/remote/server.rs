//! A small HTTP server, whose answers are a function.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::Notify,
    task::JoinHandle,
};

/// A request as it arrived.
#[derive(Debug, Clone)]
pub(super) struct Seen {
    pub(super) method: String,
    pub(super) target: String,
    /// Names in lower case.
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: String,
}

/// An answer.
#[derive(Debug, Default)]
pub(super) struct Reply {
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: String,
}

/// A server on 127.0.0.1, until it is dropped.
pub(super) struct Server {
    address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
    news: Arc<Notify>,
    task: JoinHandle<()>,
}

impl Seen {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        headers.find_map(|(key, value)| (key == name).then_some(value.as_str()))
    }

    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_default()
    }

    /// Returns the answer to this request.
    pub(super) fn result(&self, result: &Value) -> Reply {
        let id = self.json()["id"].clone();
        Reply::json(&json!({ "jsonrpc": "2.0", "id": id, "result": result }))
    }

    /// Answers as a server of the version of 2025 that lists one tool, `f`, and answers each call by `call`.
    pub(super) fn legacy(&self, call: impl FnOnce(&Self) -> Reply) -> Reply {
        self.legacy_in("session-1", call)
    }

    /// Answers so, in a session of this name.
    pub(super) fn legacy_in(&self, session: &str, call: impl FnOnce(&Self) -> Reply) -> Reply {
        match self.json()["method"].as_str() {
            Some("initialize") => {
                let info = json!({
                    "protocolVersion": "2025-11-25",
                    "capabilities": { "tools": {} },
                    "serverInfo": { "name": "small", "version": "1" },
                });
                self.result(&info).header("mcp-session-id", session)
            }
            Some("tools/list") => {
                let tool = json!({ "name": "f", "inputSchema": { "type": "object" } });
                self.result(&json!({ "tools": [tool] }))
            }
            Some("tools/call") => call(self),
            Some("server/discover") => Reply::status(400),
            Some(_) => Reply::status(202),
            None if self.method == "DELETE" => Reply::status(200),
            None => Reply::status(405),
        }
    }
}

impl Reply {
    pub(super) fn status(status: u16) -> Self {
        Self { status, ..Self::default() }
    }

    pub(super) fn json(value: &Value) -> Self {
        Self::status(200).header("content-type", "application/json").body(value.to_string())
    }

    /// Sends events, and ends.
    pub(super) fn events(body: impl Into<String>) -> Self {
        Self::status(200).header("content-type", "text/event-stream").body(body)
    }

    pub(super) fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    pub(super) fn body(mut self, body: impl Into<String>) -> Self {
        self.body = body.into();
        self
    }
}

impl Reply {
    pub(super) fn text(self) -> String {
        self.body
    }
}

impl Server {
    pub(super) async fn start(answer: impl Fn(&Seen) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (seen, news) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Notify::new()));
        let shared = (Arc::clone(&seen), Arc::clone(&news), Arc::new(answer));
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (seen, news, answer) = shared.clone();
                tokio::spawn(async move {
                    // A connection that breaks is the other end's affair.
                    let _broken = serve(stream, &seen, &news, &*answer).await;
                });
            }
        });
        Self { address, seen, news, task }
    }

    pub(super) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(super) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    /// Waits for a request.
    pub(super) async fn wait_for(&self, is_it: impl Fn(&Seen) -> bool) -> Seen {
        loop {
            let news = self.news.notified();
            if let Some(seen) = self.seen().into_iter().find(&is_it) {
                return seen;
            }
            news.await;
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(
    mut stream: TcpStream,
    all: &Mutex<Vec<Seen>>,
    news: &Notify,
    answer: &(dyn Fn(&Seen) -> Reply + Send + Sync),
) -> std::io::Result<()> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break end + 4;
        }
        if stream.read_buf(&mut bytes).await? == 0 {
            return Ok(());
        }
    };
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let mut lines = head.lines();
    let mut words = lines.next().unwrap().split(' ').map(str::to_owned);
    let (method, target) = (words.next().unwrap(), words.next().unwrap());
    let headers = lines.filter_map(|line| line.split_once(": "));
    let headers = headers.map(|(name, value)| (name.to_lowercase(), value.to_owned())).collect();
    let mut seen = Seen { method, target, headers, body: String::new() };
    let length: usize = seen.header("content-length").map_or(0, |it| it.parse().unwrap());
    while bytes.len() < end + length {
        if stream.read_buf(&mut bytes).await? == 0 {
            return Ok(());
        }
    }
    seen.body = String::from_utf8(bytes[end..].to_vec()).unwrap();
    let Reply { status, headers, body } = answer(&seen);
    all.lock().unwrap().push(seen);
    news.notify_waiters();
    let mut head =
        format!("HTTP/1.1 {status} X\r\nconnection: close\r\ncontent-length: {}\r\n", body.len());
    for (name, value) in headers {
        head.extend([name, ": ", &value, "\r\n"]);
    }
    stream.write_all(format!("{head}\r\n{body}").as_bytes()).await?;
    stream.shutdown().await?;
    // The other end closes.
    stream.read_to_end(&mut bytes).await?;
    Ok(())
}
