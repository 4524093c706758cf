//! Steering of an active run.

use std::{
    collections::VecDeque,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::{
    Caller, Decision,
    answer_gate::AnswerGate,
    open_requests::{OpenRequests, Requested},
    run::fit,
    state::Said,
    tools::{ToolError, form},
};
use crate::types::{
    AgentError, ApprovalRequest, ClientReturn, ClientToolRequest, ErrorCode, Message, MessageRole,
    ModelInfo, ToolAnswer, ToolQuestion,
};
#[cfg(feature = "server")]
use crate::types::{ClientFailure, Text};

/// Maximum number of messages that wait for a run to take them.
const MAX_WAITING: usize = 64;

/// The reason for refusing requests after the user has left.
#[cfg(feature = "server")]
const WENT_ON: &str = "the user went on to something else";
#[cfg(feature = "server")]
const NO_RESULT: &str =
    "the user went on to something else before the client had a result; the call may have run";

/// A handle that steers an active run. Clones steer the same run. See [`RunStream::steering`](super::RunStream::steering).
///
/// A message that the run could no longer deliver is returned in [`RunOutcome::undelivered`](super::RunOutcome::undelivered). The custom event
/// [`STEERED`](super::STEERED) reports a delivery.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use forgeline::{
///     agent::DefaultAgent,
///     testing::{ScriptedProvider, ScriptedTurn},
///     types::AgentEvent,
/// };
///
/// let long = ScriptedTurn::new().text("Once upon a time").hang();
/// let provider = ScriptedProvider::new([long, ScriptedTurn::new().text("Once. The end.")]);
/// let mut stream = DefaultAgent::builder(provider).build()?.run_stream("Tell me a story.");
/// let steering = stream.steering();
/// while let Some(envelope) = stream.next().await {
///     if let AgentEvent::MessageContent { content, .. } = envelope.event
///         && content == "Once upon a time"
///     {
///         steering.steer_now("Shorter, please.")?;
///     }
/// }
/// let outcome = stream.outcome().await?;
/// assert_eq!(outcome.text, "Once. The end.");
/// assert_eq!(outcome.messages[1].text(), "Once upon a time");
/// assert_eq!(outcome.messages[2].text(), "Shorter, please.");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Steering(Arc<Mutex<Line>>);

/// The answer to a request, of any kind.
#[cfg(feature = "server")]
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Given {
    /// The decision about a call.
    Decided(Decision),
    /// The result of a call at the client.
    Returned(ClientReturn),
    /// The answer to a question of a tool.
    Answered(ToolAnswer),
}

#[cfg_attr(
    feature = "server",
    expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")
)]
struct Line {
    said: VecDeque<Said>,
    /// The open approval requests.
    asked: OpenRequests<ApprovalRequest, Decision>,
    /// The calls at the client.
    at_client: OpenRequests<ClientToolRequest, ClientReturn>,
    /// The open questions of tools.
    questions: OpenRequests<ToolQuestion, ToolAnswer>,
    /// Answers given in another process, for requests that are not open again yet.
    #[cfg(feature = "server")]
    given: Vec<(Text, Given)>,
    /// `true` once the user has left: later requests are refused.
    #[cfg(feature = "server")]
    is_left: bool,
    /// The token that interrupts the answer in progress.
    cut: CancellationToken,
    is_over: bool,
    /// The parent run, whose readers answer the requests.
    above: Option<Steering>,
    /// The model that reads the messages, once it is known.
    model: Option<Box<ModelInfo>>,
}

impl Steering {
    pub(super) fn new(cancel: &CancellationToken) -> Self {
        Self::below(cancel, None)
    }

    /// Returns the steering handle of a sub-agent's run, whose requests are answered through `above`.
    pub(super) fn below(cancel: &CancellationToken, above: Option<Self>) -> Self {
        let (said, cut) = (VecDeque::new(), cancel.child_token());
        let line = Line {
            said,
            asked: OpenRequests::default(),
            at_client: OpenRequests::default(),
            questions: OpenRequests::default(),
            #[cfg(feature = "server")]
            given: Vec::new(),
            #[cfg(feature = "server")]
            is_left: false,
            cut,
            is_over: false,
            above,
            model: None,
        };
        Self(Arc::new(Mutex::new(line)))
    }

    /// Rejects, from now on, messages that this model does not accept.
    pub(super) fn of_model(self, model: &ModelInfo) -> Self {
        self.lock().model = Some(Box::new(model.clone()));
        self
    }

    /// Sends the model a message after the calls in progress, or after the answer.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorCode::InvalidInput`] if the run has ended, or if no model can read an image or document of the message; [`ErrorCode::Unsupported`]
    /// if this model cannot; or [`ErrorCode::RateLimited`], after which the call may be retried, if 64 messages are already waiting.
    pub fn steer(&self, message: impl Into<Message>) -> Result<(), AgentError> {
        self.say(Said::Steer { message: of_user(message), now: false })
    }

    /// Sends the model a message at once: an answer in progress is cut off, and its content so far is kept with
    /// [`FinishReason::Interrupted`](crate::types::FinishReason::Interrupted); its calls do not run. Calls that are already running complete first.
    ///
    /// # Errors
    ///
    /// The same as for [`steer`](Self::steer).
    pub fn steer_now(&self, message: impl Into<Message>) -> Result<(), AgentError> {
        self.say(Said::Steer { message: of_user(message), now: true })
    }

    /// Sends the model a message when the run would end; the run then continues.
    ///
    /// # Errors
    ///
    /// The same as for [`steer`](Self::steer).
    pub fn follow_up(&self, message: impl Into<Message>) -> Result<(), AgentError> {
        self.say(Said::FollowUp { message: of_user(message) })
    }

    pub(super) fn say(&self, said: Said) -> Result<(), AgentError> {
        let mut line = self.lock();
        if let Said::Steer { message, .. } | Said::FollowUp { message } = &said
            && let Some(model) = line.model.as_deref().filter(|_| !line.is_over)
        {
            fit(message, model)?;
        }
        if line.is_over {
            let refusal = "the run is over; send the message as an input of the next";
            return Err(AgentError::new(ErrorCode::InvalidInput, refusal));
        }
        if line.said.len() >= MAX_WAITING {
            let refusal = "64 messages wait for the run already; send it when they were delivered";
            return Err(AgentError::new(ErrorCode::RateLimited, refusal).retryable(true));
        }
        if matches!(said, Said::Steer { now: true, .. }) {
            line.cut.cancel();
        }
        line.said.push_back(said);
        Ok(())
    }

    /// Returns the token that interrupts the answer which is about to start; it also fires when the run is cancelled.
    pub(super) fn begin_answer(&self, cancel: &CancellationToken) -> CancellationToken {
        let mut line = self.lock();
        let is_due = line.said.iter().any(|said| matches!(said, Said::Steer { now: true, .. }));
        if line.cut.is_cancelled() && !is_due {
            line.cut = cancel.child_token();
        }
        line.cut.clone()
    }

    /// Takes the next message.
    pub(super) fn take(&self) -> Option<Said> {
        self.lock().said.pop_front()
    }

    /// Opens an approval request; the returned receiver gets its answer.
    pub(super) fn ask(
        &self,
        request: ApprovalRequest,
        gate: Option<AnswerGate>,
    ) -> oneshot::Receiver<Decision> {
        match self.above() {
            Some(above) => above.ask(request, gate),
            None => self.lock().open(|line| &mut line.asked, request, gate),
        }
    }

    /// Closes a request with its answer; returns `false` when the request is not open. An answer that does not fit leaves it open.
    pub(super) fn answer(&self, approval_id: &str, decision: Decision) -> Result<bool, ToolError> {
        self.check_decision(approval_id, &decision)?;
        let open = self.lock().asked.close(approval_id);
        Ok(open.is_some_and(|answer| answer.send(decision).is_ok()))
    }

    /// Checks that a decision fits the request with this id, if it is open.
    pub(super) fn check_decision(&self, id: &str, decision: &Decision) -> Result<(), ToolError> {
        let Decision::GrantChanged { arguments } = decision else { return Ok(()) };
        let gate = self.lock().asked.gate(id);
        gate.map_or(Ok(()), |gate| gate.check(arguments))
    }

    /// Opens a call at the client; the returned receiver gets its result.
    pub(super) fn send_to_client(
        &self,
        request: ClientToolRequest,
        gate: Option<AnswerGate>,
    ) -> oneshot::Receiver<ClientReturn> {
        match self.above() {
            Some(above) => above.send_to_client(request, gate),
            None => self.lock().open(|line| &mut line.at_client, request, gate),
        }
    }

    /// Closes a call at the client with its result; returns `false` when the call is not there.
    pub(super) fn complete_client_call(&self, id: &str, result: ClientReturn) -> bool {
        let open = self.lock().at_client.close(id);
        open.is_some_and(|answer| answer.send(result).is_ok())
    }

    /// Opens a question of a tool; the returned receiver gets its answer.
    pub(super) fn ask_user(&self, question: ToolQuestion) -> oneshot::Receiver<ToolAnswer> {
        match self.above() {
            Some(above) => above.ask_user(question),
            None => self.lock().open(|line| &mut line.questions, question, None),
        }
    }

    /// Checks that an answer fits the question with this id, if it is open.
    #[cfg(feature = "server")]
    pub(super) fn check_answer(&self, id: &str, answer: &ToolAnswer) -> Result<(), ToolError> {
        let line = self.lock();
        let Some(question) = line.questions.find(id) else { return Ok(()) };
        form::complete(question.schema.as_ref(), answer.clone()).map(drop)
    }

    /// Closes a question with its answer; returns `false` when the question is not open. An answer that does not fit leaves it open.
    pub(super) fn answer_question(&self, id: &str, answer: ToolAnswer) -> Result<bool, ToolError> {
        self.lock().answer_question(id, answer)
    }

    /// Answers a request as soon as it is opened; the request is then not shown.
    #[cfg(feature = "server")]
    pub(crate) fn give_when_open(&self, id: Text, given: Given) {
        self.lock().given.push((id, given));
    }

    /// Ends the run after the calls in progress, as the user has left. `answers` are given first, also to
    /// requests that are not open again yet; all other requests, open or later, are refused.
    #[cfg(feature = "server")]
    pub(crate) fn leave(&self, answers: Vec<(Text, Given)>) {
        let mut line = self.lock();
        if line.is_over {
            return;
        }
        // The run receives this message before any answer.
        line.said.push_back(Said::Leave);
        line.is_left = true;
        line.given.extend(answers);
        let asked = line.asked.all().into_iter().map(|request| request.approval_id);
        let at_client = line.at_client.all().into_iter().map(|call| call.client_call_id);
        let questions = line.questions.all().into_iter().map(|question| question.question_id);
        let open: Vec<_> = asked.chain(at_client).chain(questions).collect();
        for id in open {
            line.give(&id);
        }
    }

    /// Returns `true` once the user has left.
    #[cfg(feature = "server")]
    pub(crate) fn is_left(&self) -> bool {
        self.lock().is_left
    }

    /// Closes a request, of any kind, that does not need an answer any more.
    pub(super) fn withdraw(&self, id: &str) {
        if let Some(above) = self.above() {
            return above.withdraw(id);
        }
        let mut line = self.lock();
        drop((line.asked.close(id), line.at_client.close(id), line.questions.close(id)));
    }

    /// Returns `true` unless this caller may not answer the open request or call, of any kind.
    pub(super) fn lets(&self, id: &str, caller: &Caller) -> bool {
        let line = self.lock();
        line.asked.lets(id, caller) && line.at_client.lets(id, caller)
    }

    pub(super) fn open_requests(&self) -> Vec<ApprovalRequest> {
        self.lock().asked.all()
    }

    pub(super) fn calls_at_client(&self) -> Vec<ClientToolRequest> {
        self.lock().at_client.all()
    }

    pub(super) fn open_questions(&self) -> Vec<ToolQuestion> {
        self.lock().questions.all()
    }

    /// Returns whether an approval request or a call at the client is open, and whether a question is.
    #[cfg(feature = "server")]
    pub(crate) fn has_open(&self) -> (bool, bool) {
        let line = self.lock();
        (line.asked.has_any() || line.at_client.has_any(), line.questions.has_any())
    }

    /// Returns `true` while a request with this id is open, of any kind.
    #[cfg(feature = "server")]
    pub(crate) fn is_open(&self, id: &str) -> bool {
        let line = self.lock();
        let is_asked = line.asked.find(id).is_some() || line.at_client.find(id).is_some();
        is_asked || line.questions.find(id).is_some()
    }

    /// Stops accepting messages; returns those not yet taken.
    pub(super) fn close(&self) -> VecDeque<Said> {
        let mut line = self.lock();
        line.is_over = true;
        line.asked.clear();
        line.at_client.clear();
        line.questions.clear();
        #[cfg(feature = "server")]
        line.given.clear();
        std::mem::take(&mut line.said)
    }

    fn above(&self) -> Option<Self> {
        self.lock().above.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Line> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Line {
    /// Opens a request among those of its kind; a request already answered in another process is answered immediately.
    fn open<Q: Requested + Clone, A>(
        &mut self,
        of: impl FnOnce(&mut Self) -> &mut OpenRequests<Q, A>,
        request: Q,
        gate: Option<AnswerGate>,
    ) -> oneshot::Receiver<A> {
        #[cfg(feature = "server")]
        let id = request.request_id().clone();
        let answered = of(self).open(request, gate);
        #[cfg(feature = "server")]
        self.give(&id);
        answered
    }

    #[cfg(feature = "server")]
    fn give(&mut self, id: &Text) {
        let given = self.given.iter().position(|(given, _)| given == id);
        match given.map(|at| self.given.swap_remove(at).1) {
            Some(Given::Decided(decision)) => {
                drop(self.asked.close(id).map(|open| open.send(decision)));
            }
            Some(Given::Returned(result)) => {
                drop(self.at_client.close(id).map(|open| open.send(result)));
            }
            // An answer that does not fit any more leaves the question open.
            Some(Given::Answered(answer)) => drop(self.answer_question(id, answer)),
            None => {}
        }
        if self.is_left {
            self.refuse(id);
        }
    }

    /// Refuses an open request, as the user has left.
    #[cfg(feature = "server")]
    fn refuse(&mut self, id: &str) {
        if let Some(open) = self.asked.close(id) {
            drop(open.send(Decision::reject(WENT_ON)));
        }
        if let Some(open) = self.at_client.close(id) {
            drop(open.send(ClientReturn::failed(ClientFailure::ToolThrew, NO_RESULT)));
        }
        if let Some(open) = self.questions.close(id) {
            drop(open.send(ToolAnswer::Cancel));
        }
    }

    fn answer_question(&mut self, id: &str, answer: ToolAnswer) -> Result<bool, ToolError> {
        let Some(question) = self.questions.find(id) else { return Ok(false) };
        let answer = form::complete(question.schema.as_ref(), answer)?;
        let open = self.questions.close(id);
        Ok(open.is_some_and(|open| open.send(answer).is_ok()))
    }
}

fn of_user(message: impl Into<Message>) -> Message {
    let mut message = message.into();
    message.role = MessageRole::User;
    message
}

impl fmt::Debug for Steering {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Steering").finish_non_exhaustive()
    }
}
