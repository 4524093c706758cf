//! A database that is killed, and its standby, which is promoted.

use std::{
    io, thread,
    time::{Duration, Instant},
};

use forgeline_testkit::{
    nodes::{NodeBench, RunReader, ask},
    say,
};

use super::{requests::approve, start_replicated};

/// Longest wait for a response.
const PATIENCE: Duration = Duration::from_mins(1);

const PROMPT: &str = "write 150 words, one each 20 ms";

/// A paced answer that does not end before the database does: its first one has 390 words and no end.
const HELD: &str = "write 400 words, one each 20 ms and hold 390";

/// Begins a run at node 0, and reads at node 1 up to a word.
fn begin(bench: &NodeBench, prompt: &str, word: &str) -> (String, RunReader) {
    let run = bench.begin(bench.address(0), "paced", prompt);
    let mut reader = bench.reader(vec![bench.address(1)], &run);
    reader.until(|event| event.data["content"].as_str().is_some_and(|it| it.contains(word)));
    (run, reader)
}

/// Trace 5 of the model, with a fail-over: it frees every lock at once, and no node takes runs from another.
#[test]
fn runs_go_on_at_a_standby_that_is_promoted_and_keep_their_nodes() {
    let Some(mut bench) = start_replicated(2) else { return };
    bench.database().wait_for_standby();
    bench.settle();
    let waiting = bench.begin(bench.address(0), "demo", "Call notes.keep with \"Buy milk.\"");
    let mut waits = bench.reader(vec![bench.address(1)], &waiting);
    waits.until_kind("tool_approval_request");
    let (_, mut reader) = begin(&bench, PROMPT, "w20");
    let last = reader.events().last().unwrap().id;
    let killed = Instant::now();
    bench.database().fail_over();
    let next = reader.until(|event| event.id > last && event.at > killed);
    reader.until_end();
    assert!(reader.text().ends_with("w148 w149 "), "{}", reader.text());
    assert_eq!(bench.model().requests(PROMPT), 1, "the run has kept its node");
    approve(&bench, bench.address(1), &waiting, &mut waits);
    waits.until_end();
    assert!(waits.text().contains("Kept as note 1."), "{}", waits.text());
    assert_eq!(bench.sql("SELECT max(takeovers) FROM forgeline.run"), "0");
    let took = next.at.duration_since(killed);
    say(format!("nodes: a reader hears nothing for {took:.2?} while a standby is promoted"));
}

/// Without a synchronous standby, the log may be shorter than what readers have: they learn that, and the run goes on from the shorter one.
#[test]
fn a_run_goes_on_from_a_log_that_a_fail_over_made_shorter_and_its_readers_learn_that() {
    let Some(mut bench) = start_replicated(2) else { return };
    let (run, mut reader) = begin(&bench, HELD, "w20");
    bench.database().stop_following();
    let head = bench.sql(&format!("SELECT head FROM forgeline.log WHERE name = '{run}'"));
    let head: u64 = head.parse().unwrap();
    // The standby has none of these events, and the run needs a while to write as many again.
    reader.until(|event| event.id > head + 100);
    let last = reader.events().last().unwrap().id;
    let (node, path) = (bench.address(1), format!("/v1/runs/{run}/events"));
    let after = format!("last-event-id: {last}\r\n");
    let read = || ask(node, ["GET", &path], &after, None, PATIENCE);
    let live = thread::scope(|threads| {
        let live = threads.spawn(read);
        reader.until(|event| event.id > last + 20);
        bench.database().fail_over();
        live.join().unwrap()
    });
    match live {
        Ok(reply) => assert!(!reply.body.contains("run_end"), "two logs in one: {reply:?}"),
        Err(error) => assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof, "{error}"),
    }
    let begun = Instant::now();
    let reply = loop {
        match read() {
            Ok(reply) if reply.status < 500 => break reply,
            other => assert!(begun.elapsed() < PATIENCE, "{other:?}"),
        }
    };
    assert_eq!((reply.status, &reply.json()["code"]), (409, &"log_behind".into()), "{reply:?}");
    let mut reader = bench.reader(bench.addresses(), &run);
    let end = reader.until_end();
    assert_eq!(end.data["status"], "completed", "{}", end.data);
    assert!(reader.text().ends_with("w398 w399 "), "{}", reader.text());
    assert_eq!(bench.model().requests(HELD), 2, "the model is asked again");
    say("nodes: a run goes on from the shorter log of a standby");
}
