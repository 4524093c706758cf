//! The agent: a setup that serves any number of conversations.

use std::{fmt, sync::Arc};

use super::{
    conversation::Conversation,
    stored_conversations::{StoredConversations, StoredHistory},
};
use crate::{
    config::AgentConfig,
    memory::{Memory, SharedMemory},
    run::{RunError, RunInput, RunOutcome, no_store},
    setup::{AgentSetup, RequestModes},
    streams::RunStream,
};
use forgeline_types::{AgentError, Text, Transcript};

/// An agent: a model, its tools and its rules, without a history.
///
/// A clone is a handle to the same agent, cheap to make and to share between threads, such as in the state of a web application. A
/// [`run`](Self::run) has a conversation of its own, so two users of one agent never see each other, and no run waits for another one. For a conversation
/// that goes on, keep a [`Conversation`]; or give the agent a [store](crate::AgentBuilder::conversations), and each input the
/// [id](RunInput::conversation) of its conversation.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use forgeline::{agent::{Agent, tools::Calculator}, llm::demo::DemoProvider};
///
/// let agent = Agent::builder(DemoProvider::new()).tool(Calculator).build()?;
/// let outcome = agent.run("What is 6 * 7?").await?;
/// assert!(outcome.text.contains("42"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Agent(Arc<AgentInner>);

/// The name that Go's Forge gives the agent with the default loop.
pub type DefaultAgent = Agent;

struct AgentInner {
    parts: Arc<AgentSetup>,
    modes: Arc<RequestModes>,
    /// The memory of which each conversation begins with a copy.
    memory: SharedMemory,
    conversations: Option<StoredConversations>,
}

impl Agent {
    pub(super) fn new(
        parts: AgentSetup,
        memory: Box<dyn Memory>,
        conversations: Option<StoredConversations>,
    ) -> Self {
        let modes = Arc::new(RequestModes::new(&parts));
        let memory = SharedMemory::new(memory);
        Self(Arc::new(AgentInner { parts: Arc::new(parts), modes, memory, conversations }))
    }

    /// Returns an agent that differs in its parts, and has the same memory and store.
    fn with_parts(&self, parts: AgentSetup) -> Self {
        let AgentInner { modes, memory, conversations, .. } = &*self.0;
        Self(Arc::new(AgentInner {
            parts: Arc::new(parts),
            modes: Arc::clone(modes),
            memory: SharedMemory::new(memory.lock().clone()),
            conversations: conversations.as_ref().map(StoredConversations::anew),
        }))
    }

    /// Begins a conversation, with the messages of the [memory](crate::AgentBuilder::memory) that the agent was built with, and with none by default.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use forgeline::{agent::Agent, llm::demo::DemoProvider};
    ///
    /// let conversation = Agent::builder(DemoProvider::new()).build()?.conversation();
    /// conversation.run("My name is Ann.").await?;
    /// conversation.run("What is my name?").await?;
    /// assert_eq!(conversation.transcript().len(), 4);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn conversation(&self) -> Conversation {
        self.conversation_with(self.0.memory.lock().clone(), None)
    }

    /// Begins a conversation with the messages of a transcript, [repaired](crate::memory::repaired) where it was broken.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use forgeline::{agent::Agent, llm::demo::DemoProvider, types::{Message, Transcript}};
    ///
    /// let messages = vec![Message::user("My name is Ann."), Message::assistant("Hello, Ann.")];
    /// let transcript = Transcript::from(messages);
    /// let agent = Agent::builder(DemoProvider::new()).build()?;
    /// let conversation = agent.conversation_from(&transcript);
    /// conversation.run("What is my name?").await?;
    /// assert_eq!(conversation.transcript().len(), 4);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn conversation_from(&self, transcript: &Transcript) -> Conversation {
        let mut memory = self.0.memory.lock().fork();
        for message in &crate::memory::repaired(transcript) {
            memory.add(Arc::clone(message));
        }
        self.conversation_with(memory, None)
    }

    fn conversation_with(
        &self,
        memory: Box<dyn Memory>,
        stored: Option<StoredHistory>,
    ) -> Conversation {
        let setup = self.setup();
        let (id, journal) = stored.map(|stored| (stored.id, stored.journal)).unzip();
        Conversation::new(setup, memory, id, journal)
    }

    /// Returns the conversation that the agent's [store](crate::AgentBuilder::conversations) has under this id, or a new one. If it is in use, such as by
    /// another task, the handle is to the same conversation. A run that had not ended is left as it is; [`resume`](Conversation::resume) continues it.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorCode::InvalidInput`](forgeline_types::ErrorCode::InvalidInput) if the agent has no store, or
    /// [`ErrorCode::Journal`](forgeline_types::ErrorCode::Journal) if the conversation cannot be read.
    ///
    /// # Cancel safety
    ///
    /// Nothing is changed if the future is dropped.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use forgeline::{agent::{Agent, RunInput, journal::MemoryJournals}, llm::demo::DemoProvider};
    ///
    /// let agent = Agent::builder(DemoProvider::new()).conversations(MemoryJournals::default()).build()?;
    /// agent.run(RunInput::from("Hello").conversation("ann-1")).await?;
    /// agent.run(RunInput::from("Good day").conversation("bob-1")).await?;
    /// assert_eq!(agent.open("ann-1").await?.transcript().len(), 2);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn open(&self, id: impl Into<Text>) -> Result<Conversation, AgentError> {
        let id = id.into();
        let Some(conversation) = self.stored(&id) else {
            return Err(no_store(&id));
        };
        conversation.load().await?;
        Ok(conversation)
    }

    /// Returns the conversation with this id, which may not have been read; `None` if the agent has no store.
    fn stored(&self, id: &Text) -> Option<Conversation> {
        let conversations = self.0.conversations.as_ref()?;
        Some(
            conversations.find(id, |stored| {
                self.conversation_with(self.0.memory.lock().fork(), Some(stored))
            }),
        )
    }

    /// Returns the conversation of an input, and the input.
    pub(super) fn conversation_of(&self, mut input: RunInput) -> (Conversation, RunInput) {
        let id = input.context.conversation().map(Text::from);
        if let Some(stored) = id.as_ref().and_then(|id| self.stored(id)) {
            return (stored, input);
        }
        input.names_unknown = id.is_some();
        (self.conversation(), input)
    }

    /// Runs `input` to its end and returns the outcome. The input is a text, a message that may contain other parts such as images, or a [`RunInput`],
    /// which also contains the context of the run. The run has a conversation of its own, unless the input [names](RunInput::conversation) one of the
    /// agent's [store](crate::AgentBuilder::conversations).
    ///
    /// # Errors
    ///
    /// The same as for [`Conversation::run`]; and [`ErrorCode::InvalidInput`](forgeline_types::ErrorCode::InvalidInput) if the input names a conversation, but
    /// the agent has no store.
    ///
    /// # Cancel safety
    ///
    /// The same as for [`Conversation::run`].
    pub async fn run(&self, input: impl Into<RunInput>) -> Result<RunOutcome, RunError> {
        let (conversation, input) = self.conversation_of(input.into());
        conversation.run(input).await
    }

    /// Returns a run as a stream of its events; see [`run`](Self::run). The run starts when the first event is polled.
    pub fn run_stream(&self, input: impl Into<RunInput>) -> RunStream {
        let (conversation, input) = self.conversation_of(input.into());
        conversation.run_stream(input)
    }

    /// Begins a conversation, and spawns a task that serves its inputs one after another; see [`Conversation::start`].
    ///
    /// # Panics
    ///
    /// Panics outside of a tokio runtime.
    #[must_use]
    pub fn start(&self) -> (crate::channels::AgentHandle, crate::channels::AgentChannels) {
        self.conversation().start()
    }

    /// Returns the limits and policies of the agent.
    #[must_use]
    pub fn config(&self) -> &AgentConfig {
        &self.0.parts.config
    }

    pub(crate) fn parts(&self) -> &Arc<AgentSetup> {
        &self.0.parts
    }

    pub(super) fn setup(&self) -> (Arc<AgentSetup>, Arc<RequestModes>) {
        (Arc::clone(&self.0.parts), Arc::clone(&self.0.modes))
    }

    pub(super) fn modes(&self) -> &RequestModes {
        &self.0.modes
    }

    pub(super) fn changed(&self, change: impl FnOnce(&mut AgentSetup)) -> Self {
        let mut parts = AgentSetup::clone(&self.0.parts);
        change(&mut parts);
        self.with_parts(parts)
    }
}

impl fmt::Debug for Agent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Agent")
            .field("model", self.0.parts.provider.info())
            .field("tools", &self.0.parts.tools)
            .field("config", &self.0.parts.config)
            .finish_non_exhaustive()
    }
}
