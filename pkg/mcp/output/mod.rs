//! The output of a server apart from its answers: lines, last words and state.

pub(crate) mod answer_repair;
mod json_repair;
pub(crate) mod last_words;
pub(crate) mod output_lines;
pub(crate) mod remote_watch;
pub(crate) mod repaired_lines;
