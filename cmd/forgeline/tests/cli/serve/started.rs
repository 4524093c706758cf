//! A service that runs.

use std::{
    io::{self, BufRead as _, BufReader},
    process::Child,
    sync::mpsc::{self, Receiver},
    thread,
};

use forgeline_testkit::say;
use serde_json::{Value, json};

use super::http::{Answer, Connection};
use crate::{
    flood::{self, SOON, signal},
    process::forgeline,
};

/// A service, which ends with this.
pub(crate) struct Started {
    child: Option<Child>,
    pub(crate) link: String,
    /// A connection that was there from the beginning.
    pub(crate) kept: Connection,
    stderr: Receiver<String>,
}

impl Started {
    /// Starts the demo.
    pub(crate) fn demo() -> Self {
        Self::with(&["--provider", "demo"])
    }

    /// Starts with these arguments, on a port that is free; without tokens for programs of this machine, unless the arguments decide.
    pub(crate) fn with(arguments: &[&str]) -> Self {
        let decides = ["--tokens", "--config"].iter().any(|flag| arguments.contains(flag));
        let open: &[&str] = if decides { &[] } else { &["--no-auth"] };
        Self::exactly(&[open, arguments].concat())
    }

    /// Starts with these arguments alone.
    pub(crate) fn exactly(arguments: &[&str]) -> Self {
        Self::at("127.0.0.1:0", arguments)
    }

    /// Starts with these arguments at an address.
    pub(crate) fn at(address: &str, arguments: &[&str]) -> Self {
        let mut child =
            forgeline(&[&["serve", "--listen", address], arguments].concat()).spawn().unwrap();
        let (sender, stderr) = mpsc::channel();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        thread::spawn(move || lines.map_while(Result::ok).for_each(|it| drop(sender.send(it))));
        let mut first = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
        let Some((_, link)) = first.trim_end().split_once(" at ") else {
            panic!("no link: {first:?} {:?}", stderr.iter().collect::<Vec<_>>());
        };
        let (link, kept) = (link.to_owned(), Connection::to(host(link)).unwrap());
        Self { child: Some(child), link, kept, stderr }
    }

    pub(crate) fn connect(&self) -> io::Result<Connection> {
        Connection::to(host(&self.link))
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.connect().unwrap().send("GET", path, None)
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Answer {
        self.connect().unwrap().send("POST", path, Some(body))
    }

    /// Begins to read a stream.
    pub(crate) fn open(&self, path: &str) -> Connection {
        let mut connection = self.connect().unwrap();
        connection.ask("GET", path, "", "");
        assert_eq!(connection.head().status, 200);
        connection
    }

    /// Begins a run; returns its id.
    pub(crate) fn begin(&self, input: &str) -> String {
        let answer = self.post("/v1/runs", &json!({ "input": input }));
        assert_eq!(answer.status, 202, "{answer:?}");
        answer.json()["run_id"].as_str().unwrap().to_owned()
    }

    /// Reads a run until an event of this kind; returns its data.
    pub(crate) fn until(&self, run: &str, kind: &str) -> Value {
        let mut stream = self.open(&format!("/v1/runs/{run}/events"));
        let mut seen = String::new();
        while let Some(chunk) = stream.chunk() {
            seen.push_str(&chunk);
            let mut frames = seen.split("\n\n");
            let found = frames.find(|frame| frame.contains(&format!("event: {kind}\n")));
            if let Some((_, data)) = found.and_then(|frame| frame.split_once("data: ")) {
                return serde_json::from_str(data).unwrap();
            }
        }
        panic!("no {kind} in {seen}");
    }

    /// Reads a run to its end; returns its text.
    pub(crate) fn answer(&self, run: &str) -> String {
        let events = self.get(&format!("/v1/runs/{run}/events")).body;
        assert!(events.contains("event: run_end\n"), "{events}");
        let data = events.lines().filter_map(|line| line.strip_prefix("data: "));
        let data = data.map(|data| serde_json::from_str::<Value>(data).unwrap());
        let texts = data.filter(|it| it["type"] == "message_content");
        texts.map(|it| it["content"].as_str().unwrap().to_owned()).collect()
    }

    /// Waits for the next line on stderr.
    pub(crate) fn line(&self) -> String {
        self.stderr.recv_timeout(SOON).unwrap()
    }

    /// Waits until it says this on stderr.
    pub(crate) fn says(&self, words: &str) {
        while !self.stderr.recv_timeout(SOON).unwrap().contains(words) {}
    }

    /// Sends a signal.
    pub(crate) fn signal(&self, name: &str) {
        signal(self.child.as_ref().unwrap(), name);
    }

    /// Sends a signal; returns the exit code.
    pub(crate) fn end(self, with: &str) -> Option<i32> {
        self.signal(with);
        self.ended()
    }

    /// Waits for the end; returns the exit code.
    pub(crate) fn ended(mut self) -> Option<i32> {
        flood::ended(self.child.take().unwrap())
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            // A test that fails shows what the service said.
            if thread::panicking() {
                let said: Vec<String> = self.stderr.try_iter().collect();
                say(format!("the service, {:?}: {}", child.try_wait(), said.join("\n")));
            }
            drop(child.kill());
            drop(child.wait());
        }
    }
}

pub(crate) fn host(link: &str) -> &str {
    let link = link.split('#').next().unwrap();
    link.strip_prefix("http://").unwrap().trim_end_matches('/')
}
