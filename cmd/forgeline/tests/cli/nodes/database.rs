//! A database that restarts, cuts sessions and makes a node wait.

use std::{thread, time::Duration};

use super::{nodes, start_apart};

/// Trace 5 of the model, with a restart for a fail-over.
#[test]
fn a_database_that_restarts_costs_no_run_its_node() {
    let Some(mut bench) = start_apart(2) else { return };
    bench.settle();
    let run = bench.begin(bench.address(0), "paced", "write 100 words, one each 20 ms");
    let mut reader = bench.reader(vec![bench.address(1)], &run);
    reader.until(|event| event.data["content"].as_str().is_some_and(|it| it.contains("w20")));
    bench.database().restart();
    reader.until_end();
    assert!(reader.text().ends_with("w98 w99 "), "{}", reader.text());
    assert_eq!(bench.sql("SELECT max(takeovers) FROM forgeline.run"), "0");
}

/// Traces 6, 10 and 17 of the model: statements, locks and notifications are lost all the time.
#[test]
fn a_run_whose_sessions_are_cut_writes_each_event_once() {
    let Some(bench) = nodes(2) else { return };
    bench.settle();
    let run = bench.begin(bench.address(0), "paced", "write 150 words, one each 20 ms");
    let mut reader = bench.reader(vec![bench.address(1)], &run);
    reader.until_kind("message_content");
    let mut cuts = 0;
    thread::scope(|threads| {
        threads.spawn(|| {
            for _ in 0..10 {
                cuts += bench.cut_sessions();
                thread::park_timeout(Duration::from_millis(230));
            }
        });
        reader.until_end();
    });
    assert!(cuts > 20, "{cuts} sessions");
    assert!(reader.text().ends_with("w148 w149 "), "{}", reader.text());
    assert_eq!(bench.sql("SELECT max(takeovers) FROM forgeline.run"), "0");
    assert_eq!(bench.model().requests("write 150 words, one each 20 ms"), 1);
}

/// Trace 4 of the model: a transaction of another program holds the rows of a run.
#[test]
fn a_run_whose_rows_are_locked_goes_on_behind_the_lock() {
    let Some(bench) = nodes(2) else { return };
    let run = bench.begin(bench.address(0), "paced", "write 100 words, one each 20 ms");
    let mut reader = bench.reader(vec![bench.address(1)], &run);
    reader.until_kind("message_content");
    let mut session = bench.session();
    session.run(
        "BEGIN; SELECT no FROM forgeline.run FOR UPDATE; SELECT no FROM forgeline.log FOR UPDATE",
    );
    thread::park_timeout(Duration::from_millis(2_700));
    drop(session);
    reader.until_end();
    assert!(reader.text().ends_with("w98 w99 "), "{}", reader.text());
    assert_eq!(bench.sql("SELECT max(takeovers) FROM forgeline.run"), "0");
}
