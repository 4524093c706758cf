//! The agent.

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
        self, EventEmitter, RunSetup, RunStart, SessionGrants, SharedAgent, StartMessages,
        WrittenMessages,
    },
    journal::{
        self, Chain, Journal, JournalStep, MessageList, OpenIs, OpenRun, Record, Restored, Writer,
    },
    memory::{Memory, SharedMemory},
    run::{RunContext, RunError, RunInput, RunOutcome},
    setup::{AgentSetup, RequestModes},
    streams::RunStream,
    support::next_run_id,
};
use forgeline_types::{AgentError, ErrorCode, Message, Text, Transcript};

/// An agent: a model, its tools and a conversation.
///
/// A run sends the user's input to the model and runs the tools that it calls, turn by turn, until the final answer. Runs of an agent share the
/// conversation; they run one after another, in the order in which they were started. Clones are handles to the same agent.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use forgeline::{agent::{DefaultAgent, tools::Calculator}, llm::demo::DemoProvider};
///
/// let agent = DefaultAgent::builder(DemoProvider::new()).tool(Calculator).build()?;
/// let outcome = agent.run("What is 6 * 7?").await?;
/// assert!(outcome.text.contains("42"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct DefaultAgent(pub(crate) Arc<SharedAgent>);

impl DefaultAgent {
    pub(crate) fn new(
        parts: AgentSetup,
        memory: Box<dyn Memory>,
        journal: Option<Arc<dyn Journal>>,
    ) -> Self {
        let modes = RequestModes::new(&parts);
        Self::with_setup(Arc::new(parts), Arc::new(modes), memory, journal)
    }

    fn with_setup(
        parts: Arc<AgentSetup>,
        modes: Arc<RequestModes>,
        memory: Box<dyn Memory>,
        journal: Option<Arc<dyn Journal>>,
    ) -> Self {
        let writer = journal.map(|journal| Writer::new(journal, parts.config.journal_timeout));
        let (memory, turn) = (Arc::new(SharedMemory::new(memory)), Mutex::new(writer));
        let (written, grants, inputs) =
            (WrittenMessages::default(), SessionGrants::default(), StartMessages::default());
        let (outside, looked_through) = (std::sync::Mutex::default(), AtomicUsize::new(0));
        let prefix = std::sync::Mutex::default();
        Self(Arc::new(SharedAgent {
            parts,
            modes,
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
        }))
    }

    /// Returns the number of tokens that a request with the current conversation would have, including instructions and tools, as estimated by
    /// [`TokenEstimator`](forgeline_llm::TokenEstimator), which follows the reports of the provider. Returns `None` if the requests of the agent have no
    /// limit, and before its first request.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use forgeline::{agent::DefaultAgent, llm::demo::DemoProvider};
    ///
    /// let agent = DefaultAgent::builder(DemoProvider::new()).max_context_tokens(8_000).build()?;
    /// assert_eq!(agent.context_tokens(), None);
    /// agent.run("Hi").await?;
    /// assert!(agent.context_tokens().is_some_and(|tokens| tokens > 0));
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

    /// Returns the parts of an answer whose calls the model wrote as text, parsed into text and calls; `None` if the answer contains no call.
    #[doc(hidden)]
    pub fn read_again(
        &self,
        written: &forgeline_types::Message,
    ) -> Option<Vec<forgeline_types::Part>> {
        self.0.modes.text(&self.0.parts).read_again(written)
    }

    /// Returns an agent with the same configuration and a conversation of its own, which is empty and has no journal. Its runs do not wait for those of
    /// this agent.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use forgeline::{agent::{DefaultAgent, tools::Calculator}, llm::demo::DemoProvider};
    ///
    /// let agent = DefaultAgent::builder(DemoProvider::new()).tool(Calculator).build()?;
    /// let (ann, bob) = (agent.fork(), agent.fork());
    /// let (one, other) = tokio::join!(ann.run("What is 6 * 7?"), bob.run("What is 1 + 1?"));
    /// assert!(one?.text.contains("42") && other?.text.contains('2'));
    /// assert!(agent.transcript().is_empty());
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn fork(&self) -> Self {
        let memory = self.0.memory.lock().fork();
        Self::with_setup(Arc::clone(&self.0.parts), Arc::clone(&self.0.modes), memory, None)
    }

    /// Returns an agent with the same configuration whose conversation is stored in this journal; see [`fork`](Self::fork) and [`resume`](Self::resume).
    #[must_use]
    pub fn fork_with_journal(&self, journal: impl Journal + 'static) -> Self {
        let (memory, journal) = (self.0.memory.lock().fork(), Arc::new(journal));
        Self::with_setup(
            Arc::clone(&self.0.parts),
            Arc::clone(&self.0.modes),
            memory,
            Some(journal),
        )
    }

    /// Returns a fork whose runs also have the tools of this source.
    #[doc(hidden)]
    #[must_use]
    pub fn with_source(&self, source: Arc<dyn crate::tools::ToolSource>) -> Self {
        let mut parts = AgentSetup::clone(&self.0.parts);
        parts.sources.push(source);
        let memory = self.0.memory.lock().fork();
        Self::with_setup(Arc::new(parts), Arc::clone(&self.0.modes), memory, None)
    }

    /// Returns a fork with these additional observers.
    #[doc(hidden)]
    #[must_use]
    pub fn watched_by(&self, watchers: &[Arc<dyn crate::observe::Observer>]) -> Self {
        let mut parts = AgentSetup::clone(&self.0.parts);
        parts.observers = parts.observers.iter().chain(watchers).cloned().collect();
        let memory = self.0.memory.lock().fork();
        Self::with_setup(Arc::new(parts), Arc::clone(&self.0.modes), memory, None)
    }

    /// Returns the provider that answers.
    #[doc(hidden)]
    pub fn provider(&self) -> &Arc<dyn forgeline_llm::Provider> {
        &self.0.parts.provider
    }

    /// Returns the names of the models that an input may choose, the agent's own first.
    #[doc(hidden)]
    pub fn model_names(&self) -> impl Iterator<Item = &forgeline_types::Text> {
        self.0.parts.model_names()
    }

    /// Returns the models other than the agent's own.
    #[doc(hidden)]
    pub fn models(&self) -> &[(forgeline_types::Text, Arc<dyn forgeline_llm::Provider>)] {
        &self.0.parts.models
    }

    /// Checks that the agent has the model that an input chose.
    #[doc(hidden)]
    pub fn check_model(&self, input: &RunInput) -> Result<(), AgentError> {
        self.0.parts.chosen(&input.context).map(drop)
    }

    /// Checks that the model of an input can read it.
    #[doc(hidden)]
    pub fn check_input(&self, input: &RunInput) -> Result<(), AgentError> {
        let chosen = self.0.parts.chosen(&input.context)?;
        let provider = chosen.unwrap_or(&self.0.parts.provider);
        input.check(provider.info(), crate::support::system_now())
    }

    /// Returns the tools that the agent was built with, and their descriptions.
    #[doc(hidden)]
    pub fn own_tools(
        &self,
    ) -> impl Iterator<Item = (&Arc<dyn crate::tools::Tool>, &forgeline_llm::ToolSpec)> {
        self.0.parts.tools.iter().map(|entry| (entry.tool, entry.spec))
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
    /// tool or prompt part of this agent, which would wait for itself; or [`ErrorCode::Timeout`] if an earlier run does not end within
    /// [`queue_timeout`](crate::AgentConfig::queue_timeout). The error contains the outcome so far.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future ends the run: the provider's stream is closed, and tools are dropped. The conversation keeps the complete messages.
    pub async fn run(&self, input: impl Into<RunInput>) -> Result<RunOutcome, RunError> {
        let emitter = EventEmitter::new(next_run_id(), None, CancellationToken::new());
        driver::run(&self.0, RunStart::Input(Box::new(input.into())), emitter).await.0.into_result()
    }

    /// Returns a run as a stream of its events. The run starts when the first event is polled.
    pub fn run_stream(&self, input: impl Into<RunInput>) -> RunStream {
        let start = RunStart::Input(Box::new(input.into()));
        RunStream::new(Arc::clone(&self.0), start, next_run_id())
    }

    /// Reads the conversation of the [journal](crate::AgentBuilder::journal), and completes the run that had not ended; `None` if all had.
    ///
    /// The run continues from the last step in the journal. An answer in progress is requested again, after the event
    /// [`ANSWER_RESTARTED`](crate::ANSWER_RESTARTED). Of the calls in progress, [idempotent](crate::tools::Tool::is_idempotent) ones run again with the
    /// same key, and the model is informed that the others were interrupted. The agent must have the tools of the run; the run keeps its system prompt. The
    /// agent's previous memory is replaced.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorCode::Journal`] if the agent has no journal, it cannot be read, or its lines were edited, lost, or written by another version or
    /// with other tools; else the same as [`run`](Self::run).
    ///
    /// # Cancel safety
    ///
    /// The same as for [`run`](Self::run): the journal keeps what was written, and can be resumed again.
    pub async fn resume(&self) -> Result<Option<RunOutcome>, RunError> {
        let Some(stream) = self.resume_stream().await? else { return Ok(None) };
        stream.outcome().await.map(Some)
    }

    /// Reads the conversation of the journal, and returns the run that had not ended as a stream of its events; `None` if all had. See
    /// [`resume`](Self::resume).
    ///
    /// The events continue from the last one before the last line of the journal. A reader that already has events of the run drops those whose `seq` is
    /// not below the first one here; it then has the whole run, with each event once. The events that followed from the last line are sent again; a text
    /// in progress is sent anew, after [`ANSWER_RESTARTED`](crate::ANSWER_RESTARTED); a tool's own events are sent again if the tool runs again. If the
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
        let Some(writer) = &mut *turn else {
            let message = "the agent has no journal; give it one with `AgentBuilder::journal`";
            return Err(AgentError::new(ErrorCode::Journal, message));
        };
        let mut restored = journal::restore(&writer.read().await?, open)?;
        restored.share(share);
        let setting = match restored.open_context() {
            // A run keeps its tools: what a source has had since is for the next one.
            Some(run) => self.0.setting_of(run, &|tool| restored.has_tool(tool)).await?,
            None => None,
        };
        let parts = setting.as_ref().map_or(&self.0.parts, |own| &own.parts);
        let open = restored.replay(&parts.tool_marks(), &**parts)?;
        let mut memory = self.0.memory.lock();
        memory.clear();
        self.0.begin_anew();
        self.0.inputs.set(restored.inputs.iter().map(|(run, input)| (run, input)));
        for message in std::mem::take(&mut restored.messages) {
            memory.add(message);
        }
        self.0.begin_window(restored.marks.as_deref());
        writer.go_on(restored.chain);
        Ok((open.map(|run| (run, restored.chain, setting)), restored))
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
    /// The [transcript](Self::transcript) stays whole. The run reports the summary with the notice [`CONTEXT_SUMMARIZED`](crate::CONTEXT_SUMMARIZED).
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use forgeline::{
    ///     agent::DefaultAgent,
    ///     testing::{ScriptedProvider, ScriptedTurn},
    /// };
    ///
    /// let story: String = (1..200).map(|year| format!("In year {year}, the king built a tower. ")).collect();
    /// let provider = ScriptedProvider::new([
    ///     ScriptedTurn::new().text(story),
    ///     ScriptedTurn::new().text("The story is about a king."),
    ///     ScriptedTurn::new().text("He lived happily."),
    /// ]);
    /// let agent = DefaultAgent::builder(provider.clone()).build()?;
    /// agent.run("Tell me a story.").await?;
    /// agent.compact();
    /// agent.run("And then?").await?;
    /// let requests = provider.requests();
    /// let [.., last] = requests.as_slice() else { return Err("no request".into()) };
    /// assert!(last.messages.iter().all(|message| !message.text().contains("In year 7")));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// [`summarize_at`]: crate::AgentConfig::summarize_at
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
            writer.ready().await?;
            let step = JournalStep::MessagesGiven { messages: messages.len() };
            let record = Record::<()>::Given { messages: MessageList::Beside(messages.len()) };
            writer.append(step, &record, &messages).await?;
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
    /// Returns an error if the agent has a journal that fails, or as [`run`](Self::run) does if another run does not end or waits for this call; the
    /// conversation is then unchanged.
    pub async fn clear(&self) -> Result<(), AgentError> {
        let mut turn = self.0.take_turn().await?;
        if let Some(writer) = &mut *turn {
            writer.ready().await?;
            writer.append(JournalStep::Cleared, &Record::<()>::Cleared, &[]).await?;
        }
        self.0.memory.lock().clear();
        self.0.inputs.set(std::iter::empty());
        self.0.begin_window(None);
        self.0.begin_anew();
        Ok(())
    }
}

impl fmt::Debug for DefaultAgent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("DefaultAgent")
            .field("model", self.0.parts.provider.info())
            .field("tools", &self.0.parts.tools)
            .field("config", &self.0.parts.config)
            .finish_non_exhaustive()
    }
}
