//! Clients of runs of all kinds on nodes that end: each looks at whatever it was promised.

use std::{
    io,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use forgeline_testkit::{
    nodes::{HttpReply, PacedModel, RunReader, ask},
    say,
};
use serde_json::{Value, json};

/// Pause before a request is sent again.
const AGAIN: Duration = Duration::from_millis(20);

/// The number of kinds of runs: two write, one waits for an approval, one for its client, one is steered, one runs a program.
pub(super) const KINDS: usize = 6;

/// The clients of some runs, one of each kind.
#[derive(Debug, Clone)]
pub(super) struct RunClients {
    /// The number by which prompts and keys differ.
    pub(super) number: usize,
    /// The addresses to which requests go in turn.
    pub(super) nodes: [SocketAddr; 2],
    pub(super) model: PacedModel,
    /// The number of nodes that have ended.
    pub(super) moves: Arc<AtomicUsize>,
    /// `true` if a node may be killed meanwhile.
    pub(super) loses_node: bool,
    /// The longest wait for a response, and for the end of a run.
    pub(super) patience: Duration,
}

impl RunClients {
    /// Plays the run of a kind, one of [`KINDS`], to its end, and returns what its reader has read.
    pub(super) fn play(&self, at: usize) -> RunReader {
        match at {
            0 | 1 => self.write(at),
            2 => self.approve(at),
            3 => self.answer(at),
            4 => self.steer(at),
            _ => self.work(at),
        }
    }

    fn write(&self, at: usize) -> RunReader {
        let prompt = format!("write 60 words, one each 10 ms, round {} {at}", self.number);
        let moves = self.moves();
        let (mut reader, ids) = self.begin(at, "paced", &prompt);
        self.end(&mut reader, &ids, &prompt);
        assert!(reader.text().ends_with("w58 w59 "), "{ids:?}: {}", reader.text());
        self.check_requests(&prompt, moves);
        reader
    }

    fn approve(&self, at: usize) -> RunReader {
        let prompt = format!("Call notes.keep with \"Buy milk {}.\"", self.number);
        let (mut reader, ids) = self.begin(at, "demo", &prompt);
        let asked = reader.until_kind("tool_approval_request").data["approval_id"].clone();
        let grant = json!({ "approval_id": asked, "decision": "grant" });
        self.command(&ids, "approvals", &grant);
        self.end(&mut reader, &ids, "Buy milk");
        self.check_results(&reader);
        reader
    }

    fn answer(&self, at: usize) -> RunReader {
        let (mut reader, ids) = self.begin(at, "demo", "Use ask_user: \"Which colour?\"");
        let asked = reader.until_kind("client_tool_request").data["client_call_id"].clone();
        let answer = json!({ "client_call_id": asked, "result": { "content": "green" } });
        self.command(&ids, "tool-results", &answer);
        self.end(&mut reader, &ids, "Which colour?");
        assert!(reader.text().contains("green"), "{ids:?}: {}", reader.text());
        assert_eq!(reader.count("tool_result"), 1, "{ids:?}: {}", reader.text());
        reader
    }

    fn steer(&self, at: usize) -> RunReader {
        let prompt = format!("write 6000 words, one each 10 ms, round {}", self.number);
        let (mut reader, ids) = self.begin(at, "paced", &prompt);
        reader.until_kind("message_content");
        let said = format!("write 3 words, round {}", self.number);
        let moves = self.moves();
        self.command(&ids, "inputs", &json!({ "input": said, "when": "now" }));
        self.end(&mut reader, &ids, &said);
        let Self { number, loses_node, .. } = self;
        let kinds: Vec<_> = reader.events().iter().map(|event| &*event.kind).collect();
        let kinds: Vec<_> = kinds.chunk_by(|one, next| one == next).map(|same| same[0]).collect();
        let (text, asked) = (reader.text(), self.model.requests(&said));
        let end = text.get(text.len().saturating_sub(60)..).unwrap_or_default();
        assert!(
            text.ends_with("w0 w1 w2 "),
            "number {number}, loses a node: {loses_node}, {ids:?}: {kinds:?}, asked {asked} times, ends with {end:?}"
        );
        self.check_requests(&said, moves);
        reader
    }

    fn work(&self, at: usize) -> RunReader {
        let prompt = format!("work, round {}", self.number);
        let (mut reader, ids) = self.begin(at, "worker", &prompt);
        self.end(&mut reader, &ids, &prompt);
        reader
    }

    /// Begins a run, and returns its reader and the ids of the run and of its conversation.
    fn begin(&self, at: usize, agent: &str, input: &str) -> (RunReader, [String; 2]) {
        let body = json!({ "agent": agent, "input": input });
        let key = format!("round-{}-{at}", self.number);
        let reply = self.send(at, ["POST", "/v1/runs"], &key, Some(&body));
        assert_eq!(reply.status, 202, "{input}: {reply:?}");
        let begun = reply.json();
        let ids = ["run_id", "conversation_id"].map(|id| begun[id].as_str().unwrap().to_owned());
        let nodes = [1, 0].map(|next| self.nodes[(at + next) % 2]).to_vec();
        (RunReader::new(nodes, &ids[0], self.patience), ids)
    }

    fn command(&self, [run, _]: &[String; 2], kind: &str, body: &Value) {
        let (reply, earlier) =
            self.try_send(1, ["POST", &format!("/v1/runs/{run}/{kind}")], kind, Some(body));
        if ![200, 202].contains(&reply.status) {
            say(format!("{run}, {kind}: {body}: {reply:?}, before it {earlier:?}"));
            let mut reader = RunReader::new(self.nodes.to_vec(), run, self.patience);
            reader.until_end();
            let events = reader.events().iter().map(|it| (it.id, &*it.kind, it.data.to_string()));
            let events: Vec<_> = events.filter(|it| it.1 != "message_content").collect();
            panic!("{run}, {kind}: {body}: {reply:?}, before it {earlier:?}; {events:#?}");
        }
    }

    /// Sends a request, with a key unless that is empty, to each node in turn, until one has an answer.
    fn send(&self, first: usize, to: [&str; 2], key: &str, body: Option<&Value>) -> HttpReply {
        self.try_send(first, to, key, body).0
    }

    /// Sends a request as [`send`](Self::send) does; returns what came before the answer, too.
    fn try_send(
        &self,
        first: usize,
        to: [&str; 2],
        key: &str,
        body: Option<&Value>,
    ) -> (HttpReply, Vec<io::Result<HttpReply>>) {
        let key =
            if key.is_empty() { String::new() } else { format!("idempotency-key: {key}\r\n") };
        let begun = Instant::now();
        let mut earlier = Vec::new();
        for node in (first..).map(|at| self.nodes[at % 2]) {
            assert!(begun.elapsed() < self.patience, "{to:?} is not answered: {earlier:?}");
            match ask(node, to, &key, body, self.patience) {
                Ok(reply) if reply.status < 500 => return (reply, earlier),
                other => earlier.push(other),
            }
            thread::park_timeout(AGAIN);
        }
        unreachable!("the nodes are taken in turn for ever")
    }

    /// Gets the resource at a path, first from the node that lives.
    fn get(&self, path: &str) -> Value {
        let reply = self.send(1, ["GET", path], "", None);
        assert_eq!(reply.status, 200, "{path}: {reply:?}");
        reply.json()
    }

    /// Reads to the end of a run, and checks that it is the same for whoever reads later, and that what was said is in the conversation.
    fn end(&self, reader: &mut RunReader, [run, conversation]: &[String; 2], said: &str) {
        let end = reader.until_end();
        let is_work = said.starts_with("work") && self.loses_node;
        assert!(is_work || end.data["status"] == "completed", "{run}: {}", end.data);
        let mut again = RunReader::new(vec![self.nodes[1]], run, self.patience);
        again.until_end();
        let shape = |reader: &RunReader| -> Vec<_> {
            let events = reader.events().iter();
            events.map(|it| (it.id, it.kind.clone(), it.data.clone())).collect()
        };
        assert_eq!(shape(reader), shape(&again), "{run}");
        let page = self.get(&format!("/v1/conversations/{conversation}"));
        let messages = page["page"]["messages"].as_array().unwrap();
        let mine =
            messages.iter().filter(|it| it["role"] == "user" || it["message"]["role"] == "user");
        let count = mine.filter(|message| message.to_string().contains(said)).count();
        assert_eq!(count, 1, "{run}: {said:?} in {page}");
    }

    /// A run asks its model again only once: its node died, or does not know whether its last state is stored, and goes on from that in the database. It does
    /// so once more for each node that has ended since a number of them.
    fn check_requests(&self, prompt: &str, moves: usize) {
        let (requests, most) = (self.model.requests(prompt), 2 + self.moves() - moves);
        assert!(
            (1..=most).contains(&requests),
            "{prompt:?} was sent {requests} times, at most {most}"
        );
    }

    /// Returns how many nodes have ended.
    fn moves(&self) -> usize {
        self.moves.load(Ordering::SeqCst)
    }

    /// A call that was granted has one result, unless its node died with it.
    fn check_results(&self, reader: &RunReader) {
        let results = reader.count("tool_result");
        let is_right = results == 1 || self.loses_node && results == 0;
        assert!(is_right, "{results} results: {}", reader.text());
    }
}
