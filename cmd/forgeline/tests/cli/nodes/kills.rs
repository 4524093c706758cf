//! Kills at moments that nobody chose.

use std::{
    env, thread,
    time::{Duration, Instant},
};

use super::nodes;

/// The owner of a run is killed while it writes; `FORGELINE_KILLS_NODES` sets how often.
#[test]
fn no_event_is_lost_whenever_a_node_is_killed() {
    let kills = env::var("FORGELINE_KILLS_NODES").ok().and_then(|number| number.parse().ok());
    let kills: u32 = kills.unwrap_or(2);
    let Some(mut bench) = nodes(2) else { return };
    bench.settle();
    let (mut owner, mut other) = (0, 1);
    let mut waits = Vec::new();
    for number in 0..kills {
        let prompt = format!("write 40 words, one each 10 ms, time {number}");
        let run = bench.begin(bench.address(owner), "paced", &prompt);
        let mut reader = bench.reader(vec![bench.address(other)], &run);
        // The moment moves over the run, from its first events to its last ones.
        reader.until_kind("message_content");
        thread::park_timeout(Duration::from_millis(u64::from(number * 37 % 400)));
        let killed = Instant::now();
        bench.kill(owner);
        reader.until_end();
        waits.push(killed.elapsed());
        assert!(reader.text().ends_with("w38 w39 "), "{number}: {}", reader.text());
        (owner, other) = (other, bench.add());
    }
    waits.sort();
    let [middle, last] = [waits.len() / 2, waits.len() - 1].map(|at| waits[at]);
    println!(
        "nodes: {kills} kills, the end of the run {middle:.2?} after the kill, at most {last:.2?}"
    );
}
