//! A database whose disk is full, and one that may not be written.

use std::{
    net::SocketAddr,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use forgeline_testkit::{
    nodes::{HttpReply, NodeBench, RunReader, ask},
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
    let prompt = "write 3000 words, one each 5 ms";
    let run = bench.begin(here, "paced", prompt);
    let mut reader = RunReader::new(vec![other, here], &run, PATIENCE);
    reader.until(|event| event.data["content"].as_str().is_some_and(|it| it.contains("w20")));
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
        read_again(at, &run, &reader);
    }
    let open = "SELECT count(*) FROM forgeline.run WHERE ended_ms IS NULL AND id IN";
    let open = format!("{open} ('{run}', '{waits}')");
    // The run has met the end of the disk, and its node has given it back.
    let given_back = format!("SELECT epoch > 1 FROM forgeline.run WHERE id = '{run}'");
    bench.wait_for(&given_back, "t");
    assert_eq!(bench.sql(&open), "2", "both wait");
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
    let end = reader.until_end();
    assert_eq!(end.data["status"], "completed", "{}", end.data);
    assert!(reader.text().ends_with("w2998 w2999 "), "{}", reader.text());
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
