//! Kills of the database at moments all over runs, and of a node at the same moment.

use std::{
    fs,
    path::PathBuf,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use forgeline_testkit::{nodes::RunReader, say};

use super::{
    clients::{KINDS, RunClients},
    kills::kills,
    pass, start_apart,
};

/// Longest wait for a response, and for the end of a run: one whose node was killed waits until the sessions of the others are 10 s old.
const PATIENCE: Duration = Duration::from_mins(1);

/// Moments of a round, one a run, in milliseconds.
const BEGINNINGS: [u64; KINDS] = [0, 40, 110, 230, 320, 430];

/// A round of runs on two nodes, as their clients see it.
struct KilledRound {
    clients: RunClients,
    /// The lines of the program of the agent `worker`.
    lines: PathBuf,
}

/// The main process of the database is killed under runs of all kinds, and in one round of 20 the node that began half of them.
#[test]
fn nothing_acknowledged_is_lost_whenever_the_database_is_killed() {
    let kills = kills();
    let Some(mut bench) = start_apart(2) else { return };
    let work = bench.work();
    // The interpreter starts at once; the program takes as long as a kill.
    let script = "echo begun >> begun.txt\nfor look in 1 2 3; do sleep 0.1; done\n";
    fs::write(work.join("work.sh"), script).unwrap();
    let (mut nodes, mut waits, mut lost_nodes) = ([0, 1], Vec::new(), 0);
    for number in 0..kills {
        let loses_node = number % 20 == 1;
        let clients = RunClients {
            number: usize::try_from(number).unwrap(),
            nodes: nodes.map(|node| bench.address(node)),
            model: bench.model().clone(),
            moves: Arc::default(),
            loses_node,
            patience: PATIENCE,
        };
        let round = KilledRound { clients, lines: work.join("begun.txt") };
        drop(fs::remove_file(&round.lines));
        let killed = thread::scope(|threads| {
            let runs: Vec<_> = (0..BEGINNINGS.len())
                .map(|at| {
                    let round = &round;
                    threads.spawn(move || {
                        pass(Duration::from_millis(BEGINNINGS[at]));
                        round.clients.play(at)
                    })
                })
                .collect();
            // The moment moves over the runs, from before their first events to behind their last ones.
            let moment = u64::from((number * 37 + 300) % 1_100) + if loses_node { 400 } else { 0 };
            pass(Duration::from_millis(moment));
            if loses_node {
                bench.kill(nodes[0]);
            }
            let killed = Instant::now();
            bench.database().kill();
            let readers = runs.into_iter().map(|run| run.join().unwrap());
            for reader in readers {
                waits.extend(silence(&reader, killed).filter(|_| !loses_node));
            }
            killed
        });
        round.check_work();
        if loses_node {
            lost_nodes += 1;
            nodes = [nodes[1], bench.add()];
        }
        assert!(killed.elapsed() < PATIENCE, "round {number} takes {:?}", killed.elapsed());
    }
    waits.sort();
    let [middle, last] = [waits.len() / 2, waits.len() - 1].map(|at| waits[at]);
    bench.wait_for("SELECT count(*) FROM forgeline.run WHERE ended_ms IS NULL", "0");
    let takeovers = bench.sql("SELECT coalesce(sum(takeovers), 0) FROM forgeline.run");
    say(format!(
        "nodes: {kills} kills of the database, {lost_nodes} of them with a node, under {} runs; {} readers hear nothing \
         for {middle:.2?}, at most {last:.2?}; {takeovers} takeovers",
        bench.sql("SELECT count(*) FROM forgeline.run"),
        waits.len(),
    ));
}

/// Returns the longest time between two events behind a moment, of a reader that was reading then.
fn silence(reader: &RunReader, since: Instant) -> impl Iterator<Item = Duration> {
    let pairs = reader.events().windows(2).filter(move |pair| pair[1].at > since);
    pairs.map(move |pair| pair[1].at.duration_since(pair[0].at.max(since))).max().into_iter()
}

impl KilledRound {
    /// The program, which may not be repeated, was begun once; a node that dies may not have come to it.
    fn check_work(&self) {
        let begun = fs::read_to_string(&self.lines).unwrap_or_default().lines().count();
        let is_right = begun == 1 || self.clients.loses_node && begun == 0;
        assert!(is_right, "the program was begun {begun} times");
    }
}
