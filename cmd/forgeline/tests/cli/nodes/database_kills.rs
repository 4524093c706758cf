//! Kills of the database at moments all over runs, and of a node at the same moment.

use std::{
    fs,
    net::SocketAddr,
    path::PathBuf,
    thread,
    time::{Duration, Instant},
};

use forgeline_testkit::{
    nodes::{HttpReply, PacedModel, RunReader, ask},
    say,
};
use serde_json::{Value, json};

use super::{kills::kills, start_apart};

/// Longest wait for a response, and for the end of a run: one whose node was killed waits until the sessions of the others are 10 s old.
const PATIENCE: Duration = Duration::from_mins(1);

/// Pause before a request is sent again.
const AGAIN: Duration = Duration::from_millis(20);

/// Moments of a round, one a run, in milliseconds.
const BEGINNINGS: [u64; 6] = [0, 40, 110, 230, 320, 430];

/// A round of runs on two nodes, as their clients see it.
struct KilledRound {
    number: u32,
    nodes: [SocketAddr; 2],
    model: PacedModel,
    /// The lines of the program of the agent `worker`.
    lines: PathBuf,
    /// `true` if a node is killed together with the database.
    loses_node: bool,
}

/// The main process of the database is killed under runs of all kinds, and in one round of 20 the node that began half of them.
#[test]
fn nothing_acknowledged_is_lost_whenever_the_database_is_killed() {
    let kills = kills();
    let Some(mut bench) = start_apart(2) else { return };
    let work = bench.work();
    // The interpreter starts at once; the program takes as long as a kill.
    let script = "echo begun >> begun.txt\nfor look in 1 2 3; do sleep 0.1; done\n";
    fs::write(work.join("work.sh"), script).unwrap();
    let (mut nodes, mut waits, mut lost_nodes) = ([0, 1], Vec::new(), 0);
    for number in 0..kills {
        let loses_node = number % 20 == 1;
        let round = KilledRound {
            number,
            nodes: nodes.map(|node| bench.address(node)),
            model: bench.model().clone(),
            lines: work.join("begun.txt"),
            loses_node,
        };
        drop(fs::remove_file(&round.lines));
        let killed = thread::scope(|threads| {
            let runs: Vec<_> = (0..BEGINNINGS.len())
                .map(|at| {
                    let round = &round;
                    threads.spawn(move || round.play(at))
                })
                .collect();
            // The moment moves over the runs, from before their first events to behind their last ones.
            let moment = u64::from((number * 37 + 300) % 1_100) + if loses_node { 400 } else { 0 };
            pass(Duration::from_millis(moment));
            if loses_node {
                bench.kill(nodes[0]);
            }
            let killed = Instant::now();
            bench.database().kill();
            let readers = runs.into_iter().map(|run| run.join().unwrap());
            for reader in readers {
                waits.extend(silence(&reader, killed).filter(|_| !loses_node));
            }
            killed
        });
        round.check_work();
        if loses_node {
            lost_nodes += 1;
            nodes = [nodes[1], bench.add()];
        }
        assert!(killed.elapsed() < PATIENCE, "round {number} takes {:?}", killed.elapsed());
    }
    waits.sort();
    let [middle, last] = [waits.len() / 2, waits.len() - 1].map(|at| waits[at]);
    bench.wait_for("SELECT count(*) FROM forgeline.run WHERE ended_ms IS NULL", "0");
    let takeovers = bench.sql("SELECT coalesce(sum(takeovers), 0) FROM forgeline.run");
    say(format!(
        "nodes: {kills} kills of the database, {lost_nodes} of them with a node, under {} runs; {} readers hear nothing \
         for {middle:.2?}, at most {last:.2?}; {takeovers} takeovers",
        bench.sql("SELECT count(*) FROM forgeline.run"),
        waits.len(),
    ));
}

/// Waits; a scope may leave its thread a token that ends a wait early.
fn pass(time: Duration) {
    let begun = Instant::now();
    while let Some(left) = time.checked_sub(begun.elapsed()).filter(|left| !left.is_zero()) {
        thread::park_timeout(left);
    }
}

/// Returns the longest time between two events behind a moment, of a reader that was reading then.
fn silence(reader: &RunReader, since: Instant) -> impl Iterator<Item = Duration> {
    let pairs = reader.events().windows(2).filter(move |pair| pair[1].at > since);
    pairs.map(move |pair| pair[1].at.duration_since(pair[0].at.max(since))).max().into_iter()
}

impl KilledRound {
    /// Plays one run, and returns what its reader has read.
    fn play(&self, at: usize) -> RunReader {
        thread::park_timeout(Duration::from_millis(BEGINNINGS[at]));
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
        let (mut reader, ids) = self.begin(at, "paced", &prompt);
        self.end(&mut reader, &ids, &prompt);
        assert!(reader.text().ends_with("w58 w59 "), "{ids:?}: {}", reader.text());
        self.check_requests(&prompt);
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
        self.command(&ids, "inputs", &json!({ "input": said, "when": "now" }));
        self.end(&mut reader, &ids, &said);
        let Self { number, loses_node, .. } = self;
        let kinds: Vec<_> = reader.events().iter().map(|event| &*event.kind).collect();
        let kinds: Vec<_> = kinds.chunk_by(|one, next| one == next).map(|same| same[0]).collect();
        let is_right = reader.text().ends_with("w0 w1 w2 ");
        assert!(is_right, "round {number}, loses a node: {loses_node}, {ids:?}: {kinds:?}");
        self.check_requests(&said);
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
        let reply = self.send(at, "/v1/runs", &key, &body);
        assert_eq!(reply.status, 202, "{input}: {reply:?}");
        let begun = reply.json();
        let ids = ["run_id", "conversation_id"].map(|id| begun[id].as_str().unwrap().to_owned());
        let nodes = [1, 0].map(|next| self.nodes[(at + next) % 2]).to_vec();
        (RunReader::new(nodes, &ids[0], PATIENCE), ids)
    }

    fn command(&self, [run, _]: &[String; 2], kind: &str, body: &Value) {
        let reply = self.send(1, &format!("/v1/runs/{run}/{kind}"), kind, body);
        assert!([200, 202].contains(&reply.status), "{run}, {kind}: {reply:?}");
    }

    /// Sends a request with a key to each node in turn, until one has an answer.
    fn send(&self, first: usize, path: &str, key: &str, body: &Value) -> HttpReply {
        let (begun, key) = (Instant::now(), format!("idempotency-key: {key}\r\n"));
        let mut last = None;
        for node in (first..).map(|at| self.nodes[at % 2]) {
            assert!(begun.elapsed() < PATIENCE, "{path} is not answered: {last:?}");
            match ask(node, ["POST", path], &key, Some(body), PATIENCE) {
                Ok(reply) if reply.status < 500 => return reply,
                other => last = Some(other),
            }
            thread::park_timeout(AGAIN);
        }
        unreachable!("the nodes are taken in turn for ever")
    }

    /// Gets the resource at a path from the node that lives.
    fn get(&self, path: &str) -> Value {
        let reply = ask(self.nodes[1], ["GET", path], "", None, PATIENCE).unwrap();
        assert_eq!(reply.status, 200, "{path}: {reply:?}");
        reply.json()
    }

    /// Reads to the end of a run, and checks that it is the same for whoever reads later, and that what was said is in the conversation.
    fn end(&self, reader: &mut RunReader, [run, conversation]: &[String; 2], said: &str) {
        let end = reader.until_end();
        let is_work = said.starts_with("work") && self.loses_node;
        assert!(is_work || end.data["status"] == "completed", "{run}: {}", end.data);
        let mut again = RunReader::new(vec![self.nodes[1]], run, PATIENCE);
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

    /// A run asks its model again only once: its node died, or does not know whether its last state is stored, and goes on from that in the database.
    fn check_requests(&self, prompt: &str) {
        let requests = self.model.requests(prompt);
        assert!((1..=2).contains(&requests), "{prompt:?} was sent {requests} times");
    }

    /// A call that was granted has one result, unless its node died with it.
    fn check_results(&self, reader: &RunReader) {
        let results = reader.count("tool_result");
        let is_right = results == 1 || self.loses_node && results == 0;
        assert!(is_right, "{results} results: {}", reader.text());
    }

    /// The program, which may not be repeated, was begun once; a node that dies may not have come to it.
    fn check_work(&self) {
        let begun = fs::read_to_string(&self.lines).unwrap_or_default().lines().count();
        assert!(begun == 1 || self.loses_node && begun == 0, "the program was begun {begun} times");
    }
}
