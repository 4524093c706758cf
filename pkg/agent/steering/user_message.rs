//! A message of the user for a run in progress.

use serde::{Deserialize, Serialize};

use forgeline_types::Message;

/// A message for a run in progress.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum UserMessage {
    /// A message for the model after the calls in progress, or at once: then an answer in progress is interrupted.
    Steer { message: Message, now: bool },
    /// A message for the model when the run would otherwise end.
    FollowUp { message: Message },
    /// The user has left: the run ends as a cancelled one after its calls, whose results are kept.
    Leave,
}

impl UserMessage {
    /// Returns the message, if it is one.
    pub(crate) fn into_message(self) -> Option<Message> {
        match self {
            Self::Steer { message, .. } | Self::FollowUp { message } => Some(message),
            Self::Leave => None,
        }
    }
}
