//! `--trace`: the record of a run on stderr, with times: its requests, answers and calls, and what the library says.

mod library;
mod lines;
mod queue;

use std::{sync::OnceLock, time::Instant};

use forgeline::llm::without_secrets;

pub(crate) use self::{
    lines::{RequestSizes, TraceLines},
    queue::{finish, waiting},
};
use crate::render::escape_controls;

/// Longest line, in characters.
const MAX_LINE_CHARS: usize = 80;
/// Characters that the time takes.
const TIME_CHARS: usize = 12;

/// The beginning of the trace, if there is one.
static BEGUN: OnceLock<Instant> = OnceLock::new();

/// Shows the trace from now on; once a process.
pub(crate) fn start() -> RequestSizes {
    BEGUN.get_or_init(Instant::now);
    library::start();
    RequestSizes::default()
}

/// Returns a line of the trace: the time, and the text behind an indent.
fn line(depth: usize, text: &str) -> String {
    let at = BEGUN.get().map(Instant::elapsed).unwrap_or_default();
    let indent = depth * 2;
    format!("{:>4}.{:03} s  {:indent$}{text}", at.as_secs(), at.subsec_millis(), "")
}

/// Returns a line without secrets that fits a terminal.
fn cut(depth: usize, text: &str) -> String {
    let most = MAX_LINE_CHARS - TIME_CHARS - depth * 2;
    let text =
        escape_controls(&without_secrets(text)).split_whitespace().collect::<Vec<_>>().join(" ");
    let shown = match text.char_indices().nth(most) {
        None => text,
        Some(_) => text.chars().take(most - 1).chain(['…']).collect(),
    };
    line(depth, &shown)
}
