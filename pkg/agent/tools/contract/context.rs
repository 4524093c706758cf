//! The context of a running tool.

use std::{any::Any, fmt, sync::Arc};

use futures_core::future::BoxFuture;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::question::Question;
use crate::run::{RunContext, SharedState};
use forgeline_llm::ToolSpec;
use forgeline_types::{AgentEvent, CustomEvent, Text, ToolAnswer, ToolOutputEvent, Transcript};
use forgeline_types::{Json, Preview};

/// The people whom a call may ask while it runs. The wait for them does not count towards the call's time.
pub trait CallPeople: fmt::Debug + Send + Sync {
    /// Asks the user.
    fn ask<'a>(&'a self, context: &'a ToolContext, question: Question)
    -> BoxFuture<'a, ToolAnswer>;

    /// Asks whether the call may do something; returns `true` if it may.
    fn approve<'a>(
        &'a self,
        context: &'a ToolContext,
        tool_name: Text,
        arguments: Json,
        preview: Preview,
    ) -> BoxFuture<'a, bool>;

    /// Starts the call's time limit anew, since the call makes progress.
    fn progressed(&self, context: &ToolContext);

    /// Waits for an answer that arrives another way, within the time limit for an answer.
    fn wait<'a>(&'a self, context: &'a ToolContext, answer: BoxFuture<'a, ()>)
    -> BoxFuture<'a, ()>;
}

/// The conversation that a call can read.
pub trait RunView: fmt::Debug + Send + Sync {
    /// Returns the conversation so far.
    fn transcript(&self) -> Transcript;
}

/// Maximum bytes of output in one event.
const OUTPUT_BYTES: usize = 16 << 10;

/// The context of a running tool: ids, cancellation, events, shared state.
///
/// The default context belongs to no agent: nothing cancels it, and its events are dropped. It is for calling a tool in a test.
///
/// # Examples
///
/// A tool that reports its progress, stops when it is asked to, and counts its calls:
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use std::sync::{Arc, atomic::{AtomicU32, Ordering}};
/// use forgeline::{
///     agent::{Agent, tools::{ToolContext, ToolError, tool_fn}},
///     testing::{ScriptedProvider, ScriptedTurn},
/// };
/// use serde_json::json;
///
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Copy {
///     files: u32,
/// }
///
/// async fn copy(context: ToolContext, copy: Copy) -> Result<String, ToolError> {
///     for file in 1..=copy.files {
///         if context.cancelled().is_cancelled() {
///             return Err(ToolError::failed(format!("stopped before file {file}")));
///         }
///         context.emit("copied", json!({ "file": file })).await;
///     }
///     if let Some(calls) = context.state::<AtomicU32>() {
///         calls.fetch_add(1, Ordering::Relaxed);
///     }
///     Ok("done".to_owned())
/// }
///
/// let calls = Arc::new(AtomicU32::new(0));
/// let turn = ScriptedTurn::new().call("copy", json!({ "files": 3 }));
/// let agent = Agent::builder(ScriptedProvider::new([turn, ScriptedTurn::new().text("Ok.")]))
///     .tool(tool_fn("copy", "Copies files.", copy))
///     .state(Arc::clone(&calls))
///     .build()?;
/// agent.run("Copy them.").await?;
/// assert_eq!(calls.load(Ordering::Relaxed), 1);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default)]
pub struct ToolContext {
    place: CallPlace,
    cancel: CancellationToken,
    events: Option<mpsc::Sender<Box<AgentEvent>>>,
    state: SharedState,
    run: RunContext,
    /// The people whom the call may ask.
    people: Option<Arc<dyn CallPeople>>,
    /// The digest that the call's preview had when a person approved it.
    shown: Option<Text>,
    /// The conversation of the run.
    conversation: Option<Arc<dyn RunView>>,
    /// The tools of the run, also those that it may not use.
    tools: Option<Arc<[ToolSpec]>>,
    /// The names of the tools that the run may not use.
    withheld: Box<[Text]>,
}

/// The ids of a call.
#[derive(Debug, Clone, Default)]
pub struct CallPlace {
    pub(crate) run_id: Text,
    pub(crate) turn: u32,
    pub(crate) call_id: Text,
    pub(crate) tool_name: Text,
}

impl ToolContext {
    #[doc(hidden)]
    pub fn new(
        place: CallPlace,
        cancel: CancellationToken,
        events: mpsc::Sender<Box<AgentEvent>>,
        state: SharedState,
        run: RunContext,
    ) -> Self {
        let events = Some(events);
        Self { place, cancel, events, state, run, ..Self::default() }
    }

    /// Lets the call ask these people.
    pub(crate) fn asking(mut self, people: Arc<dyn CallPeople>) -> Self {
        self.people = Some(people);
        self
    }

    /// Lets the call read the conversation, and the descriptions of the tools without those that the run may not use.
    pub(crate) fn reading(
        mut self,
        conversation: Arc<dyn RunView>,
        tools: Arc<[ToolSpec]>,
        withheld: Box<[Text]>,
    ) -> Self {
        (self.conversation, self.tools, self.withheld) =
            (Some(conversation), Some(tools), withheld);
        self
    }

    /// Returns the conversation of the run so far, as the model reads it: results have been cut to their limits, and what a window leaves out is still
    /// there. The last message is usually the answer with this call. It is a snapshot, and taking it copies no message.
    ///
    /// A sub-agent has a conversation of its own. The default context has none, and returns an empty one.
    ///
    /// # Examples
    ///
    /// ```
    /// use forgeline::{agent::tools::{ToolContext, tool_fn}, types::MessageRole};
    ///
    /// let tool = tool_fn("asked", "Returns the user's last words.", async |context: ToolContext, (): ()| {
    ///     let conversation = context.conversation();
    ///     let asked = conversation.messages().iter().rfind(|it| it.role == MessageRole::User);
    ///     asked.map(|message| message.text()).unwrap_or_default()
    /// });
    /// # drop(tool);
    /// ```
    #[must_use]
    pub fn conversation(&self) -> Transcript {
        self.conversation.as_ref().map(|it| it.transcript()).unwrap_or_default()
    }

    /// Returns the descriptions of the tools that the run may use, this one included, in the order in which they were added. Those that the model finds
    /// only by a [search](crate::search::ToolSearch) are among them.
    ///
    /// The default context has none.
    pub fn tools(&self) -> impl Iterator<Item = &ToolSpec> {
        let all = self.tools.iter().flat_map(|tools| tools.iter());
        all.filter(|spec| !self.withheld.contains(&spec.name))
    }

    /// Binds the call to what was shown when it was approved.
    pub(crate) fn approved_as(mut self, digest: Option<Text>) -> Self {
        self.shown = digest;
        self
    }

    /// Returns the [digest](forgeline_types::Preview::digest) of the preview with which a person approved the call; `None` if no one was asked, or the
    /// preview had none. A tool that finds another state of the world does nothing, and returns an error that says what has changed.
    #[must_use]
    pub fn shown(&self) -> Option<&str> {
        self.shown.as_deref()
    }

    /// Returns the ids of the call.
    pub(crate) fn place(&self) -> &CallPlace {
        &self.place
    }

    /// Returns the context for work that this token stops.
    pub(crate) fn stopped_by(mut self, stop: CancellationToken) -> Self {
        self.cancel = stop;
        self
    }

    /// Returns the id of the run.
    #[must_use]
    pub fn run_id(&self) -> &str {
        &self.place.run_id
    }

    /// Returns the turn within the run, from 1.
    #[must_use]
    pub fn turn(&self) -> u32 {
        self.place.turn
    }

    /// Returns the id of the call, unique within its response.
    #[must_use]
    pub fn call_id(&self) -> &str {
        &self.place.call_id
    }

    /// Returns a key that is unique to the call, and stays the same if the call runs again in a resumed run: a service uses it to recognize a repeated
    /// request.
    #[must_use]
    pub fn idempotency_key(&self) -> String {
        let CallPlace { run_id, turn, call_id, .. } = &self.place;
        format!("{run_id}/{turn}/{call_id}")
    }

    /// Returns a token that is cancelled when the call should stop: the run was cancelled, or the tool has exceeded its time.
    #[must_use]
    pub fn cancelled(&self) -> &CancellationToken {
        &self.cancel
    }

    /// Sends a `custom` event to the readers of the run, for example about progress. Waits while the reader lags behind; after the call has ended, the
    /// event is dropped.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, nothing has been sent.
    pub async fn emit(&self, name: impl Into<Text>, data: Value) {
        self.send(|| AgentEvent::Custom(CustomEvent::new(name, data))).await;
    }

    /// Sends output of the call before its result, as `tool_output` events of at most 16 KiB. Waits while the reader lags behind; after the call has
    /// ended, the output is dropped. The model reads only the result.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, the beginning of the text or nothing has been sent.
    ///
    /// # Examples
    ///
    /// ```
    /// use forgeline::agent::tools::{ToolContext, tool_fn};
    ///
    /// let tool = tool_fn("count", "Counts to three.", async |context: ToolContext, (): ()| {
    ///     for number in 1..=3 {
    ///         context.output(&format!("{number}\n")).await;
    ///     }
    ///     "counted"
    /// });
    /// ```
    pub async fn output(&self, text: &str) {
        let mut rest = text;
        while let Some((piece, more)) =
            rest.split_at_checked(rest.floor_char_boundary(OUTPUT_BYTES))
            && !piece.is_empty()
        {
            let content = piece.to_owned();
            self.send(|| {
                AgentEvent::ToolOutput(ToolOutputEvent::new(
                    self.place.call_id.clone(),
                    self.place.tool_name.clone(),
                    content,
                ))
            })
            .await;
            rest = more;
        }
    }

    /// Asks the user, and waits for an answer that fits the form; see [`Questions`](crate::steering::Questions). The wait does not count towards the call's
    /// time, and ends after [`approval_timeout`](crate::config::AgentConfig::approval_timeout).
    ///
    /// Returns [`ToolAnswer::Cancel`] if no one can be asked, no one answers, or the call has already asked 16 times.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, the question is withdrawn.
    pub async fn ask(&self, question: Question) -> ToolAnswer {
        match &self.people {
            Some(people) => people.ask(self, question).await,
            None => ToolAnswer::Cancel,
        }
    }

    /// Asks a person whether the call may do something that was not known beforehand; returns
    /// `true` if it may.
    #[doc(hidden)]
    pub async fn approve(&self, tool_name: Text, arguments: Json, preview: Preview) -> bool {
        match &self.people {
            Some(people) => people.approve(self, tool_name, arguments, preview).await,
            None => false,
        }
    }

    /// Waits for a person whom the call asks in its own way, for as long as for an answer to a
    /// question; returns `None` if no answer arrives in time.
    #[doc(hidden)]
    pub async fn wait_for_person<T: Send>(
        &self,
        answer: impl Future<Output = T> + Send,
    ) -> Option<T> {
        let Some(people) = &self.people else { return Some(answer.await) };
        let mut given = None;
        people.wait(self, Box::pin(async { given = Some(answer.await) })).await;
        given
    }

    /// Reports that the call makes progress: its time limit starts anew. A call may take at most ten times its limit, and not more than an hour unless
    /// the limit is longer.
    pub fn progressed(&self) {
        if let Some(people) = &self.people {
            people.progressed(self);
        }
    }

    /// Sends an event while the call runs.
    pub(crate) async fn send(&self, event: impl FnOnce() -> AgentEvent) {
        let Some(events) = &self.events else { return };
        let event = Box::new(event());
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => {}
            // The receiver is dropped once the call has ended.
            _closed = events.send(event) => {}
        }
    }

    /// Returns the context that the input of the run provides, such as the caller that the run works for.
    #[must_use]
    pub fn run(&self) -> &RunContext {
        &self.run
    }

    /// Returns the shared value of type `T` that the input of the run provides, or else the one that the agent was built with.
    #[must_use]
    pub fn state<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        self.run.state().or_else(|| self.state.get())
    }
}
