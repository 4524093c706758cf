//! A client that reads a run like a browser: it reconnects with the last id that it has.

use std::{
    io,
    net::SocketAddr,
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;

use super::http::open;

/// Pause before a client connects again.
const AGAIN: Duration = Duration::from_millis(20);

/// An event as it arrived.
#[derive(Debug, Clone)]
pub struct ReadEvent {
    /// The id.
    pub id: u64,
    /// The kind.
    pub kind: String,
    /// The data.
    pub data: Value,
    /// The moment at which it arrived.
    pub at: Instant,
}

/// A client of the events of a run, which checks that each comes once and in order.
#[derive(Debug)]
pub struct RunReader {
    path: String,
    nodes: Vec<SocketAddr>,
    next: usize,
    events: Vec<ReadEvent>,
    connections: usize,
    patience: Duration,
}

impl RunReader {
    /// Returns a client that connects to these addresses in turn, and waits at most `patience` for what it is asked to read until.
    #[must_use]
    pub fn new(nodes: Vec<SocketAddr>, run: &str, patience: Duration) -> Self {
        let path = format!("/v1/runs/{run}/events");
        Self { path, nodes, next: 0, events: Vec::new(), connections: 0, patience }
    }

    /// Returns what it has read.
    #[must_use]
    pub fn events(&self) -> &[ReadEvent] {
        &self.events
    }

    /// Returns how often it has connected.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.connections
    }

    /// Returns the text of the answer, without what a later attempt took back.
    #[must_use]
    pub fn text(&self) -> String {
        let texts = self.events.iter().filter(|event| event.kind == "message_content");
        texts.filter_map(|event| event.data["content"].as_str()).collect()
    }

    /// Returns how many events of a kind it has read.
    #[must_use]
    pub fn count(&self, kind: &str) -> usize {
        self.events.iter().filter(|event| event.kind == kind).count()
    }

    /// Reads until the end of the run.
    ///
    /// # Panics
    ///
    /// As [`until`](Self::until).
    pub fn until_end(&mut self) -> ReadEvent {
        self.until(|event| event.kind == "run_end")
    }

    /// Reads until the next event of a kind.
    ///
    /// # Panics
    ///
    /// As [`until`](Self::until).
    pub fn until_kind(&mut self, kind: &str) -> ReadEvent {
        self.until(|event| event.kind == kind)
    }

    /// Reads until the next event for which `is_it` holds, and returns it. Later events of that connection are read again.
    ///
    /// # Panics
    ///
    /// Panics when an event is missing, comes twice or out of order, when the service refuses the request, and when its patience ends.
    pub fn until(&mut self, is_it: impl Fn(&ReadEvent) -> bool) -> ReadEvent {
        let begun = Instant::now();
        loop {
            if let Ok(Some(found)) = self.connect(begun, &is_it) {
                return found;
            }
            let kinds: Vec<_> = self.events.iter().map(|event| event.kind.as_str()).collect();
            assert!(
                begun.elapsed() < self.patience,
                "{}: the event does not come behind {kinds:?}",
                self.path
            );
            thread::park_timeout(AGAIN);
        }
    }

    /// Reads on one connection; returns what was looked for.
    fn connect(
        &mut self,
        begun: Instant,
        is_it: &impl Fn(&ReadEvent) -> bool,
    ) -> io::Result<Option<ReadEvent>> {
        let left = self.patience.saturating_sub(begun.elapsed()).max(AGAIN);
        let node = self.nodes[self.next % self.nodes.len()];
        self.next += 1;
        let after = self.events.last().map(|event| format!("last-event-id: {}\r\n", event.id));
        let after = after.unwrap_or_default();
        let mut response = open(node, ["GET", &self.path], &after, None, left)?;
        self.connections += 1;
        if response.status >= 500 {
            return Ok(None);
        }
        assert_eq!(response.status, 200, "{} at {node}: {after:?}", self.path);
        let (mut bytes, mut done) = (Vec::new(), 0);
        while response.next_piece(&mut bytes)? {
            let arrived = Instant::now();
            while let Some(end) = find(&bytes[done..]) {
                let frame = String::from_utf8_lossy(&bytes[done..done + end]).into_owned();
                done += end + 2;
                let Some(event) = parse(&frame, arrived) else { continue };
                if let Some(last) = self.events.last() {
                    assert_eq!(event.id, last.id + 1, "a gap, or an event twice: {frame}");
                }
                self.events.push(event.clone());
                if is_it(&event) {
                    return Ok(Some(event));
                }
            }
        }
        Ok(None)
    }
}

/// Returns where the blank line at the end of a frame begins.
fn find(bytes: &[u8]) -> Option<usize> {
    bytes.windows(2).position(|pair| pair == b"\n\n")
}

/// Reads a frame; `None` for a comment.
fn parse(frame: &str, at: Instant) -> Option<ReadEvent> {
    let field = |name: &str| frame.lines().find_map(|line| line.strip_prefix(name));
    let id = field("id: ")?.parse().ok()?;
    let data = field("data: ").and_then(|data| serde_json::from_str(data).ok());
    Some(ReadEvent { id, kind: field("event: ")?.to_owned(), data: data.unwrap_or_default(), at })
}
