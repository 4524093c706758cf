//! A model that writes as slowly as its prompt says, for the nodes of a bench.

use std::{
    collections::HashMap,
    io::{self, BufReader, ErrorKind, Read as _, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::Duration,
};

use serde_json::{Value, json};

use super::http::{field, read_head};

/// The head of a streamed answer.
const HEAD: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";

/// Pause between two signs of life of an answer that is held.
const SIGN_OF_LIFE: Duration = Duration::from_secs(10);

/// A server of Chat Completions. A prompt such as `write 20 words, one each 50 ms` sets the length and the pace of the answer; with `and hold 5`, its first
/// answer stops behind 5 words until its connection ends. To `work`, it calls the program of the agent `worker`. Dropping it leaves its thread to the end of the process.
#[derive(Debug, Clone)]
pub struct PacedModel {
    address: SocketAddr,
    requests: Arc<Mutex<HashMap<String, usize>>>,
}

/// An answer as a prompt sets it.
#[derive(Debug, Clone, Copy)]
struct AnswerPace {
    words: usize,
    each: Duration,
    hold: Option<usize>,
}

impl PacedModel {
    /// Starts the server.
    ///
    /// # Panics
    ///
    /// Panics when no port is free.
    #[must_use]
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let model = Self { address, requests: Arc::default() };
        let served = model.clone();
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let served = served.clone();
                thread::spawn(move || drop(served.serve(stream)));
            }
        });
        model
    }

    /// Returns the base URL of its API.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Returns how often it was asked a prompt.
    #[must_use]
    pub fn requests(&self, prompt: &str) -> usize {
        let requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        requests.get(prompt).copied().unwrap_or(0)
    }

    fn serve(&self, stream: TcpStream) -> io::Result<()> {
        stream.set_nodelay(true)?;
        let mut reader = BufReader::new(stream.try_clone()?);
        let mut stream = stream;
        loop {
            let head = read_head(&mut reader)?;
            let length = field(&head, "content-length").and_then(|length| length.parse().ok());
            let mut body = vec![0; length.unwrap_or(0)];
            reader.read_exact(&mut body)?;
            if head.starts_with("GET ") {
                let body = json!({ "data": [{ "id": "paced", "object": "model" }] }).to_string();
                let length = body.len();
                write!(
                    stream,
                    "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
                )?;
                continue;
            }
            let request: Value = serde_json::from_slice(&body).unwrap_or_default();
            let prompt = last_message(&request);
            let asked = {
                let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
                let count = requests.entry(prompt.clone()).or_default();
                *count += 1;
                *count
            };
            return match call(&request) {
                Some(delta) => write_call(&mut stream, &delta),
                None => answer(&mut stream, pace(&prompt), asked),
            };
        }
    }
}

/// Returns the call of a program for a prompt such as `work`, which comes with the tool and without its result.
fn call(request: &Value) -> Option<Value> {
    let last = request["messages"].as_array()?.last()?;
    let is_work = last["role"] == "user" && last_message(request).starts_with("work");
    let names = request["tools"].as_array()?.iter().map(|tool| &tool["function"]["name"]);
    let mut names = names.filter(|name| name.as_str().is_some_and(|it| it.contains("command")));
    let name = names.next().filter(|_| is_work)?;
    let function = json!({ "name": name, "arguments": "{\"command\":[\"sh\",\"work.sh\"]}" });
    let call = json!({ "index": 0, "id": "call-1", "type": "function", "function": function });
    Some(json!({ "choices": [{ "index": 0, "delta": { "tool_calls": [call] } }] }))
}

fn write_call(stream: &mut TcpStream, delta: &Value) -> io::Result<()> {
    let end = json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "tool_calls" }] });
    write!(stream, "{HEAD}data: {delta}\n\ndata: {end}\n\ndata: [DONE]\n\n")
}

fn answer(stream: &mut TcpStream, pace: AnswerPace, asked: usize) -> io::Result<()> {
    write!(stream, "{HEAD}")?;
    for word in 0..pace.words {
        if pace.hold == Some(word) && asked == 1 {
            // Only the end of the connection ends this; a comment now and then says that the server lives.
            stream.set_read_timeout(Some(SIGN_OF_LIFE))?;
            while let Err(error) = stream.read(&mut [0]) {
                if !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) {
                    return Err(error);
                }
                write!(stream, ": held\n\n")?;
            }
            return Ok(());
        }
        let delta =
            json!({ "choices": [{ "index": 0, "delta": { "content": format!("w{word} ") } }] });
        write!(stream, "data: {delta}\n\n")?;
        if !pace.each.is_zero() {
            thread::park_timeout(pace.each);
        }
    }
    let end = json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "stop" }] });
    write!(stream, "data: {end}\n\ndata: [DONE]\n\n")
}

fn last_message(request: &Value) -> String {
    let messages = request["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let said = messages.iter().rev().find(|message| message["role"] == "user");
    let content = said.map(|message| message["content"].clone()).unwrap_or_default();
    // Messages without an answer between them come as one: the last one counts.
    let last = content.as_array().and_then(|parts| parts.last()).map(|part| &part["text"]);
    let text = last.unwrap_or(&content).as_str().unwrap_or_default();
    text.lines().next_back().unwrap_or_default().to_owned()
}

fn pace(prompt: &str) -> AnswerPace {
    let number = |behind: &str| {
        let (_, rest) = prompt.split_once(behind)?;
        rest.split(|sign: char| !sign.is_ascii_digit()).find(|it| !it.is_empty())?.parse().ok()
    };
    AnswerPace {
        words: number("write ").unwrap_or(3),
        each: Duration::from_millis(number(" each ").unwrap_or(0) as u64),
        hold: number(" hold "),
    }
}
