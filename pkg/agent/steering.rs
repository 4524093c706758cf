//! The way into a run that goes on.

use std::{
    collections::VecDeque,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::{Decision, state::Said};
use crate::types::{AgentError, ApprovalRequest, ErrorCode, Message, MessageRole};

/// Most messages that wait for a run to take them.
const MAX_WAITING: usize = 64;

/// Steers a run while it goes on; clones steer the same run. See [`RunStream::steering`](super::RunStream::steering).
///
/// A message that the run could not deliver any more is handed back in
/// [`RunOutcome::undelivered`](super::RunOutcome::undelivered). Delivery is told by the custom event
/// [`STEERED`](super::STEERED).
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

struct Line {
    said: VecDeque<Said>,
    /// The requests for approval that are open.
    asked: Vec<Open>,
    /// Cuts the answer under way.
    cut: CancellationToken,
    is_over: bool,
}

/// A request for approval that is open.
struct Open {
    request: ApprovalRequest,
    answer: oneshot::Sender<Decision>,
}

impl Steering {
    pub(super) fn new(cancel: &CancellationToken) -> Self {
        let (said, cut) = (VecDeque::new(), cancel.child_token());
        Self(Arc::new(Mutex::new(Line { said, asked: Vec::new(), cut, is_over: false })))
    }

    /// Gives the model a message after the calls that are under way, or after the answer.
    ///
    /// # Errors
    ///
    /// [`ErrorCode::InvalidInput`] when the run is over, or 64 messages wait already.
    pub fn steer(&self, message: impl Into<Message>) -> Result<(), AgentError> {
        self.say(Said::Steer { message: of_user(message), now: false })
    }

    /// Gives the model a message at once: an answer under way is cut, and kept as far as it came with
    /// [`FinishReason::Interrupted`](crate::types::FinishReason::Interrupted); its calls do not run. Calls
    /// that run already come to their end before.
    ///
    /// # Errors
    ///
    /// As for [`steer`](Self::steer).
    pub fn steer_now(&self, message: impl Into<Message>) -> Result<(), AgentError> {
        self.say(Said::Steer { message: of_user(message), now: true })
    }

    /// Gives the model a message when the run would end; it goes on then.
    ///
    /// # Errors
    ///
    /// As for [`steer`](Self::steer).
    pub fn follow_up(&self, message: impl Into<Message>) -> Result<(), AgentError> {
        self.say(Said::FollowUp { message: of_user(message) })
    }

    pub(super) fn say(&self, said: Said) -> Result<(), AgentError> {
        let mut line = self.lock();
        let refusal = if line.is_over {
            "the run is over; send the message as an input of the next"
        } else if line.said.len() >= MAX_WAITING {
            "64 messages wait for the run already; send it when they were delivered"
        } else {
            if matches!(said, Said::Steer { now: true, .. }) {
                line.cut.cancel();
            }
            line.said.push_back(said);
            return Ok(());
        };
        Err(AgentError::new(ErrorCode::InvalidInput, refusal))
    }

    /// Returns the token that cuts the answer that begins: also fired when the run is cancelled.
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

    /// Opens a request for approval; its answer comes here.
    pub(super) fn ask(&self, request: ApprovalRequest) -> oneshot::Receiver<Decision> {
        let (answer, answered) = oneshot::channel();
        self.lock().asked.push(Open { request, answer });
        answered
    }

    /// Closes a request with its answer; returns `false` when it is not open.
    pub(super) fn answer(&self, approval_id: &str, decision: Decision) -> bool {
        let open = self.close_request(approval_id);
        open.is_some_and(|open| open.answer.send(decision).is_ok())
    }

    /// Closes a request that needs no answer any more.
    pub(super) fn withdraw(&self, approval_id: &str) {
        drop(self.close_request(approval_id));
    }

    fn close_request(&self, approval_id: &str) -> Option<Open> {
        let mut line = self.lock();
        let is_it = |open: &Open| open.request.approval_id == approval_id;
        let at = line.asked.iter().position(is_it)?;
        Some(line.asked.remove(at))
    }

    pub(super) fn open_requests(&self) -> Vec<ApprovalRequest> {
        self.lock().asked.iter().map(|open| open.request.clone()).collect()
    }

    /// Ends the run's hearing; returns what it has not heard.
    pub(super) fn close(&self) -> VecDeque<Said> {
        let mut line = self.lock();
        line.is_over = true;
        line.asked.clear();
        std::mem::take(&mut line.said)
    }

    fn lock(&self) -> MutexGuard<'_, Line> {
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
