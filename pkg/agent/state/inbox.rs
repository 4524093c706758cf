//! The user's messages that arrive during a run.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::types::Message;

/// A message for a run in progress.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Said {
    /// A message for the model after the calls in progress, or at once: then an answer in progress is interrupted.
    Steer { message: Message, now: bool },
    /// A message for the model when the run would otherwise end.
    FollowUp { message: Message },
    /// The user has left: the run ends as a cancelled one after its calls, whose results are kept.
    Leave,
}

impl Said {
    /// Returns the message, if it is one.
    pub(crate) fn into_message(self) -> Option<Message> {
        match self {
            Self::Steer { message, .. } | Self::FollowUp { message } => Some(message),
            Self::Leave => None,
        }
    }
}

/// Messages not yet delivered.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Inbox {
    pub(super) steers: Vec<Message>,
    pub(super) follow_ups: VecDeque<Message>,
    /// `true` once the user has left.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) leaves: bool,
}

impl Inbox {
    /// Iterates over the messages in the order of their delivery.
    pub(super) fn into_messages(self) -> impl Iterator<Item = Message> {
        self.steers.into_iter().chain(self.follow_ups)
    }
}
