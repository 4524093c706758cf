//! A database whose disk is full, and one that may not be written.

use std::{
    fs,
    net::SocketAddr,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use forgeline_testkit::{
    nodes::{HttpReply, NodeBench, NodeProcess, PacedModel, RunReader, ask},
    postgres::give,
    say,
    small_disk::SmallDisk,
};
use serde_json::json;

/// Longest wait for what the machine does as soon as it can.
const PATIENCE: Duration = Duration::from_mins(2);

/// Pause before a request is sent again.
const AGAIN: Duration = Duration::from_millis(50);

/// Starts nodes whose tables are on a small disk; `None` where there is none, or no `PostgreSQL`.
fn start(count: usize) -> Option<(SmallDisk, NodeBench)> {
    let disk = SmallDisk::mount(48)?;
    give(disk.folder());
    let program = Path::new(env!("CARGO_BIN_EXE_forgeline"));
    let mut bench = NodeBench::start_with(program, 0, &["default_tablespace=small"])?;
    let place = disk.folder().display();
    assert_eq!(bench.sql(&format!("CREATE TABLESPACE small LOCATION '{place}'")), "");
    for _ in 0..count {
        bench.add();
    }
    Some((disk, bench))
}

/// Begins runs until one is refused; returns the refusal, and the runs that were accepted.
fn until_refused(at: SocketAddr) -> (HttpReply, Vec<String>) {
    let (begun, mut runs) = (Instant::now(), Vec::new());
    // Long messages take new pages of the tables soon.
    let said = format!("{} What is 6*7?", "Be exact. ".repeat(2_000));
    let body = json!({ "agent": "demo", "input": said });
    loop {
        let reply = ask(at, ["POST", "/v1/runs"], "", Some(&body), PATIENCE).unwrap();
        match reply.status {
            202 => runs.push(reply.json()["run_id"].as_str().unwrap().to_owned()),
            507 => return (reply, runs),
            other => assert!(other >= 500, "{reply:?}"),
        }
        assert!(begun.elapsed() < PATIENCE, "it is never refused: {reply:?}");
        thread::park_timeout(AGAIN);
    }
}

/// Begins a run as soon as that is accepted, and reads it to its end.
fn until_accepted(bench: &NodeBench, at: SocketAddr) {
    let (begun, body) = (Instant::now(), json!({ "agent": "demo", "input": "What is 6*7?" }));
    loop {
        let reply = bench.post(at, "/v1/runs", &body);
        if reply.status == 202 {
            let run = reply.json()["run_id"].as_str().unwrap().to_owned();
            let mut reader = RunReader::new(vec![at], &run, PATIENCE);
            reader.until_end();
            assert!(reader.text().contains("6*7 = 42"), "{}", reader.text());
            return;
        }
        assert!(reply.status >= 500 && begun.elapsed() < PATIENCE, "{reply:?}");
        thread::park_timeout(AGAIN);
    }
}

/// Reads what there is of a run at a node, by the events of a reader that has read it elsewhere.
fn read_again(at: SocketAddr, run: &str, seen: &RunReader) {
    let last = seen.events().last().unwrap().id;
    let mut again = RunReader::new(vec![at], run, PATIENCE);
    again.until(|event| event.id == last);
    let data = |reader: &RunReader| -> Vec<_> {
        reader.events().iter().map(|event| (event.id, event.data.clone())).collect()
    };
    assert_eq!(data(&again), data(seen));
}

/// Whatever is refused says so, whatever was accepted goes on once there is room.
#[test]
fn runs_wait_while_the_disk_is_full_and_go_on_when_there_is_room() {
    let Some((disk, bench)) = start(2) else { return };
    let [here, other] = [0, 1].map(|at| bench.address(at));
    // They need more room than pages that are there already have.
    let mut works: Vec<_> = (0..4)
        .map(|number| {
            let prompt = format!("write 3000 words, one each 2 ms, number {number}");
            let run = bench.begin(here, "paced", &prompt);
            let mut reader = RunReader::new(vec![other, here], &run, PATIENCE);
            reader.until_kind("message_content");
            (run, reader)
        })
        .collect();
    let waits = bench.begin(here, "demo", "Call notes.keep with \"Buy milk.\"");
    let mut asked = RunReader::new(vec![other], &waits, PATIENCE);
    let approval = asked.until_kind("tool_approval_request").data["approval_id"].clone();
    disk.fill();
    let (refused, accepted) = until_refused(here);
    assert_eq!(refused.kind, "application/problem+json");
    let problem = refused.json();
    assert_eq!(problem["code"], "store_full", "{problem}");
    assert!(problem["detail"].as_str().unwrap().contains("make room"), "{problem}");
    // Readers read, at each of the nodes.
    for at in [here, other] {
        read_again(at, &waits, &asked);
        for (run, reader) in &works {
            read_again(at, run, reader);
        }
    }
    // Some have met the end of the disk: they are worked on no longer, and have no end.
    bench.node(0).wait_for_log("a run is stopped here", PATIENCE);
    let open = format!("SELECT ended_ms IS NULL FROM forgeline.run WHERE id = '{waits}'");
    assert_eq!(bench.sql(&open), "t", "it waits");
    disk.make_room();
    let answer = json!({ "approval_id": approval, "decision": "grant" });
    let begun = Instant::now();
    loop {
        let reply = bench.post(other, &format!("/v1/runs/{waits}/approvals"), &answer);
        if [200, 202].contains(&reply.status) {
            break;
        }
        assert!(reply.status >= 500 && begun.elapsed() < PATIENCE, "{reply:?}");
        thread::park_timeout(AGAIN);
    }
    for (_, reader) in &mut works {
        let end = reader.until_end();
        assert_eq!(end.data["status"], "completed", "{}", end.data);
        assert!(reader.text().ends_with("w2998 w2999 "), "{}", reader.text());
    }
    let moved = bench.sql("SELECT count(*) > 0 FROM forgeline.run WHERE epoch > 1");
    assert_eq!(moved, "t", "a run was given back, and claimed again");
    let end = asked.until_end();
    assert_eq!(end.data["status"], "completed", "{}", end.data);
    assert!(asked.text().contains("Kept as note 1."), "{}", asked.text());
    for run in &accepted {
        let mut reader = RunReader::new(vec![other, here], run, PATIENCE);
        let end = reader.until_end();
        assert_eq!(end.data["status"], "completed", "{run}: {}", end.data);
    }
    for at in [here, other] {
        until_accepted(&bench, at);
    }
    say(format!(
        "nodes: a full disk: {} runs were accepted before one was refused, and all have ended",
        accepted.len()
    ));
}

/// A service with a database of its own ends a run that it cannot store, and says so; whatever was acknowledged exists.
#[test]
fn a_file_whose_disk_is_full_is_read_and_written_again_when_there_is_room() {
    let Some(disk) = SmallDisk::mount(24) else { return };
    let model = PacedModel::start();
    let config = disk.folder().join("service.toml");
    let text = format!(
        "database = {:?}\n[limits]\nruns_per_minute = 10000\n[agents.paced]\nprovider = \"openai\"\nbase_url = {:?}\n\
         model = \"paced\"\nno_tools = true\n[agents.demo]\nprovider = \"demo\"\n",
        disk.folder().join("service.db").display().to_string(),
        model.url(),
    );
    fs::write(&config, text).unwrap();
    let program = Path::new(env!("CARGO_BIN_EXE_forgeline"));
    let mut node = NodeProcess::start(program, &["--config", config.to_str().unwrap()]);
    let at = node.address();
    let done = begin(at, "demo", "What is 6*7?").unwrap();
    let mut whole = RunReader::new(vec![at], &done, PATIENCE);
    whole.until_end();
    let run = begin(at, "paced", "write 3000 words, one each 5 ms").unwrap();
    let mut reader = RunReader::new(vec![at], &run, PATIENCE);
    reader.until(|event| event.data["content"].as_str().is_some_and(|it| it.contains("w20")));
    disk.fill();
    let (refused, accepted) = until_refused(at);
    assert_eq!(refused.kind, "application/problem+json");
    assert_eq!(refused.json()["code"], "store_full", "{refused:?}");
    read_again(at, &done, &whole);
    let end = reader.until_end();
    assert_eq!(end.data["status"], "failed", "{}", end.data);
    assert!(end.data["error"]["message"].as_str().unwrap().contains("make room"), "{}", end.data);
    disk.make_room();
    let (begun, mut again) = (Instant::now(), None);
    while again.is_none() {
        assert!(begun.elapsed() < PATIENCE, "it is never written again");
        thread::park_timeout(AGAIN);
        again = begin(at, "demo", "What is 6*7?");
    }
    let mut after = RunReader::new(vec![at], &again.unwrap(), PATIENCE);
    after.until_end();
    assert!(after.text().contains("6*7 = 42"), "{}", after.text());
    for run in &accepted {
        RunReader::new(vec![at], run, PATIENCE).until_end();
    }
    read_again(at, &done, &whole);
    assert_eq!(node.terminate(), Some(0));
}

/// Begins a run; `None` if the store has no room for it.
fn begin(at: SocketAddr, agent: &str, input: &str) -> Option<String> {
    let body = json!({ "agent": agent, "input": input });
    let reply = ask(at, ["POST", "/v1/runs"], "", Some(&body), PATIENCE).unwrap();
    assert!(reply.status == 202 || reply.status >= 500, "{reply:?}");
    (reply.status == 202).then(|| reply.json()["run_id"].as_str().unwrap().to_owned())
}
