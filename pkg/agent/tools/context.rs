//! The context of a running tool.

use std::{any::Any, sync::Arc};

use serde_json::Value;
#[cfg(feature = "mcp")]
use tokio::time::timeout;
use tokio::{sync::mpsc, time::sleep};
use tokio_util::sync::CancellationToken;

use super::Question;
#[cfg(feature = "mcp")]
use crate::{
    agent::{Asked, Decision},
    types::{ApprovalReason, ApprovalRequest, Json, Preview},
};
use crate::{
    agent::{
        desk::{Desk, OpenQuestion},
        digest::digest,
        run::{RunContext, SharedState},
    },
    types::{AgentEvent, QuestionEnd, Text, ToolAnswer, ToolQuestion},
};

/// Most bytes of output in one event.
const OUTPUT_BYTES: usize = 16 << 10;

/// The context of a running tool: ids, cancellation, events, shared state.
///
/// The default context belongs to no agent: nothing cancels it and its events are dropped. It is for
/// calling a tool in a test.
///
/// # Examples
///
/// A tool that reports its progress, stops when it is told to, and counts its calls:
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use std::sync::{Arc, atomic::{AtomicU32, Ordering}};
/// use forgeline::{
///     agent::{DefaultAgent, tools::{ToolContext, ToolError, tool_fn}},
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
/// let agent = DefaultAgent::builder(ScriptedProvider::new([turn, ScriptedTurn::new().text("Ok.")]))
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
    /// Where the call asks the user.
    desk: Option<Arc<Desk>>,
}

/// The ids of a call.
#[derive(Debug, Clone, Default)]
pub(crate) struct CallPlace {
    pub(crate) run_id: Text,
    pub(crate) turn: u32,
    pub(crate) call_id: Text,
    pub(crate) tool_name: Text,
}

impl ToolContext {
    pub(crate) fn new(
        place: CallPlace,
        cancel: CancellationToken,
        events: mpsc::Sender<Box<AgentEvent>>,
        state: SharedState,
        run: RunContext,
    ) -> Self {
        Self { place, cancel, events: Some(events), state, run, desk: None }
    }

    /// Lets the call ask the user.
    pub(crate) fn at(mut self, desk: &Arc<Desk>) -> Self {
        self.desk = Some(Arc::clone(desk));
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

    /// Returns the id of the call; unique within its response.
    #[must_use]
    pub fn call_id(&self) -> &str {
        &self.place.call_id
    }

    /// Returns a key that is the call's own, and the same when the call runs again in a run that was
    /// resumed: by it a service knows a request that it has seen.
    #[must_use]
    pub fn idempotency_key(&self) -> String {
        let CallPlace { run_id, turn, call_id, .. } = &self.place;
        format!("{run_id}/{turn}/{call_id}")
    }

    /// Returns a token that fires when the call should stop: the run was cancelled, or the tool's
    /// time is over.
    #[must_use]
    pub fn cancelled(&self) -> &CancellationToken {
        &self.cancel
    }

    /// Sends a `custom` event to whoever watches the run, such as progress. Waits while the reader
    /// is behind; after the call ended, the event is dropped.
    ///
    /// # Cancel safety
    ///
    /// A dropped wait has sent nothing.
    pub async fn emit(&self, name: impl Into<Text>, data: Value) {
        self.send(|| AgentEvent::Custom { name: name.into(), data }).await;
    }

    /// Sends output of the call before its result is there, as `tool_output` events of at most 16 KiB. Waits
    /// while the reader is behind; after the call ended, the output is dropped. The model reads the result
    /// only.
    ///
    /// # Cancel safety
    ///
    /// A dropped wait has sent the beginning of the text, or nothing.
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
            self.send(|| AgentEvent::ToolOutput {
                id: self.place.call_id.clone(),
                tool_name: self.place.tool_name.clone(),
                content,
            })
            .await;
            rest = more;
        }
    }

    /// Asks the user, and waits for the answer, which fits the form; see [`Questions`](crate::agent::Questions). The
    /// time of the wait is not the call's, and ends after [`approval_timeout`](crate::agent::AgentConfig::approval_timeout).
    ///
    /// It is [`ToolAnswer::Cancel`] when nobody can be asked, nobody answers, or the call has asked 16 times.
    ///
    /// # Cancel safety
    ///
    /// A question whose wait is dropped is withdrawn.
    pub async fn ask(&self, question: Question) -> ToolAnswer {
        let Some(desk) = self.desk.as_deref() else { return ToolAnswer::Cancel };
        let CallPlace { call_id, tool_name, .. } = &self.place;
        let Some((steering, wait)) = desk.steering().zip(desk.begin(call_id)) else {
            return ToolAnswer::Cancel;
        };
        let key = format!("{}/question/{}", self.idempotency_key(), wait.number);
        let question_id = Text::from(format!("{:016x}", digest(key.as_bytes())));
        let (id, tool_name) = (call_id.clone(), tool_name.clone());
        let mut asked =
            ToolQuestion::new(question_id.clone(), id.clone(), tool_name.clone(), question.message);
        (asked.schema, asked.url) = (question.schema, question.url);
        let open = OpenQuestion::new(steering, &question_id);
        let answered = steering.ask_user(asked.clone());
        self.send(|| AgentEvent::ToolQuestion(Box::new(asked))).await;
        let (answer, end) = tokio::select! {
            biased;
            () = self.cancel.cancelled() => (ToolAnswer::Cancel, QuestionEnd::Cancelled),
            answer = answered => ended(answer.unwrap_or(ToolAnswer::Cancel)),
            () = sleep(desk.limit()) => (ToolAnswer::Cancel, QuestionEnd::Timeout),
        };
        drop((open, wait));
        self.send(|| AgentEvent::ToolQuestionEnd { question_id, id, tool_name, end }).await;
        answer
    }

    /// Asks a person whether the call may do something of which it could not be said before that it would; `true` when
    /// it may.
    #[cfg(feature = "mcp")]
    pub(crate) async fn approve(&self, tool_name: Text, arguments: Json, preview: Preview) -> bool {
        let CallPlace { call_id, .. } = &self.place;
        let Some(desk) = self.desk.as_deref() else { return false };
        let Some(wait) = desk.begin(call_id) else { return false };
        let key = format!("{}/approval/{}", self.idempotency_key(), wait.number);
        let approval_id = Text::from(format!("{:016x}", digest(key.as_bytes())));
        let id = call_id.clone();
        let request =
            ApprovalRequest::new(approval_id.clone(), id.clone(), tool_name.clone(), arguments)
                .preview(preview)
                .reason(ApprovalReason::OutsideText);
        let event = request.clone();
        let shown = self.send(|| AgentEvent::ToolApprovalRequest(Box::new(event)));
        let decided = desk.decide(Asked::new(request, self.run.clone()), shown);
        let decision = tokio::select! {
            biased;
            () = self.cancel.cancelled() => None,
            decision = timeout(desk.limit(), decided) => Some(decision),
        };
        drop(wait);
        let (may, event) = match decision {
            None => (false, AgentEvent::ToolApprovalCancelled { approval_id, id, tool_name }),
            Some(Err(_)) => (false, AgentEvent::ToolApprovalTimeout { approval_id, id, tool_name }),
            Some(Ok(Some(Decision::Grant | Decision::GrantAlways))) => {
                (true, AgentEvent::ToolApprovalGranted { approval_id, id, tool_name })
            }
            Some(Ok(decision)) => {
                let reason = match decision {
                    Some(Decision::Reject { reason }) => reason,
                    Some(_) => "what a server asks for cannot be changed".to_owned(),
                    None => "nobody can be asked".to_owned(),
                };
                (false, AgentEvent::ToolApprovalRejected { approval_id, id, tool_name, reason })
            }
        };
        self.send(|| event).await;
        may
    }

    /// Waits for a person whom the call asks in its own way, as long as for an answer to a question; `None` when there
    /// was none in time.
    #[cfg(feature = "mcp")]
    pub(crate) async fn wait_for_person<T>(&self, answer: impl Future<Output = T>) -> Option<T> {
        let Some(desk) = self.desk.as_deref() else { return Some(answer.await) };
        let _wait = desk.begin(&self.place.call_id)?;
        timeout(desk.limit(), answer).await.ok()
    }

    /// Sends an event while the call runs.
    pub(crate) async fn send(&self, event: impl FnOnce() -> AgentEvent) {
        let Some(events) = &self.events else { return };
        let event = Box::new(event());
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => {}
            // The receiver is gone once the call has ended.
            _closed = events.send(event) => {}
        }
    }

    /// Returns what the input of the run said about it, such as who it works for.
    #[must_use]
    pub fn run(&self) -> &RunContext {
        &self.run
    }

    /// Returns the shared value of type `T` that the input of the run brought along, or else the one
    /// that the agent was built with.
    #[must_use]
    pub fn state<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        self.run.state().or_else(|| self.state.get())
    }
}

/// Returns an answer with the end of its question.
fn ended(answer: ToolAnswer) -> (ToolAnswer, QuestionEnd) {
    let end = match &answer {
        ToolAnswer::Accept { .. } => QuestionEnd::Accepted,
        ToolAnswer::Decline => QuestionEnd::Declined,
        ToolAnswer::Cancel => QuestionEnd::Cancelled,
    };
    (answer, end)
}
