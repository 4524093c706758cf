//! The words of the user that arrive while a run goes on.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::types::Message;

/// A message for a run that goes on.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Said {
    /// For the model after the calls under way, or at once: an answer under way is cut then.
    Steer { message: Message, now: bool },
    /// For the model when the run would end.
    FollowUp { message: Message },
    /// The user goes on elsewhere: the run ends as a cancelled one behind its calls, whose results are kept.
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

/// Messages that were not delivered yet.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Inbox {
    pub(super) steers: Vec<Message>,
    pub(super) follow_ups: VecDeque<Message>,
    /// `true` once the user went on elsewhere.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) leaves: bool,
}

impl Inbox {
    /// Iterates over the messages in the order of their delivery.
    pub(super) fn into_messages(self) -> impl Iterator<Item = Message> {
        self.steers.into_iter().chain(self.follow_ups)
    }
}
