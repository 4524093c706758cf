//! The part that is kept of an answer in progress.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use forgeline_types::{AgentEvent, Message};

/// An answer in progress, up to its last complete call.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct AnswerInProgress {
    pub(super) message: Option<Arc<Message>>,
    /// The events that would close what is open after that call.
    pub(super) ends: Vec<AgentEvent>,
}
