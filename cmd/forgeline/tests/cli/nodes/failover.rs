//! Nodes that are killed, stopped and asked to end.

use std::{
    fs, thread,
    time::{Duration, Instant},
};

use forgeline_testkit::{nodes::NodeBench, say};

use super::{
    best_of_three, nodes,
    requests::{approve, begin_woken},
};

/// A paced answer that its first owner never finishes, and the next one does.
const HELD: &str = "write 12 words, one each 5 ms and hold 6";

/// Begins a run at node 0 that waits for its model, and returns its id with the number of its last event.
fn held(bench: &NodeBench) -> (String, u64) {
    let run = bench.begin(bench.address(0), "paced", HELD);
    let mut reader = bench.reader(vec![bench.address(1)], &run);
    let last =
        reader.until(|event| event.data["content"].as_str().is_some_and(|it| it.contains("w5")));
    (run, last.id)
}

#[test]
fn a_killed_node_is_replaced_within_seconds() {
    best_of_three(Duration::from_secs(6), killed_node);
}

/// Kills a node; returns the time until another one went on with its run.
fn killed_node() -> Option<Duration> {
    let mut bench = nodes(2)?;
    bench.settle();
    let (run, last) = held(&bench);
    let mut reader = bench.reader(vec![bench.address(1)], &run);
    reader.until(|event| event.id == last);
    let killed = Instant::now();
    bench.kill(0);
    let next = reader.until(|event| event.id > last);
    let took = next.at.duration_since(killed);
    say(format!("nodes: the run of a killed node continues after {took:.2?}"));
    reader.until_end();
    assert!(reader.text().ends_with("w10 w11 "), "{}", reader.text());
    assert_eq!(bench.model().requests(HELD), 2, "the next owner asks again");
    Some(took)
}

/// Traces 1 to 3 of the model.
#[test]
fn a_stopped_node_is_replaced_and_writes_nothing_when_it_wakes() {
    best_of_three(Duration::from_secs(13), stopped_node);
}

/// Stops a node, and wakes it; returns the time until another one went on with its run.
fn stopped_node() -> Option<Duration> {
    let bench = nodes(2)?;
    bench.settle();
    let (run, last) = held(&bench);
    let mut reader = bench.reader(vec![bench.address(1)], &run);
    reader.until(|event| event.id == last);
    let waiting = bench.begin(bench.address(0), "demo", "Call notes.keep with \"Buy milk.\"");
    let mut waits = bench.reader(vec![bench.address(1)], &waiting);
    waits.until_kind("tool_approval_request");
    let stopped = Instant::now();
    bench.node(0).signal("-STOP");
    let next = reader.until(|event| event.id > last);
    let took = next.at.duration_since(stopped);
    say(format!("nodes: the run of a stopped node continues after {took:.2?}"));
    reader.until_end();
    let count = reader.events().len();
    bench.node(0).signal("-CONT");
    // The woken node reads what the other one wrote, and its own attempt comes to nothing.
    let mut woken = bench.reader(vec![bench.address(0)], &run);
    woken.until_end();
    assert_eq!((woken.events().len(), woken.text()), (count, reader.text()));
    // The run that waited has nothing to write; its decision goes to the node that has it now.
    approve(&bench, bench.address(0), &waiting, &mut waits);
    waits.until_end();
    assert!(waits.text().contains("Kept as note 1."), "{}", waits.text());
    assert_eq!(waits.count("tool_result"), 1);
    let again = begin_woken(&bench, bench.address(0));
    bench.reader(vec![bench.address(0)], &again).until_end();
    let mut after = bench.reader(vec![bench.address(1)], &run);
    after.until_end();
    assert_eq!(after.events().len(), count, "nothing came later");
    Some(took)
}

#[test]
fn a_node_that_is_asked_to_end_hands_its_runs_over() {
    let Some(mut bench) = nodes(2) else { return };
    let waiting = bench.begin(bench.address(0), "demo", "Call notes.keep with \"Buy milk.\"");
    let mut reader = bench.reader(vec![bench.address(1)], &waiting);
    reader.until_kind("tool_approval_request");
    let asked = Instant::now();
    assert_eq!(bench.terminate(0), Some(0));
    say(format!(
        "nodes: a node that is asked to end with a run that waits has ended after {:.2?}",
        asked.elapsed()
    ));
    approve(&bench, bench.address(1), &waiting, &mut reader);
    reader.until_end();
    assert!(reader.text().contains("Kept as note 1."), "{}", reader.text());
}

/// Trace 7 of the model.
#[test]
fn several_nodes_that_see_a_free_run_give_it_one_owner() {
    let Some(mut bench) = nodes(4) else { return };
    bench.settle();
    let runs: Vec<_> = (0..5).map(|_| held_at(&bench, 0)).collect();
    bench.kill(0);
    let addresses = bench.addresses();
    for run in &runs {
        let mut reader = bench.reader(addresses.clone(), run);
        reader.until_end();
        assert!(reader.text().ends_with("w10 w11 "), "{}", reader.text());
    }
    let epochs = bench.sql("SELECT max(takeovers) FROM forgeline.run");
    assert_eq!(epochs, "1", "each run has been taken over once");
}

fn held_at(bench: &NodeBench, node: usize) -> String {
    let run = bench.begin(bench.address(node), "paced", HELD);
    let mut reader = bench.reader(vec![bench.address(node)], &run);
    reader.until(|event| event.data["content"].as_str().is_some());
    run
}

/// Trace 22 of the model, and 23: what was acknowledged is done, whoever dies.
#[test]
fn a_decision_reaches_a_run_whose_owner_is_dead_or_dies() {
    let Some(mut bench) = nodes(3) else { return };
    bench.settle();
    let runs = [0, 1].map(|node| {
        let prompt = "Call notes.keep with \"Buy milk.\"";
        let run = bench.begin(bench.address(node), "demo", prompt);
        let mut reader = bench.reader(vec![bench.address(2)], &run);
        reader.until_kind("tool_approval_request");
        (run, reader)
    });
    let [(first, mut dead), (second, mut dies)] = runs;
    bench.kill(0);
    approve(&bench, bench.address(2), &first, &mut dead);
    approve(&bench, bench.address(2), &second, &mut dies);
    bench.kill(1);
    dead.until_end();
    assert!(dead.text().contains("Kept as note 1."), "{}", dead.text());
    // Its owner may have kept the note and died before it could say so; it is not kept again then.
    let end = dies.until_end();
    assert!(dies.count("tool_result") <= 1, "{:?}", dies.events());
    assert_eq!(end.data["status"], "completed", "{}", end.data);
}

/// Trace 15 of the model.
#[test]
fn a_tool_that_was_running_when_its_node_died_does_not_start_again() {
    let Some(mut bench) = nodes(2) else { return };
    bench.settle();
    let script = "echo begun >> begun.txt\nfor look in 1 2 3 4 5 6 7 8 9 10; do sleep 1; done\n";
    fs::write(bench.work().join("work.sh"), script).unwrap();
    let begun = || fs::read_to_string(bench.work().join("begun.txt")).unwrap_or_default();
    let run = bench.begin(bench.address(0), "worker", "work");
    let mut reader = bench.reader(vec![bench.address(1)], &run);
    let since = Instant::now();
    while begun().is_empty() {
        assert!(since.elapsed() < Duration::from_mins(1), "the program does not begin");
        thread::park_timeout(Duration::from_millis(5));
    }
    let work = begun();
    bench.kill(0);
    let end = reader.until_end();
    assert_eq!(fs::read_to_string(bench.work().join("begun.txt")).unwrap(), work);
    say(format!(
        "nodes: a run whose tool was interrupted ends as {}: {}",
        end.data["status"],
        reader.text()
    ));
}
