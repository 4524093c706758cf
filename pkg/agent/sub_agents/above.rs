//! The part of a run that the agents below it inherit.

use crate::agent::{Budget, Steering};

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
