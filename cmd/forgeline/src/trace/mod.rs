//! `--trace`: the record of a run on stderr, with times: its requests, answers and calls, and what the library says.

mod library;
mod lines;
mod queue;

use std::{sync::OnceLock, time::Instant};

pub(crate) use self::{
    lines::{Lines, Requests},
    queue::{finish, waiting},
};

/// The beginning of the trace, if there is one.
static BEGUN: OnceLock<Instant> = OnceLock::new();

/// Shows the trace from now on; once a process.
pub(crate) fn start() -> Requests {
    BEGUN.get_or_init(Instant::now);
    library::start();
    Requests::default()
}

/// Returns a line of the trace: the time, and the text behind an indent.
fn line(depth: usize, text: &str) -> String {
    let at = BEGUN.get().map(Instant::elapsed).unwrap_or_default();
    let indent = depth * 2;
    format!("{:>4}.{:03} s  {:indent$}{text}", at.as_secs(), at.subsec_millis(), "")
}
