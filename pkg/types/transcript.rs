//! The conversation as providers receive it.

use std::{fmt, slice, sync::Arc};

use serde::{Deserialize, Serialize};

use super::Message;

/// An append-only list of messages that clones in constant time.
///
/// A growing conversation is sent again with every turn. Its messages never change and are shared by
/// its clones, so a provider knows which of them it has already sent.
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
///
/// transcript.extend([Message::user("Bye")]);
/// assert_eq!(transcript.messages()[2].text(), "Bye");
/// let texts: Vec<_> = (&transcript).into_iter().map(|message| message.text()).collect();
/// assert_eq!(texts, ["Hello", "Hi", "Bye"]);
///
/// let json = serde_json::to_string(&sent)?;
/// assert_eq!(json, r#"[{"role":"user","parts":[{"type":"text","text":"Hello"}]}]"#);
/// assert_eq!(serde_json::from_str::<Transcript>(&json)?, sent);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Transcript(Arc<Vec<Arc<Message>>>);

impl Transcript {
    /// Creates a transcript of messages that may be shared with others.
    #[doc(hidden)]
    pub fn shared(messages: Vec<Arc<Message>>) -> Self {
        Self(Arc::new(messages))
    }

    /// Appends a message in constant time while no clone is alive; otherwise the list of pointers is
    /// copied once and the clones keep the old one.
    pub fn push(&mut self, message: impl Into<Arc<Message>>) {
        Arc::make_mut(&mut self.0).push(message.into());
    }

    /// Returns the messages, oldest first.
    #[must_use]
    pub fn messages(&self) -> &[Arc<Message>] {
        &self.0
    }

    /// Iterates over the messages, oldest first.
    pub fn iter(&self) -> slice::Iter<'_, Arc<Message>> {
        self.0.iter()
    }

    /// Returns the newest message.
    #[must_use]
    pub fn last(&self) -> Option<&Arc<Message>> {
        self.0.last()
    }

    /// Returns the number of messages.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns `true` if there are no messages.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<'t> IntoIterator for &'t Transcript {
    type Item = &'t Arc<Message>;
    type IntoIter = slice::Iter<'t, Arc<Message>>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<M: Into<Arc<Message>>> Extend<M> for Transcript {
    fn extend<I: IntoIterator<Item = M>>(&mut self, messages: I) {
        Arc::make_mut(&mut self.0).extend(messages.into_iter().map(Into::into));
    }
}

impl<M: Into<Arc<Message>>> FromIterator<M> for Transcript {
    fn from_iter<I: IntoIterator<Item = M>>(messages: I) -> Self {
        Self(Arc::new(messages.into_iter().map(Into::into).collect()))
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
