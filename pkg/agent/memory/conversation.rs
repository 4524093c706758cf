//! A memory that keeps the whole conversation.

use std::sync::Arc;

use forgeline_json::subslice;
use forgeline_types::{Message, Transcript};

/// The memory of a conversation.
///
/// # Examples
///
/// A memory that sends at most the last 20 messages:
///
/// ```
/// use std::sync::Arc;
/// use forgeline::{
///     agent::{Agent, memory::Memory},
///     llm::demo::DemoProvider,
///     types::{Message, Transcript},
/// };
///
/// #[derive(Default)]
/// struct LastMessages(Transcript);
///
/// impl Memory for LastMessages {
///     fn add(&mut self, message: Arc<Message>) {
///         self.0.push(message);
///         if self.0.len() > 20 {
///             self.0 = self.recent(20).iter().cloned().collect();
///         }
///     }
///
///     fn transcript(&self) -> &Transcript {
///         &self.0
///     }
///
///     fn clear(&mut self) {
///         self.0 = Transcript::default();
///     }
///
///     fn fork(&self) -> Box<dyn Memory> {
///         Box::new(Self::default())
///     }
/// }
///
/// let agent = Agent::builder(DemoProvider::new()).memory(LastMessages::default()).build()?;
/// # Ok::<(), forgeline::agent::BuildError>(())
/// ```
pub trait Memory: Send {
    /// Appends a message; the outcome of the run shares it.
    fn add(&mut self, message: Arc<Message>);

    /// Returns the messages to send, the oldest first. Cloning the transcript takes constant time;
    /// while a clone is alive, the next [`add`](Self::add) copies the list of pointers.
    fn transcript(&self) -> &Transcript;

    /// Removes all messages.
    fn clear(&mut self);

    /// Returns an empty memory of the same kind, for another conversation; see
    /// [`Agent::open`](crate::Agent::open).
    fn fork(&self) -> Box<dyn Memory>;

    /// Returns the last `count` messages, the oldest first.
    fn recent(&self, count: usize) -> &[Arc<Message>] {
        let messages = self.transcript().messages();
        subslice(messages, messages.len().saturating_sub(count)..)
    }

    /// Returns the number of messages.
    fn len(&self) -> usize {
        self.transcript().len()
    }

    /// Returns `true` when there are no messages.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A memory that keeps every message.
///
/// # Examples
///
/// ```
/// use forgeline::{agent::memory::{ConversationMemory, Memory as _}, types::Message};
///
/// let mut memory = ConversationMemory::default();
/// memory.add(Message::user("Hello").into());
/// memory.add(Message::assistant("Hi").into());
/// assert_eq!(memory.recent(1)[0].text(), "Hi");
/// ```
#[derive(Debug, Clone, Default)]
pub struct ConversationMemory {
    transcript: Transcript,
}

/// Creates a memory of a stored conversation, [`repaired`](super::repaired) where it was broken.
impl From<Transcript> for ConversationMemory {
    fn from(transcript: Transcript) -> Self {
        Self { transcript: super::repaired(&transcript) }
    }
}

impl Memory for ConversationMemory {
    fn add(&mut self, message: Arc<Message>) {
        self.transcript.push(message);
    }

    fn transcript(&self) -> &Transcript {
        &self.transcript
    }

    fn clear(&mut self) {
        self.transcript = Transcript::default();
    }

    fn fork(&self) -> Box<dyn Memory> {
        Box::new(Self::default())
    }
}

/// Creates a memory of the same kind with the same messages.
impl Clone for Box<dyn Memory> {
    fn clone(&self) -> Self {
        let mut memory = self.fork();
        for message in self.transcript() {
            memory.add(Arc::clone(message));
        }
        memory
    }
}
