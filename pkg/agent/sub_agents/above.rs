//! What a run hands down to the agents that it asks.

use crate::agent::{Budget, Steering, emitter::Emitter, state::RunState};

/// The part of a run that the agents below it inherit.
#[derive(Debug, Clone, Default)]
pub(crate) struct Above {
    /// The way to whoever answers requests of the run.
    pub(crate) steering: Option<Steering>,
    /// `true` when text from outside is in the conversation.
    pub(crate) has_outside_text: bool,
    /// The budget that is left.
    pub(crate) left: Budget,
}

impl Above {
    /// Returns what a run hands down now.
    pub(in crate::agent) fn of(state: &RunState, emitter: &Emitter) -> Self {
        let steering = emitter.steering().cloned();
        Self { steering, has_outside_text: state.has_outside_text(), left: state.left() }
    }
}
