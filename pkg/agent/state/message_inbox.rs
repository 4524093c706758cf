//! The user's messages that arrive during a run.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use forgeline_types::Message;

/// Messages not yet delivered.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct MessageInbox {
    pub(super) steers: Vec<Message>,
    pub(super) follow_ups: VecDeque<Message>,
    /// `true` once the user has left.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) leaves: bool,
}

impl MessageInbox {
    /// Iterates over the messages in the order of their delivery.
    pub(super) fn into_messages(self) -> impl Iterator<Item = Message> {
        self.steers.into_iter().chain(self.follow_ups)
    }
}
