//! Steering of an active run.

use std::{
    collections::VecDeque,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::{
    answer_gate::AnswerGate, open_requests::OpenRequests, request_kind::RequestKind,
    user_message::UserMessage,
};
use crate::{
    approval::Decision,
    run::{Caller, fit},
    tools::ToolError,
};
use forgeline_types::{
    AgentError, ApprovalRequest, ClientReturn, ClientToolRequest, ErrorCode, Message, MessageRole,
    ModelInfo, Text, ToolAnswer, ToolQuestion,
};

/// Maximum number of messages that wait for a run to take them.
const MAX_WAITING: usize = 64;

/// A handle that steers an active run. Clones steer the same run. See [`RunStream::steering`](crate::RunStream::steering).
///
/// A message that the run could no longer deliver is returned in [`RunOutcome::undelivered`](crate::RunOutcome::undelivered). The custom event
/// [`STEERED`](crate::notice::STEERED) reports a delivery.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use forgeline::{
///     agent::Agent,
///     testing::{ScriptedProvider, ScriptedTurn},
///     types::{AgentEvent, MessageContentEvent},
/// };
///
/// let long = ScriptedTurn::new().text("Once upon a time").hang();
/// let provider = ScriptedProvider::new([long, ScriptedTurn::new().text("Once. The end.")]);
/// let mut stream = Agent::builder(provider).build()?.run_stream("Tell me a story.");
/// let steering = stream.steering();
/// while let Some(envelope) = stream.next().await {
///     if let AgentEvent::MessageContent(MessageContentEvent { content, .. }) = envelope.event
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
pub struct Steering(Arc<Mutex<SteeringQueue>>);

impl Steering {
    pub(crate) fn new(cancel: &CancellationToken) -> Self {
        Self::below(cancel, None)
    }

    /// Returns the steering handle of a sub-agent's run, whose requests are answered through `above`.
    pub(crate) fn below(cancel: &CancellationToken, above: Option<Self>) -> Self {
        Self(Arc::new(Mutex::new(SteeringQueue::new(cancel.child_token(), above))))
    }

    /// Rejects, from now on, messages that this model does not accept.
    pub(crate) fn of_model(self, model: &ModelInfo) -> Self {
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
        self.say(UserMessage::Steer { message: of_user(message), now: false })
    }

    /// Sends the model a message at once: an answer in progress is cut off, and its content so far is kept with
    /// [`FinishReason::Interrupted`](forgeline_types::FinishReason::Interrupted); its calls do not run. Calls that are already running complete first.
    ///
    /// # Errors
    ///
    /// The same as for [`steer`](Self::steer).
    pub fn steer_now(&self, message: impl Into<Message>) -> Result<(), AgentError> {
        self.say(UserMessage::Steer { message: of_user(message), now: true })
    }

    /// Sends the model a message when the run would end; the run then continues.
    ///
    /// # Errors
    ///
    /// The same as for [`steer`](Self::steer).
    pub fn follow_up(&self, message: impl Into<Message>) -> Result<(), AgentError> {
        self.say(UserMessage::FollowUp { message: of_user(message) })
    }

    pub(crate) fn say(&self, said: UserMessage) -> Result<(), AgentError> {
        let mut queue = self.lock();
        if let UserMessage::Steer { message, .. } | UserMessage::FollowUp { message } = &said
            && let Some(model) = queue.model.as_deref().filter(|_| !queue.is_over)
        {
            fit(message, model)?;
        }
        if queue.is_over {
            let refusal = "the run is over; send the message as the input of the next run";
            return Err(AgentError::new(ErrorCode::InvalidInput, refusal));
        }
        if queue.said.len() >= MAX_WAITING {
            let refusal =
                "64 messages are already waiting for the run; send it once they are delivered";
            return Err(AgentError::new(ErrorCode::RateLimited, refusal).retryable(true));
        }
        if matches!(said, UserMessage::Steer { now: true, .. }) {
            queue.cut.cancel();
        }
        queue.said.push_back(said);
        Ok(())
    }

    /// Returns the token that interrupts the answer which is about to start; it also fires when the run is cancelled.
    pub(crate) fn begin_answer(&self, cancel: &CancellationToken) -> CancellationToken {
        let mut queue = self.lock();
        let is_due =
            queue.said.iter().any(|said| matches!(said, UserMessage::Steer { now: true, .. }));
        if queue.cut.is_cancelled() && !is_due {
            queue.cut = cancel.child_token();
        }
        queue.cut.clone()
    }

    /// Takes the next message.
    pub(crate) fn take(&self) -> Option<UserMessage> {
        self.lock().said.pop_front()
    }

    /// Opens a request; the returned receiver gets its answer.
    pub(crate) fn open_request<K: QueuedKind>(
        &self,
        request: K,
        gate: Option<AnswerGate>,
    ) -> oneshot::Receiver<K::Answer> {
        match self.above() {
            Some(above) => above.open_request(request, gate),
            None => self.lock().open(request, gate),
        }
    }

    /// Closes a request with its answer; returns `false` when the request is not open. An answer that does not fit leaves it open.
    pub(super) fn answer<K: QueuedKind>(
        &self,
        id: &str,
        answer: K::Answer,
    ) -> Result<bool, ToolError> {
        self.check_by_gate::<K>(id, &answer)?;
        self.lock().answer::<K>(id, answer)
    }

    /// Checks that an answer fits the request with this id, if it is open.
    pub(super) fn check_answer<K: QueuedKind>(
        &self,
        id: &str,
        answer: &K::Answer,
    ) -> Result<(), ToolError> {
        self.check_by_gate::<K>(id, answer)?;
        let queue = self.lock();
        let Some(request) = K::of_queue(&queue).find(id) else { return Ok(()) };
        request.complete(answer.clone()).map(drop)
    }

    /// Checks an answer by the rules for the tool of the request. The lock is not held meanwhile.
    fn check_by_gate<K: QueuedKind>(&self, id: &str, answer: &K::Answer) -> Result<(), ToolError> {
        let gate = K::of_queue(&self.lock()).gate(id);
        gate.map_or(Ok(()), |gate| K::check(&gate, answer))
    }

    /// Returns the open requests of one kind.
    pub(super) fn open_requests<K: QueuedKind>(&self) -> Vec<K> {
        K::of_queue(&self.lock()).all()
    }

    /// Answers a request as soon as it is opened; the request is then not shown.
    #[doc(hidden)]
    pub fn give_when_open(&self, id: Text, given: RequestAnswer) {
        self.lock().given.push((id, given));
    }

    /// Ends the run after the calls in progress, as the user has left. `answers` are given first, also to
    /// requests that are not open again yet; all other requests, open or later, are refused.
    #[doc(hidden)]
    pub fn leave(&self, answers: Vec<(Text, RequestAnswer)>) {
        let mut queue = self.lock();
        if queue.is_over {
            return;
        }
        // The run receives this message before any answer.
        queue.said.push_back(UserMessage::Leave);
        queue.is_left = true;
        queue.given.extend(answers);
        let asked = queue.asked.all().into_iter().map(|request| request.approval_id);
        let at_client = queue.at_client.all().into_iter().map(|call| call.client_call_id);
        let questions = queue.questions.all().into_iter().map(|question| question.question_id);
        let open: Vec<_> = asked.chain(at_client).chain(questions).collect();
        for id in open {
            queue.give(&id);
        }
    }

    /// Returns `true` once the run takes nothing more.
    #[doc(hidden)]
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.lock().is_over
    }

    /// Returns `true` once the user has left.
    #[doc(hidden)]
    pub fn is_left(&self) -> bool {
        self.lock().is_left
    }

    /// Closes a request, of any kind, that does not need an answer any more.
    pub(crate) fn withdraw(&self, id: &str) {
        if let Some(above) = self.above() {
            return above.withdraw(id);
        }
        let mut queue = self.lock();
        drop((queue.asked.close(id), queue.at_client.close(id), queue.questions.close(id)));
    }

    /// Returns `true` unless this caller may not answer the open request or call, of any kind.
    pub(crate) fn may_answer(&self, id: &str, caller: &Caller) -> bool {
        let queue = self.lock();
        queue.asked.may_answer(id, caller) && queue.at_client.may_answer(id, caller)
    }

    /// Returns whether an approval request or a call at the client is open, and whether a question is.
    #[doc(hidden)]
    pub fn has_open(&self) -> (bool, bool) {
        let queue = self.lock();
        (queue.asked.has_any() || queue.at_client.has_any(), queue.questions.has_any())
    }

    /// Returns `true` while a request with this id is open, of any kind.
    #[doc(hidden)]
    pub fn is_open(&self, id: &str) -> bool {
        let queue = self.lock();
        let is_asked = queue.asked.find(id).is_some() || queue.at_client.find(id).is_some();
        is_asked || queue.questions.find(id).is_some()
    }

    /// Stops accepting messages; returns those not yet taken.
    pub(crate) fn close(&self) -> VecDeque<UserMessage> {
        let mut queue = self.lock();
        queue.is_over = true;
        queue.asked.clear();
        queue.at_client.clear();
        queue.questions.clear();
        queue.given.clear();
        std::mem::take(&mut queue.said)
    }

    fn above(&self) -> Option<Self> {
        self.lock().above.clone()
    }

    fn lock(&self) -> MutexGuard<'_, SteeringQueue> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
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

/// The answer to a request, of any kind.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestAnswer {
    /// The decision about a call.
    Decided(Decision),
    /// The result of a call at the client.
    Returned(ClientReturn),
    /// The answer to a question of a tool.
    Answered(ToolAnswer),
}

/// The queue of a run in progress: messages of the user, and open requests.
#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
pub(crate) struct SteeringQueue {
    pub(super) said: VecDeque<UserMessage>,
    /// The open approval requests.
    pub(super) asked: OpenRequests<ApprovalRequest>,
    /// The calls at the client.
    pub(super) at_client: OpenRequests<ClientToolRequest>,
    /// The open questions of tools.
    pub(super) questions: OpenRequests<ToolQuestion>,
    /// Answers given in another process, for requests that are not open again yet.
    pub(super) given: Vec<(Text, RequestAnswer)>,
    /// `true` once the user has left: later requests are refused.
    pub(super) is_left: bool,
    /// The token that interrupts the answer in progress.
    pub(super) cut: CancellationToken,
    pub(super) is_over: bool,
    /// The parent run, whose readers answer the requests.
    pub(super) above: Option<Steering>,
    /// The model that reads the messages, once it is known.
    pub(super) model: Option<Box<ModelInfo>>,
}

impl SteeringQueue {
    pub(super) fn new(cut: CancellationToken, above: Option<Steering>) -> Self {
        Self {
            said: VecDeque::new(),
            asked: OpenRequests::default(),
            at_client: OpenRequests::default(),
            questions: OpenRequests::default(),
            given: Vec::new(),
            is_left: false,
            cut,
            is_over: false,
            above,
            model: None,
        }
    }

    /// Opens a request among those of its kind; a request already answered in another process is answered immediately.
    pub(super) fn open<K: QueuedKind>(
        &mut self,
        request: K,
        gate: Option<AnswerGate>,
    ) -> oneshot::Receiver<K::Answer> {
        let id = request.request_id().clone();
        let answered = K::of_queue_mut(self).open(request, gate);
        self.give(&id);
        answered
    }

    /// Closes a request with its answer; returns `false` when the request is not open. An answer that cannot be completed leaves it open.
    pub(super) fn answer<K: QueuedKind>(
        &mut self,
        id: &str,
        answer: K::Answer,
    ) -> Result<bool, ToolError> {
        let requests = K::of_queue_mut(self);
        let Some(request) = requests.find(id) else { return Ok(false) };
        let answer = request.complete(answer)?;
        let open = requests.close(id);
        Ok(open.is_some_and(|open| open.send(answer).is_ok()))
    }

    pub(super) fn give(&mut self, id: &Text) {
        let given = self.given.iter().position(|(given, _)| given == id);
        // An answer that does not fit any more leaves its request open.
        match given.map(|at| self.given.swap_remove(at).1) {
            Some(RequestAnswer::Decided(decision)) => {
                drop(self.answer::<ApprovalRequest>(id, decision));
            }
            Some(RequestAnswer::Returned(result)) => {
                drop(self.answer::<ClientToolRequest>(id, result));
            }
            Some(RequestAnswer::Answered(answer)) => drop(self.answer::<ToolQuestion>(id, answer)),
            None => {}
        }
        if self.is_left {
            self.refuse::<ApprovalRequest>(id);
            self.refuse::<ClientToolRequest>(id);
            self.refuse::<ToolQuestion>(id);
        }
    }

    /// Refuses an open request, as the user has left.
    fn refuse<K: QueuedKind>(&mut self, id: &str) {
        if let Some(open) = K::of_queue_mut(self).close(id) {
            drop(open.send(K::refusal()));
        }
    }
}

/// A kind of requests that waits in the queue of a run.
pub(crate) trait QueuedKind: RequestKind {
    /// Returns the open requests of this kind.
    fn of_queue(queue: &SteeringQueue) -> &OpenRequests<Self>;

    /// Returns the open requests of this kind, to change them.
    fn of_queue_mut(queue: &mut SteeringQueue) -> &mut OpenRequests<Self>;
}
