//! Several nodes on one database: real processes, real signals. `internal/model/README.md` has the traces that these play, by number.

mod database;
mod database_kills;
mod failover;
mod handover;
mod kills;
mod readers;
mod requests;
mod seams;
mod standby;
mod versions;

use std::path::Path;

use forgeline_testkit::nodes::NodeBench;

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
