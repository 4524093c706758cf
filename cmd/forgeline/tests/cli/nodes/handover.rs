//! A node that is asked to end while its runs work.

use std::{
    fs, thread,
    time::{Duration, Instant},
};

use forgeline_testkit::{nodes::RunReader, say};

use super::nodes;

/// Longest wait for the end of a run: a node gives its runs 20 s.
const PATIENCE: Duration = Duration::from_secs(35);

/// Longest time from the end of a node to the next event of a run that it handed over.
const AT_ONCE: Duration = Duration::from_secs(5);

#[test]
fn a_node_that_is_asked_to_end_hands_over_a_run_whose_model_or_tool_works() {
    let Some(mut bench) = nodes(2) else { return };
    let script = "echo begun >> begun.txt\nfor look in 1 2 3 4 5 6; do sleep 10; done\n";
    fs::write(bench.work().join("work.sh"), script).unwrap();
    let begun = || fs::read_to_string(bench.work().join("begun.txt")).unwrap_or_default();
    let here = bench.address(0);
    let held = "write 12 words, one each 5 ms and hold 6";
    let runs = [("paced", held), ("worker", "work"), ("paced", "write 40 words, one each 50 ms")]
        .map(|(agent, prompt)| bench.begin(here, agent, prompt));
    let readers = runs.map(|run| RunReader::new(vec![bench.address(1)], &run, PATIENCE));
    let [mut writes, mut tool, mut ends] = readers;
    writes.until(|event| event.data["content"].as_str().is_some_and(|it| it.contains("w5")));
    ends.until_kind("message_content");
    let since = Instant::now();
    while begun().is_empty() {
        assert!(since.elapsed() < Duration::from_mins(1), "the program does not begin");
        thread::park_timeout(Duration::from_millis(5));
    }
    let (work, last) = (begun(), writes.events().last().unwrap().id);
    let (next, over) = thread::scope(|threads| {
        let next = threads.spawn(|| {
            let next = writes.until(|event| event.id > last);
            writes.until_end();
            next
        });
        threads.spawn(|| tool.until_end());
        threads.spawn(|| ends.until_end());
        assert_eq!(bench.terminate(0), Some(0));
        let over = Instant::now();
        (next.join().unwrap(), over)
    });
    let wait = next.at.saturating_duration_since(over);
    say(format!("nodes: a run that works continues {wait:.2?} after its node has ended"));
    assert!(wait < AT_ONCE, "{wait:?}");
    assert!(writes.text().ends_with("w10 w11 "), "{}", writes.text());
    assert_eq!(bench.model().requests(held), 2, "the next owner asks again");
    // A run that ends within the time of its node is not moved.
    assert!(ends.text().ends_with("w38 w39 "), "{}", ends.text());
    assert_eq!(bench.model().requests("write 40 words, one each 50 ms"), 1);
    // The program may have had an effect: it is not run again.
    assert_eq!(fs::read_to_string(bench.work().join("begun.txt")).unwrap(), work);
    assert_eq!(tool.count("run_end"), 1, "{:?}", tool.events());
    assert_eq!(bench.sql("SELECT max(takeovers) FROM forgeline.run"), "0", "no node has died");
    bench.wait_for("SELECT count(*) FROM forgeline.run WHERE ended_ms IS NULL", "0");
}
