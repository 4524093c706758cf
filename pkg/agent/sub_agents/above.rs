//! The part of a run that the agents below it inherit.

use std::sync::Arc;

use super::Draw;
use crate::agent::{Steering, memory::SharedMemory};

/// The part of a run that the agents below it inherit.
#[derive(Debug, Clone, Default)]
pub(crate) struct Above {
    /// The way to whoever answers requests of the run.
    pub(crate) steering: Option<Steering>,
    /// `true` when text from outside is in the conversation.
    pub(crate) has_outside_text: bool,
    /// The conversation of the run.
    pub(crate) memory: Option<Arc<SharedMemory>>,
    /// The way to what is left of the budget.
    pub(crate) draw: Option<Draw>,
}
