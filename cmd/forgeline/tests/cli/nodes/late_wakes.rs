//! A claim whose reply is lost, and nodes that wake while their tools and readers are elsewhere: `internal/model/README.md` has the traces by number.

use std::{
    fs, thread,
    time::{Duration, Instant},
};

use forgeline_testkit::{
    message_proxy::ProxySide,
    nodes::{NodeBench, RunReader},
};

use super::{
    nodes,
    requests::{approve, begin_woken},
};

/// Longest wait for what the machine does as soon as it can.
const PATIENCE: Duration = Duration::from_mins(2);

/// The statement that adds an entry to the journal.
const TO_JOURNAL: &str = "UPDATE forgeline.conversation SET entries";

/// Trace 9: the connection of a claim ends behind its commit.
#[test]
fn a_run_whose_claim_had_no_reply_is_taken_up_by_the_node_that_has_it() {
    let Some(mut bench) = nodes(1) else { return };
    let (node, proxy) = bench.add_behind_proxy();
    let run = bench.begin(bench.address(0), "demo", "Call notes.keep with \"Buy milk.\"");
    let mut reader = RunReader::new(vec![bench.address(node)], &run, PATIENCE);
    reader.until_kind("tool_approval_request");
    proxy.cut_result("SET node = $1, epoch = epoch + 1");
    assert_eq!(bench.terminate(0), Some(0));
    proxy.wait_for_hit();
    approve(&bench, bench.address(node), &run, &mut reader);
    reader.until_end();
    assert!(reader.text().contains("Kept as note 1."), "{}", reader.text());
    assert_eq!(reader.count("tool_result"), 1, "{:?}", reader.events());
    assert_eq!(bench.sql("SELECT max(takeovers) FROM forgeline.run"), "0", "no node has died");
}

/// Trace 16: the node is stopped when the journal has the call and its tool has not begun.
#[test]
fn a_tool_of_a_node_that_wakes_after_its_run_was_taken_starts_at_most_once() {
    let Some(mut bench) = nodes(1) else { return };
    let script = "echo begun >> begun.txt\n";
    fs::write(bench.work().join("work.sh"), script).unwrap();
    let begun = |bench: &NodeBench| {
        let begun = fs::read_to_string(bench.work().join("begun.txt")).unwrap_or_default();
        begun.lines().count()
    };
    let (node, proxy) = bench.add_behind_proxy();
    bench.settle();
    proxy.hold_statement_with(TO_JOURNAL, "work.sh", ProxySide::Server);
    let run = bench.begin(bench.address(node), "worker", "work");
    let mut reader = RunReader::new(vec![bench.address(0)], &run, PATIENCE);
    proxy.wait_for_hit();
    bench.node(node).signal("-STOP");
    let end = reader.until_end();
    let before = begun(&bench);
    assert!(before <= 1, "{before}");
    let lines = "SELECT count(*), (SELECT sum(head) FROM forgeline.log) FROM forgeline.line";
    let written = bench.sql(lines);
    proxy.release();
    bench.node(node).signal("-CONT");
    let mut woken = RunReader::new(vec![bench.address(node)], &run, PATIENCE);
    woken.until_end();
    assert_eq!(woken.events().len(), reader.events().len(), "{}", end.data);
    // The node has gone on with what it did, and begins the next run.
    let again = begin_woken(&bench, bench.address(node));
    bench.reader(vec![bench.address(node)], &again).until_end();
    assert!(begun(&bench) <= 1, "the program was begun {} times", begun(&bench));
    let of_run = format!("SELECT head FROM forgeline.log WHERE name = '{run}'");
    assert_eq!(bench.sql(&of_run), reader.events().len().to_string(), "{written}");
}

/// Trace 19: the reader of a node that is stopped before it writes sees what the next owner has written.
#[test]
fn a_reader_of_a_node_that_wakes_sees_no_event_of_its_own() {
    let Some(mut bench) = nodes(1) else { return };
    let (node, proxy) = bench.add_behind_proxy();
    bench.settle();
    let prompt = "write 12 words, one each 20 ms and hold 6";
    let run = bench.begin(bench.address(node), "paced", prompt);
    let mut own = RunReader::new(vec![bench.address(node)], &run, PATIENCE);
    own.until_kind("message_content");
    proxy.hold_statement("UPDATE forgeline.log SET head", ProxySide::Client);
    let mut other = RunReader::new(vec![bench.address(0)], &run, PATIENCE);
    thread::scope(|threads| {
        let own = threads.spawn(|| {
            own.until_end();
            own
        });
        let begun = Instant::now();
        proxy.wait_for_hit();
        bench.node(node).signal("-STOP");
        other.until_end();
        proxy.release();
        bench.node(node).signal("-CONT");
        let own = own.join().unwrap();
        let events = |reader: &RunReader| -> Vec<_> {
            reader.events().iter().map(|it| (it.id, it.kind.clone(), it.data.clone())).collect()
        };
        assert_eq!(events(&own), events(&other), "after {:?}", begun.elapsed());
    });
    assert!(other.text().ends_with("w10 w11 "), "{}", other.text());
}
