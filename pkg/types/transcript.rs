//! The conversation as providers receive it.

use std::{fmt, slice, sync::Arc};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Message, MessageRole, part_kinds::PartKinds};

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
#[derive(Clone, Default)]
pub struct Transcript(Arc<MessageList>);

/// The messages, and what is known of all of them.
#[derive(Clone, Default)]
struct MessageList {
    messages: Vec<Arc<Message>>,
    /// The kinds of their parts.
    kinds: PartKinds,
    /// `true` if the last message that has no results has calls.
    asks: bool,
}

impl MessageList {
    fn push(&mut self, message: Arc<Message>) {
        self.note(&message);
        self.messages.push(message);
    }

    fn note(&mut self, message: &Message) {
        self.kinds = self.kinds.with(PartKinds::of(message, self.asks));
        if message.role != MessageRole::Tool {
            self.asks = message.tool_calls().next().is_some();
        }
    }
}

impl Transcript {
    /// Creates a transcript of messages that may be shared with others.
    #[doc(hidden)]
    pub fn shared(messages: Vec<Arc<Message>>) -> Self {
        let mut list = MessageList::default();
        for message in &messages {
            list.note(message);
        }
        Self(Arc::new(MessageList { messages, ..list }))
    }

    /// Returns `true` if a message may have a part of one of these kinds.
    #[doc(hidden)]
    #[must_use]
    pub fn may_have(&self, kinds: PartKinds) -> bool {
        self.0.kinds.meets(kinds)
    }

    /// Appends the parts of a message to the newest one; returns `false` if there is none.
    #[doc(hidden)]
    pub fn join_last(&mut self, more: &Message) -> bool {
        let MessageList { messages, kinds, asks } = Arc::make_mut(&mut self.0);
        let Some(message) = messages.last_mut().map(Arc::make_mut) else { return false };
        message.parts.extend(more.parts.iter().cloned());
        *kinds = kinds.with(PartKinds::of(more, true));
        if message.role != MessageRole::Tool {
            *asks = message.tool_calls().next().is_some();
        }
        true
    }

    /// Appends a message in constant time while no clone is alive; otherwise the list of pointers is
    /// copied once and the clones keep the old one.
    pub fn push(&mut self, message: impl Into<Arc<Message>>) {
        Arc::make_mut(&mut self.0).push(message.into());
    }

    /// Returns the messages, oldest first.
    #[must_use]
    pub fn messages(&self) -> &[Arc<Message>] {
        &self.0.messages
    }

    /// Iterates over the messages, oldest first.
    pub fn iter(&self) -> slice::Iter<'_, Arc<Message>> {
        self.0.messages.iter()
    }

    /// Returns the newest message.
    #[must_use]
    pub fn last(&self) -> Option<&Arc<Message>> {
        self.0.messages.last()
    }

    /// Returns the number of messages.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.messages.len()
    }

    /// Returns `true` if there are no messages.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.messages.is_empty()
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
        let (list, messages) = (Arc::make_mut(&mut self.0), messages.into_iter());
        list.messages.reserve(messages.size_hint().0);
        for message in messages {
            list.push(message.into());
        }
    }
}

impl<M: Into<Arc<Message>>> FromIterator<M> for Transcript {
    fn from_iter<I: IntoIterator<Item = M>>(messages: I) -> Self {
        Self::shared(messages.into_iter().map(Into::into).collect())
    }
}

impl PartialEq for Transcript {
    fn eq(&self, other: &Self) -> bool {
        self.messages() == other.messages()
    }
}

impl Serialize for Transcript {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self)
    }
}

impl<'de> Deserialize<'de> for Transcript {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::deserialize(deserializer).map(Self::shared)
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
