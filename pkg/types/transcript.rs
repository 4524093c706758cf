//! The conversation as providers receive it.

use std::{
    any::Any,
    fmt,
    ops::Deref,
    sync::{Arc, Mutex, PoisonError},
};

use super::Message;

/// An append-only list of messages that clones in constant time.
///
/// A growing conversation is sent again with every turn. So that nobody encodes its past again, a
/// provider may keep its encoding of the first messages in [`wire_cache`](Self::wire_cache). The
/// cache belongs to this very history: appending keeps it, and a history that takes another course
/// starts with an empty one, so what is cached is always an encoding of the first messages.
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
#[derive(Clone, Default)]
pub struct Transcript(Arc<History>);

#[derive(Default)]
struct History {
    messages: Vec<Arc<Message>>,
    cache: WireCache,
}

impl Transcript {
    /// Appends a message: constant time while no clone is alive, else the list of pointers is
    /// copied once and the clones keep the old one.
    pub fn push(&mut self, message: Message) {
        let message = Arc::new(message);
        if let Some(history) = Arc::get_mut(&mut self.0) {
            history.messages.push(message);
        } else {
            let mut messages = self.0.messages.clone();
            messages.push(message);
            self.0 = Arc::new(History { messages, cache: WireCache::default() });
        }
    }

    /// Where a provider keeps its encoding of the first messages of this history.
    #[must_use]
    pub fn wire_cache(&self) -> &WireCache {
        &self.0.cache
    }
}

impl Deref for Transcript {
    type Target = [Arc<Message>];

    fn deref(&self) -> &Self::Target {
        &self.0.messages
    }
}

impl FromIterator<Message> for Transcript {
    fn from_iter<I: IntoIterator<Item = Message>>(messages: I) -> Self {
        let messages = messages.into_iter().map(Arc::new).collect();
        Self(Arc::new(History { messages, cache: WireCache::default() }))
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

/// One slot for one value of any type, kept beside a [`Transcript`].
#[derive(Default)]
pub struct WireCache(Mutex<Option<Box<dyn Any + Send>>>);

impl WireCache {
    /// Takes the value out when it is a `T`; a value of another type is dropped.
    #[must_use]
    pub fn take<T: Any + Send>(&self) -> Option<T> {
        let slot = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        slot.and_then(|value| value.downcast().ok()).map(|value| *value)
    }

    /// Puts a value in for the next request; replaces what was there.
    pub fn put<T: Any + Send>(&self, value: T) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(value));
    }
}

impl fmt::Debug for WireCache {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("WireCache")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn appending_keeps_the_cache_and_a_fork_starts_without() {
        let mut one = Transcript::default();
        one.push(Message::user("a"));
        one.wire_cache().put(1_usize);
        one.push(Message::user("b"));
        assert_eq!(one.wire_cache().take::<usize>(), Some(1));
        one.wire_cache().put(2_usize);
        let old = one.clone();
        one.push(Message::user("c"));
        assert_eq!(one.wire_cache().take::<usize>(), None, "a fork has no cache");
        assert_eq!(old.wire_cache().take::<usize>(), Some(2));
        assert_eq!((old.len(), one.len()), (2, 3));
    }
}
