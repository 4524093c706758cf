//! Kills at moments all over a run.

use std::{
    env, thread,
    time::{Duration, Instant},
};

use forgeline_testkit::say;

use super::nodes;

/// Returns how often nodes and databases are killed; `make kills-nodes` sets more.
pub(super) fn kills() -> u32 {
    env::var("FORGELINE_KILLS_NODES").map_or(2, |kills| kills.parse().unwrap())
}

/// The owner of a run is killed while it writes, and the node that has lived long takes over.
#[test]
fn no_event_is_lost_whenever_a_node_is_killed() {
    let kills = kills();
    let Some(mut bench) = nodes(1) else { return };
    bench.settle();
    let mut waits = Vec::new();
    for number in 0..kills {
        let owner = bench.add();
        let prompt = format!("write 40 words, one each 10 ms, time {number}");
        let run = bench.begin(bench.address(owner), "paced", &prompt);
        let mut reader = bench.reader(vec![bench.address(0)], &run);
        // The moment moves over the run, from its first events to its last ones.
        reader.until_kind("message_content");
        thread::park_timeout(Duration::from_millis(u64::from(number * 37 % 400)));
        let killed = Instant::now();
        bench.kill(owner);
        reader.until_end();
        waits.push(killed.elapsed());
        assert!(reader.text().ends_with("w38 w39 "), "{number}: {}", reader.text());
    }
    waits.sort();
    let [middle, last] = [waits.len() / 2, waits.len() - 1].map(|at| waits[at]);
    say(format!(
        "nodes: {kills} kills, the end of the run {middle:.2?} after the kill, at most {last:.2?}"
    ));
}
