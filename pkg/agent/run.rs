//! The loop of one run.

use std::collections::VecDeque;

use super::{DefaultAgent, OutcomeKind, RunOutcome, emitter::Emitter};
use crate::types::Envelope;

/// Runs `input` to its end; the second value is what the reader must still get.
pub(super) async fn run(
    _agent: &DefaultAgent,
    _input: String,
    emitter: Emitter,
) -> (RunOutcome, VecDeque<Envelope>) {
    let outcome = RunOutcome {
        run_id: emitter.run_id().clone(),
        text: String::new(),
        reason: OutcomeKind::Answer,
        turns: 0,
        usage: None,
        finish_reason: None,
        messages: Vec::new(),
    };
    (outcome, emitter.into_backlog())
}
