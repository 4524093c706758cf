//! A node that is stopped at each seam of what it does in the database, and wakes when another one has its runs.

use std::{
    thread,
    time::{Duration, Instant},
};

use forgeline_testkit::{
    message_proxy::{MessageProxy, ProxySide},
    nodes::{NodeBench, RunReader},
    say,
};
use serde_json::{Value, json};

use super::{REPLACED, nodes, requests::begin_woken};

/// Longest time from the stop of most nodes to the first event of the next owner: 11.5 s, and some for a busy machine.
const TAKEN_OVER: Duration = Duration::from_secs(14);

/// Statements at which a node is stopped, each by some of its text: before the server has it, and before its reply.
const SEAMS: [(&str, &str); 5] = [
    ("an append", "UPDATE forgeline.log SET head"),
    ("a claim", "SET node = $1, epoch = epoch + 1"),
    ("a reap", "takeovers = takeovers + 1"),
    ("a change of a run", "UPDATE forgeline.run SET progress"),
    ("the answer to a command", "UPDATE forgeline.command SET answer"),
];

/// A node that is stopped, and its runs.
struct StoppedNode {
    seam: String,
    node: usize,
    proxy: MessageProxy,
    /// A run whose model writes.
    works: RunReader,
    /// A run that waits for an approval, and the id of the approval.
    waits: (String, RunReader, Value),
}

/// Leaves a free run that no node knows how to claim, so that each of them reaps and claims each second.
fn keep_looking(bench: &NodeBench) {
    let here = bench.address(0);
    let run = bench.begin(here, "demo", "Call notes.keep with \"Buy milk.\"");
    bench.reader(vec![here], &run).until_kind("tool_approval_request");
    let free = "UPDATE forgeline.run SET node = NULL, epoch = epoch + 1, state_version = 9";
    assert_eq!(bench.sql(&format!("{free} WHERE id = '{run}'")), "");
}

/// Begins two runs at a new node.
fn begin(bench: &mut NodeBench, seam: &str, at: usize) -> StoppedNode {
    let (node, proxy) = bench.add_behind_proxy();
    let (here, other) = (bench.address(node), bench.address(0));
    let prompt = format!("write 12 words, one each 5 ms and hold 6, number {at}");
    let run = bench.begin(here, "paced", &prompt);
    let mut works = bench.reader(vec![other], &run);
    works.until(|event| event.data["content"].as_str().is_some_and(|it| it.contains("w5")));
    let run = bench.begin(here, "demo", "Call notes.keep with \"Buy milk.\"");
    let mut waits = bench.reader(vec![other], &run);
    let asked = waits.until_kind("tool_approval_request");
    let waits = (run, waits, asked.data["approval_id"].clone());
    StoppedNode { seam: seam.to_owned(), node, proxy, works, waits }
}

/// Returns what the runs are in the database, without the beats of nodes.
fn written(bench: &NodeBench) -> String {
    bench.sql(
        "SELECT string_agg(concat_ws(' ', run.id, epoch, node IS NULL, takeovers, progress, run_end, head, state,
             (SELECT count(*) FROM forgeline.event WHERE log = log.no) + (SELECT coalesce(sum(count), 0)
              FROM forgeline.event_pack WHERE log = log.no)), E'\\n' ORDER BY run.no)
         FROM forgeline.run JOIN forgeline.log ON log.scope = run.scope AND log.name = run.id",
    )
}

impl StoppedNode {
    /// Stops the node at its seam, and reads both runs to their end; returns the time until another node went on.
    fn stop(&mut self, bench: &NodeBench) -> Duration {
        self.proxy.wait_for_hit();
        bench.node(self.node).signal("-STOP");
        let (stopped, last) = (Instant::now(), self.works.events().last().unwrap().id);
        let next = self.works.until(|event| event.id > last);
        self.works.until_end();
        assert!(self.works.text().ends_with("w10 w11 "), "{}: {}", self.seam, self.works.text());
        let (_, waits, _) = &mut self.waits;
        let end = waits.until_end();
        assert_eq!(end.data["status"], "completed", "{}: {:?}", self.seam, waits.events());
        // Its node may have kept the note and been stopped before it could say so.
        assert!(waits.count("tool_result") <= 1, "{}: {:?}", self.seam, waits.events());
        next.at.duration_since(stopped)
    }

    /// Lets the node go on where it was stopped, and begin another run.
    fn wake(&self, bench: &NodeBench) {
        self.proxy.release();
        bench.node(self.node).signal("-CONT");
        let here = bench.address(self.node);
        let again = begin_woken(bench, here);
        bench.reader(vec![here], &again).until_end();
    }
}

/// Traces 1 to 3 of the model, at each statement of a node.
#[test]
fn a_node_that_is_stopped_at_any_seam_is_replaced_and_writes_nothing_when_it_wakes() {
    let Some(mut bench) = nodes(1) else { return };
    keep_looking(&bench);
    let seams = SEAMS.iter().flat_map(|(seam, text)| {
        [("before", ProxySide::Client), ("behind", ProxySide::Server)]
            .map(|(place, held)| (format!("{place} {seam}"), text, held))
    });
    let mut stopped: Vec<_> = seams
        .enumerate()
        .map(|(at, (seam, text, held))| (begin(&mut bench, &seam, at), text, held))
        .collect();
    let mut took: Vec<_> = thread::scope(|threads| {
        let bench = &bench;
        let work = stopped.iter_mut().map(|(stopped, text, held)| {
            stopped.proxy.hold_statement(text, *held);
            let (path, id) = (format!("/v1/runs/{}/approvals", stopped.waits.0), &stopped.waits.2);
            let answer = json!({ "approval_id": id, "decision": "grant" });
            threads.spawn(move || {
                // The decision is stored, whoever answers it.
                let reply = bench.post(bench.address(0), &path, &answer);
                assert!([200, 202].contains(&reply.status), "{path}: {reply:?}");
            });
            threads.spawn(move || (stopped.seam.clone(), stopped.stop(bench)))
        });
        let work: Vec<_> = work.collect();
        work.into_iter().map(|it| it.join().unwrap()).collect()
    });
    took.sort_by_key(|(_, took)| *took);
    let [middle, (seam, longest)] = [took.len() / 2, took.len() - 1].map(|at| &took[at]);
    say(format!(
        "nodes: the run of a node that is stopped at {} seams continues after {:.2?}, at most {longest:.2?} ({seam})",
        took.len(),
        middle.1
    ));
    assert!(middle.1 < TAKEN_OVER && *longest < REPLACED, "{took:?}");
    // The record of a run follows the last of its events; the one that no node claims has no end.
    bench.wait_for("SELECT count(*) FROM forgeline.run WHERE ended_ms IS NULL", "1");
    let before = written(&bench);
    for (stopped, ..) in &stopped {
        stopped.wake(&bench);
    }
    let after = written(&bench);
    let changed: Vec<_> = before.lines().filter(|run| after.lines().all(|it| it != *run)).collect();
    assert!(changed.is_empty(), "{changed:?} are not in {after}");
    for (stopped, ..) in &stopped {
        let mut woken = bench.reader(vec![bench.address(stopped.node)], &stopped.waits.0);
        woken.until_end();
        assert_eq!(woken.events().len(), stopped.waits.1.events().len(), "{}", stopped.seam);
    }
}
