//! The part that is kept of an answer that goes on.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::types::{AgentEvent, Message};

/// An answer under way, up to the last call that was given.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Early {
    pub(super) message: Option<Arc<Message>>,
    /// The events that would end what is open behind that call.
    pub(super) ends: Vec<AgentEvent>,
}
