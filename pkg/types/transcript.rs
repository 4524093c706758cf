//! The conversation as providers receive it.

use std::{fmt, ops::Deref, sync::Arc};

use serde::{Deserialize, Serialize};

use super::Message;

/// An append-only list of messages that clones in constant time.
///
/// A growing conversation is sent again with every turn. Its messages never change and are shared by
/// its clones, so a provider knows which of them it has sent before.
///
/// # Examples
///
/// ```
/// use forgeline::types::{Message, Transcript};
///
/// let mut transcript = Transcript::default();
/// transcript.push(Message::user("Hello"));
/// let sent = transcript.clone();
/// transcript.push(Message::assistant("Hi"));
/// assert_eq!((sent.len(), transcript.len()), (1, 2));
/// ```
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Transcript(Arc<Vec<Arc<Message>>>);

impl Transcript {
    /// Appends a message: constant time while no clone is alive, else the list of pointers is
    /// copied once and the clones keep the old one.
    pub fn push(&mut self, message: Message) {
        Arc::make_mut(&mut self.0).push(Arc::new(message));
    }
}

impl Deref for Transcript {
    type Target = [Arc<Message>];

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl FromIterator<Message> for Transcript {
    fn from_iter<I: IntoIterator<Item = Message>>(messages: I) -> Self {
        Self(Arc::new(messages.into_iter().map(Arc::new).collect()))
    }
}

impl From<Vec<Message>> for Transcript {
    fn from(messages: Vec<Message>) -> Self {
        messages.into_iter().collect()
    }
}

impl fmt::Debug for Transcript {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_list().entries(self.iter()).finish()
    }
}
