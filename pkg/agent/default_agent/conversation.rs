//! A conversation with an agent.

use std::{
    fmt,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use crate::{
    channels::{AgentChannels, AgentHandle, session},
    config::AgentConfig,
    driver::{
        self, EventEmitter, RunSetup, RunStart, SessionGrants, SharedAgent, SharedHistory,
        StartMessages, WrittenMessages,
    },
    journal::{Chain, Journal, JournalStep, OpenIs, OpenRun, Record, Restored, Writer},
    memory::{Memory, SharedMemory},
    run::{RunContext, RunError, RunInput, RunOutcome},
    setup::{AgentSetup, RequestModes},
    streams::RunStream,
    support::next_run_id,
};
use forgeline_types::{AgentError, Message, Text, Transcript};

/// A conversation with an agent: its history, and the runs that continue it.
///
/// A run sends the history and the user's input to the model and runs the tools that it calls, turn by turn, until the final answer. Runs of a
/// conversation share the history; they run one after another, in the order in which they were started. Runs of other conversations do not wait for them.
/// Share a conversation by reference, or in an [`Arc`].
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use forgeline::{agent::{Agent, tools::Calculator}, llm::demo::DemoProvider};
///
/// let agent = Agent::builder(DemoProvider::new()).tool(Calculator).build()?;
/// let (ann, bob) = (agent.conversation(), agent.conversation());
/// let (one, other) = tokio::join!(ann.run("What is 6 * 7?"), bob.run("What is 1 + 1?"));
/// assert!(one?.text.contains("42") && other?.text.contains('2'));
/// ann.run("Thank you.").await?;
/// assert!(ann.transcript().len() > bob.transcript().len());
/// # Ok(())
/// # }
/// ```
pub struct Conversation(pub(crate) Arc<SharedAgent>);

impl Conversation {
    /// Returns a conversation without runs; `id` and `journal` are those of the store.
    pub(super) fn new(
        (parts, modes): (Arc<AgentSetup>, Arc<RequestModes>),
        memory: Box<dyn Memory>,
        id: Option<Text>,
        journal: Option<Arc<dyn Journal>>,
    ) -> Self {
        let writer = journal.map(|journal| Writer::new(journal, parts.config.journal_timeout));
        let (memory, turn) = (Arc::new(SharedMemory::new(memory)), Mutex::new(writer));
        let (written, grants, inputs) =
            (WrittenMessages::default(), SessionGrants::default(), StartMessages::default());
        let (outside, looked_through) = (std::sync::Mutex::default(), AtomicUsize::new(0));
        let prefix = std::sync::Mutex::default();
        let history = Arc::new(SharedHistory {
            id,
            memory,
            turn,
            written,
            window: OnceLock::new(),
            grants,
            inputs,
            outside,
            prefix,
            looked_through,
            compacts: AtomicBool::new(false),
        });
        Self(Arc::new(SharedAgent { parts, modes, history }))
    }

    /// Returns the id by which the agent's [store](crate::AgentBuilder::conversations) knows the conversation; `None` for one that is not stored.
    #[must_use]
    pub fn id(&self) -> Option<&str> {
        self.0.id.as_deref()
    }

    /// Stores the conversation in a journal, to which each step is written before the next one begins; the messages so far are its first entry. A
    /// conversation that the journal already holds must be [resumed](Self::resume) before the first run.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use forgeline::{agent::{Agent, journal::MemoryJournal}, llm::demo::DemoProvider};
    ///
    /// let (journal, agent) = (MemoryJournal::default(), Agent::builder(DemoProvider::new()).build()?);
    /// agent.conversation().with_journal(journal.clone()).run("Hello").await?;
    ///
    /// let again = agent.conversation().with_journal(journal);
    /// again.resume().await?;
    /// assert_eq!(again.transcript().len(), 2);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn with_journal(self, journal: impl Journal + 'static) -> Self {
        self.copy(Some(Arc::new(journal)))
    }

    /// Returns a conversation with the same messages, which is not stored. Its runs do not wait for those of this one, and it has none of the permissions
    /// that people granted for this one.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use forgeline::{agent::{Agent, tools::Calculator}, llm::demo::DemoProvider};
    ///
    /// let conversation = Agent::builder(DemoProvider::new()).tool(Calculator).build()?.conversation();
    /// conversation.run("What is 6 * 7?").await?;
    /// let other = conversation.fork();
    /// other.run("And 1 + 1?").await?;
    /// assert!(other.transcript().len() > conversation.transcript().len());
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn fork(&self) -> Self {
        self.copy(None)
    }

    fn copy(&self, journal: Option<Arc<dyn Journal>>) -> Self {
        let from = &self.0;
        let setup = (Arc::clone(&from.parts), Arc::clone(&from.modes));
        let copy = Self::new(setup, from.memory.lock().clone(), None, journal);
        copy.0.add_outside(&from.outside());
        let transcript = copy.transcript();
        let messages = transcript.messages();
        let places = from.inputs.places(messages);
        let inputs = places.iter().filter_map(|(run, at)| Some((run, messages.get(*at)?)));
        copy.0.inputs.set(inputs);
        if let Some(marks) = from.window_marks() {
            copy.0.begin_window(Some(&marks));
        }
        copy
    }

    /// Returns the number of tokens that a request with the current conversation would have, including instructions and tools, as estimated by
    /// [`TokenEstimator`](forgeline_llm::TokenEstimator), which follows the reports of the provider. Returns `None` if its requests have no
    /// limit, and before its first request.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use forgeline::{agent::Agent, llm::demo::DemoProvider};
    ///
    /// let agent = Agent::builder(DemoProvider::new()).max_context_tokens(8_000).build()?;
    /// let conversation = agent.conversation();
    /// assert_eq!(conversation.context_tokens(), None);
    /// conversation.run("Hi").await?;
    /// assert!(conversation.context_tokens().is_some_and(|tokens| tokens > 0));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn context_tokens(&self) -> Option<u64> {
        let conversation = self.0.memory.lock().transcript().clone();
        let window = self.0.used_window()?;
        let tokens = window.estimated_now(conversation.messages());
        let is_bounded = self.0.parts.may_have_window() || !window.marks().is_whole();
        (is_bounded && window.estimated() > 0).then_some(tokens)
    }

    /// Returns `true` when the conversation contains text from outside.
    pub(crate) fn has_outside_text(&self) -> bool {
        self.0.outside().is_any()
    }

    /// Runs `input` to its end and returns the outcome. The input is a text, a message that may contain other parts such as images, or a [`RunInput`],
    /// which also contains the context of the run.
    ///
    /// # Errors
    ///
    /// Returns an error if the provider fails, a limit of the agent is exceeded, or a part of the system prompt fails; [`ErrorCode::Deadlock`] inside a
    /// tool or prompt part of a run of this conversation, which would wait for itself; or [`ErrorCode::Timeout`] if an earlier run does not end within
    /// [`queue_timeout`](crate::config::AgentConfig::queue_timeout). The error contains the outcome so far.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future ends the run: the provider's stream is closed, and tools are dropped. The conversation keeps the complete messages.
    ///
    /// [`ErrorCode::Deadlock`]: forgeline_types::ErrorCode::Deadlock
    /// [`ErrorCode::Timeout`]: forgeline_types::ErrorCode::Timeout
    pub async fn run(&self, input: impl Into<RunInput>) -> Result<RunOutcome, RunError> {
        let emitter = EventEmitter::new(next_run_id(), None, CancellationToken::new());
        let start = RunStart::Input(Box::new(self.0.with_id(input.into())));
        driver::run(&self.0, start, emitter).await.0.into_result()
    }

    /// Returns a run as a stream of its events. The run starts when the first event is polled.
    pub fn run_stream(&self, input: impl Into<RunInput>) -> RunStream {
        let start = RunStart::Input(Box::new(self.0.with_id(input.into())));
        RunStream::new(Arc::clone(&self.0), start, next_run_id())
    }

    /// Reads the conversation of the [journal](Self::with_journal), and completes the run that had not ended; `None` if all had.
    ///
    /// The run continues from the last step in the journal. An answer in progress is requested again, after the event
    /// [`ANSWER_RESTARTED`](crate::notice::ANSWER_RESTARTED). Of the calls in progress, [idempotent](crate::tools::Tool::is_idempotent) ones run again with the
    /// same key, and the model is informed that the others were interrupted. The agent must have the tools of the run; the run keeps its system prompt. The
    /// previous messages of the conversation are replaced.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorCode::Journal`] if the conversation has no journal, it cannot be read, or its lines were edited, lost, or written by another version or
    /// with other tools; else the same as [`run`](Self::run).
    ///
    /// # Cancel safety
    ///
    /// The same as for [`run`](Self::run): the journal keeps what was written, and can be resumed again.
    ///
    /// [`ErrorCode::Journal`]: forgeline_types::ErrorCode::Journal
    pub async fn resume(&self) -> Result<Option<RunOutcome>, RunError> {
        let Some(stream) = self.resume_stream().await? else { return Ok(None) };
        stream.outcome().await.map(Some)
    }

    /// Reads the conversation of the journal, and returns the run that had not ended as a stream of its events; `None` if all had. See
    /// [`resume`](Self::resume).
    ///
    /// The events continue from the last one before the last line of the journal. A reader that already has events of the run drops those whose `seq` is
    /// not below the first one here; it then has the whole run, with each event once. The events that followed from the last line are sent again; a text
    /// in progress is sent anew, after [`ANSWER_RESTARTED`](crate::notice::ANSWER_RESTARTED); a tool's own events are sent again if the tool runs again. If the
    /// first `seq` exceeds the last one of the reader by more than 1, queued events were lost with the process; their messages are in the
    /// [`transcript`](Self::transcript), like those of a run that had ended.
    ///
    /// # Errors
    ///
    /// The journal errors of [`resume`](Self::resume).
    pub async fn resume_stream(&self) -> Result<Option<RunStream>, RunError> {
        let outcome = || Box::new(RunOutcome::new(Text::new()));
        let open = self.restore().await.map_err(|error| RunError { error, outcome: outcome() })?;
        Ok(open.map(|(run, chain, setting)| {
            let run_id = run.state.outcome().run_id.clone();
            RunStream::new(
                Arc::clone(&self.0),
                RunStart::Open(Box::new(run), chain, setting),
                run_id,
            )
        }))
    }

    /// Reads the history of a conversation that the agent's store has, unless it has been read.
    pub(super) async fn load(&self) -> Result<(), AgentError> {
        let mut turn = self.0.take_turn().await?;
        self.0.load(turn.as_mut()).await
    }

    /// Restores the conversation; returns the open run.
    async fn restore(&self) -> Result<Option<(OpenRun, Chain, Option<RunSetup>)>, AgentError> {
        self.restore_with(OpenIs::Resumed, |_, _| {}).await.map(|(open, _)| open)
    }

    /// Restores the conversation; returns the open run to resume, and the rest that was restored.
    pub(crate) async fn restore_with(
        &self,
        open: OpenIs<'_>,
        share: impl FnOnce(&str, &mut RunContext),
    ) -> Result<(Option<(OpenRun, Chain, Option<RunSetup>)>, Restored), AgentError> {
        let mut turn = self.0.take_turn().await?;
        self.0.restore(turn.as_mut(), open, share).await
    }

    /// Spawns a task that serves inputs one after another.
    ///
    /// # Panics
    ///
    /// Panics outside of a tokio runtime.
    #[must_use]
    pub fn start(&self) -> (AgentHandle, AgentChannels) {
        session::start(Arc::clone(&self.0))
    }

    /// Returns the limits and policies of the agent.
    #[must_use]
    pub fn config(&self) -> &AgentConfig {
        &self.0.parts.config
    }

    /// Returns the conversation so far without waiting; for an active run, the complete messages.
    #[must_use]
    pub fn transcript(&self) -> Transcript {
        self.0.memory.lock().transcript().clone()
    }

    /// Summarizes everything before the user's next message when that is sent, as a conversation that has reached [`summarize_at`] is
    /// summarized; also where the context window of the model is not known. A conversation that a summary would not shorten stays as it is.
    ///
    /// The [transcript](Self::transcript) stays whole. The run reports the summary with the notice [`CONTEXT_SUMMARIZED`](crate::notice::CONTEXT_SUMMARIZED).
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use forgeline::{
    ///     agent::Agent,
    ///     testing::{ScriptedProvider, ScriptedTurn},
    /// };
    ///
    /// let story: String = (1..200).map(|year| format!("In year {year}, the king built a tower. ")).collect();
    /// let provider = ScriptedProvider::new([
    ///     ScriptedTurn::new().text(story),
    ///     ScriptedTurn::new().text("The story is about a king."),
    ///     ScriptedTurn::new().text("He lived happily."),
    /// ]);
    /// let conversation = Agent::builder(provider.clone()).build()?.conversation();
    /// conversation.run("Tell me a story.").await?;
    /// conversation.compact();
    /// conversation.run("And then?").await?;
    /// let requests = provider.requests();
    /// let [.., last] = requests.as_slice() else { return Err("no request".into()) };
    /// assert!(last.messages.iter().all(|message| !message.text().contains("In year 7")));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// [`summarize_at`]: crate::config::AgentConfig::summarize_at
    pub fn compact(&self) {
        self.0.compacts.store(true, Ordering::Release);
    }

    /// Puts messages at the end of the conversation, after the current run: those of a conversation that was held elsewhere.
    ///
    /// # Errors
    ///
    /// As [`clear`](Self::clear).
    #[doc(hidden)]
    pub async fn give(&self, messages: Vec<Arc<Message>>) -> Result<(), AgentError> {
        let mut turn = self.0.take_turn().await?;
        if let Some(writer) = &mut *turn {
            self.0.begin_entry(writer).await?;
            driver::write_given(writer, &messages).await?;
        }
        let mut memory = self.0.memory.lock();
        for message in messages {
            memory.add(message);
        }
        Ok(())
    }

    /// Clears the conversation, after the current run.
    ///
    /// # Errors
    ///
    /// Returns an error if the conversation has a journal that fails, or as [`run`](Self::run) does if another run does not end or waits for this call; the
    /// conversation is then unchanged.
    pub async fn clear(&self) -> Result<(), AgentError> {
        let mut turn = self.0.take_turn().await?;
        if let Some(writer) = &mut *turn {
            self.0.begin_entry(writer).await?;
            writer.append(JournalStep::Cleared, &Record::<()>::Cleared, &[]).await?;
        }
        self.0.memory.lock().clear();
        self.0.inputs.set(std::iter::empty());
        self.0.begin_window(None);
        self.0.begin_anew();
        Ok(())
    }
}

impl fmt::Debug for Conversation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Conversation")
            .field("id", &self.0.id)
            .field("model", self.0.parts.provider.info())
            .field("tools", &self.0.parts.tools)
            .field("config", &self.0.parts.config)
            .finish_non_exhaustive()
    }
}
