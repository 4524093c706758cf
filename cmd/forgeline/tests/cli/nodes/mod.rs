//! Several nodes on one database: real processes, real signals. `internal/model/README.md` has the traces that these play, by number.

mod clients;
mod database;
mod database_kills;
mod disk;
mod failover;
mod handover;
mod kills;
mod late_wakes;
mod many_nodes;
mod readers;
mod requests;
mod seams;
mod standby;
mod two_versions;
mod versions;

use std::{
    path::Path,
    thread,
    time::{Duration, Instant},
};

use forgeline_testkit::nodes::NodeBench;

/// Longest time until another node goes on with a run, however busy the machine is.
const REPLACED: Duration = Duration::from_mins(1);

/// Measures a time up to three times, until one is below a limit: a machine that halts for a moment lengthens one, and a defect all. `None` where there is no
/// `PostgreSQL`.
fn best_of_three(limit: Duration, mut measure: impl FnMut() -> Option<Duration>) {
    let mut all = Vec::new();
    while all.len() < 3 {
        let Some(took) = measure() else { return };
        assert!(took < REPLACED, "{took:?}");
        if took < limit {
            return;
        }
        all.push(took);
    }
    panic!("none of {all:?} is below {limit:?}");
}

/// Starts nodes; `None` where there is no `PostgreSQL`.
fn nodes(count: usize) -> Option<NodeBench> {
    NodeBench::start(Path::new(env!("CARGO_BIN_EXE_forgeline")), count)
}

/// Starts nodes on a server of their own; `None` where there is no `PostgreSQL`.
fn start_apart(count: usize) -> Option<NodeBench> {
    NodeBench::start_apart(Path::new(env!("CARGO_BIN_EXE_forgeline")), count)
}

/// Starts nodes on a server with a standby; `None` where there is no `PostgreSQL`.
fn start_replicated(count: usize) -> Option<NodeBench> {
    NodeBench::start_replicated(Path::new(env!("CARGO_BIN_EXE_forgeline")), count)
}

/// Waits; a scope may leave its thread a token that ends a wait early.
fn pass(time: Duration) {
    let begun = Instant::now();
    while let Some(left) = time.checked_sub(begun.elapsed()).filter(|left| !left.is_zero()) {
        thread::park_timeout(left);
    }
}
