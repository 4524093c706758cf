//! The people whom the calls of an answer may ask.

use std::{
    fmt,
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures_core::future::BoxFuture;
use tokio::{
    sync::Notify,
    time::{Instant, sleep, timeout},
};

use super::steering_handle::Steering;
use crate::approval::{ApprovalContext, Approver, Decision, decided, heard};
use crate::{
    support::{Stopwatch, digest},
    tools::{CallPeople, CallPlace, Question, ToolContext},
};
use forgeline_types::{
    AgentEvent, ApprovalReason, ApprovalRequest, Json, Preview, QuestionEnd, Text, ToolAnswer,
    ToolApprovalEvent, ToolApprovalRejectedEvent, ToolQuestion, ToolQuestionEndEvent,
};

/// Maximum number of questions of one call.
pub(crate) const MAX_QUESTIONS: u32 = 16;

/// Maximum number of times that a call which makes progress may take its time limit.
const MAX_EXTENSION: u32 = 10;

/// Maximum time of a call that takes longer than its time limit because it makes progress.
const MAX_EXTENDED: Duration = Duration::from_hours(1);

/// The desk through which the calls of an answer ask people. A call's wait for an answer does not count towards its time limit.
pub(crate) struct QuestionDesk {
    /// `None` when the run has no reader that could answer.
    steering: Option<Steering>,
    approver: Option<Arc<dyn Approver>>,
    /// Maximum wait for an answer.
    limit: Duration,
    calls: Mutex<DeskCalls>,
    changed: Notify,
}

/// The calls that are known at a desk.
#[derive(Debug, Default)]
struct DeskCalls {
    all: Vec<AskingCall>,
    /// The time for which no call has worked while one was asking, since it was last taken.
    asked: Stopwatch,
    /// The time for which the whole run has waited for people.
    waited: Stopwatch,
    stage: DeskStage,
    /// The call of the parent run, for the run of a sub-agent.
    above: Option<CallAbove>,
    /// The wait of that call, while this run waits for people.
    waits_above: Option<WaitAbove>,
}

/// The stage of the run whose calls are at a desk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum DeskStage {
    /// The model works, or the run has ended.
    #[default]
    Model,
    /// Calls run, and may ask people.
    Calls,
    /// All calls wait for a decision or for the client.
    Others,
}

/// A call that runs, has asked a question, or made progress.
#[derive(Debug)]
struct AskingCall {
    call_id: Text,
    made: u32,
    open: u32,
    is_running: bool,
    /// The number of times that the call has made progress.
    progress: u64,
}

/// A call that runs, until this is dropped.
pub(crate) struct CallRun {
    desk: Arc<QuestionDesk>,
    call_id: Text,
}

/// A wait for a person, which ends when this is dropped.
struct PersonWait<'a> {
    desk: &'a QuestionDesk,
    call_id: &'a Text,
    /// The number of the wait within its call, from 1.
    number: u32,
}

/// A call that runs a sub-agent, as the sub-agent's run sees it.
#[derive(Debug, Clone)]
pub(crate) struct CallAbove {
    desk: Arc<QuestionDesk>,
    call_id: Text,
}

/// A wait of the call for people whom the sub-agent's run waits for, until this is dropped.
#[derive(Debug)]
pub(crate) struct WaitAbove(CallAbove);

impl QuestionDesk {
    pub(crate) fn new(steering: Option<Steering>, limit: Duration) -> Self {
        Self { steering, approver: None, limit, calls: Mutex::default(), changed: Notify::new() }
    }

    /// Adds the approver that decides about requests of calls.
    pub(crate) fn approved_by(mut self, approver: Option<Arc<dyn Approver>>) -> Self {
        self.approver = approver;
        self
    }

    /// Lets this call of the parent run wait for people whenever the whole run does.
    pub(crate) fn below(self, above: Option<CallAbove>) -> Self {
        self.calls().above = above;
        self
    }

    /// Takes the stage of the run.
    pub(crate) fn enter(&self, stage: DeskStage) {
        let mut calls = self.calls();
        if calls.stage != stage {
            calls.stage = stage;
            calls.measure();
        }
    }

    /// Starts a wait of a call for people whom the run of its sub-agent waits for.
    fn begin_above(&self, call_id: &Text) {
        let mut calls = self.calls();
        if let Some(asking) = calls.of_call(call_id) {
            asking.open += 1;
        }
        calls.measure();
        drop(calls);
        self.changed.notify_waiters();
    }

    /// Ends a wait of a call.
    fn end_wait(&self, call_id: &Text) {
        let mut calls = self.calls();
        if let Some(asking) = calls.all.iter_mut().find(|asking| asking.call_id == *call_id) {
            asking.open = asking.open.saturating_sub(1);
        }
        calls.measure();
        drop(calls);
        self.changed.notify_waiters();
    }

    /// Starts a wait of a call; `None` when the call has waited too often.
    fn begin<'a>(&'a self, call_id: &'a Text) -> Option<PersonWait<'a>> {
        let mut calls = self.calls();
        let asking = calls.of_call(call_id)?;
        if asking.made >= MAX_QUESTIONS {
            return None;
        }
        (asking.made, asking.open) = (asking.made + 1, asking.open + 1);
        let number = asking.made;
        calls.measure();
        drop(calls);
        self.changed.notify_waiters();
        Some(PersonWait { desk: self, call_id, number })
    }

    /// Records that a call runs.
    pub(crate) fn run(self: &Arc<Self>, call_id: &Text) -> CallRun {
        let mut calls = self.calls();
        if let Some(call) = calls.of_call(call_id) {
            call.is_running = true;
        }
        calls.measure();
        CallRun { desk: Arc::clone(self), call_id: call_id.clone() }
    }

    /// Returns the time for which all running calls have waited for people, since this was last called.
    pub(crate) fn take_waited(&self) -> Duration {
        let mut calls = self.calls();
        calls.asked.take()
    }

    /// Returns the part of the run's time in which its calls have waited for people, and that was not taken.
    pub(crate) fn untaken(&self) -> Duration {
        let calls = self.calls();
        if calls.stage == DeskStage::Model { Duration::ZERO } else { calls.asked.read() }
    }

    /// Returns the time for which the whole run has waited for people.
    pub(crate) fn waited(&self) -> Duration {
        self.calls().waited.read()
    }

    /// Waits until a call has worked for `limit` without progress, not counting the time of its questions. A call that makes progress
    /// may take ten times its limit, but not more than an hour unless the limit itself is longer.
    pub(crate) async fn worked(&self, call_id: &str, limit: Duration) {
        let mut whole = limit.saturating_mul(MAX_EXTENSION).min(MAX_EXTENDED.max(limit));
        let (mut left, mut known) = (limit, 0);
        loop {
            let mut changed = pin!(self.changed.notified());
            changed.as_mut().enable();
            let progress = self.progress_of(call_id);
            if progress != known {
                (left, known) = (limit, progress);
            }
            if self.asks(call_id) {
                changed.await;
                continue;
            }
            let began = Instant::now();
            tokio::select! {
                biased;
                () = changed => {
                    left = left.saturating_sub(began.elapsed());
                    whole = whole.saturating_sub(began.elapsed());
                }
                () = sleep(left.min(whole)) => return,
            }
        }
    }

    fn progress_of(&self, call_id: &str) -> u64 {
        let calls = self.calls();
        let of_call = calls.all.iter().find(|asking| asking.call_id == call_id);
        of_call.map_or(0, |asking| asking.progress)
    }

    fn asks(&self, call_id: &str) -> bool {
        self.calls().all.iter().any(|asking| asking.call_id == call_id && asking.open > 0)
    }

    fn calls(&self) -> MutexGuard<'_, DeskCalls> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl DeskCalls {
    /// Returns the entry of a call, which is new if there is none.
    fn of_call(&mut self, call_id: &Text) -> Option<&mut AskingCall> {
        let known = self.all.iter().position(|asking| asking.call_id == *call_id);
        let at = known.unwrap_or_else(|| {
            let (call_id, is_running) = (call_id.clone(), false);
            self.all.push(AskingCall { call_id, made: 0, open: 0, is_running, progress: 0 });
            self.all.len() - 1
        });
        self.all.get_mut(at)
    }

    /// Adds the time up to now to what was waited, and looks whether all running calls wait from now on.
    fn measure(&mut self) {
        let mut running = self.all.iter().filter(|call| call.is_running).peekable();
        let only_asks = running.peek().is_some() && running.all(|call| call.open > 0);
        self.asked.go(only_asks);
        let waits = match self.stage {
            DeskStage::Model => false,
            DeskStage::Calls => only_asks,
            DeskStage::Others => true,
        };
        self.waited.go(waits);
        // A desk is locked before that of the run above it, and never after.
        if !waits {
            self.waits_above = None;
        } else if self.waits_above.is_none() {
            self.waits_above = self.above.as_ref().map(CallAbove::wait);
        }
    }
}

impl CallPeople for QuestionDesk {
    fn progressed(&self, context: &ToolContext) {
        if let Some(asking) = self.calls().of_call(&context.place().call_id) {
            asking.progress += 1;
        }
        self.changed.notify_waiters();
    }

    fn ask<'a>(
        &'a self,
        context: &'a ToolContext,
        question: Question,
    ) -> BoxFuture<'a, ToolAnswer> {
        Box::pin(async move {
            let CallPlace { call_id, tool_name, .. } = context.place();
            let Some((steering, wait)) = self.steering.as_ref().zip(self.begin(call_id)) else {
                return ToolAnswer::Cancel;
            };
            let question_id = wait.id_of(context, "question");
            let (id, tool_name) = (call_id.clone(), tool_name.clone());
            let (known, called) = (question_id.clone(), tool_name.clone());
            let mut asked = ToolQuestion::new(known, id.clone(), called, question.message);
            (asked.schema, asked.url) = (question.schema, question.url);
            let open = OpenQuestion::new(steering, &question_id);
            let answered = steering.open_request(asked.clone(), None);
            context.send(|| AgentEvent::ToolQuestion(Box::new(asked))).await;
            let (answer, end) = tokio::select! {
                biased;
                () = context.cancelled().cancelled() => (ToolAnswer::Cancel, QuestionEnd::Cancelled),
                answer = answered => ended(answer.unwrap_or(ToolAnswer::Cancel)),
                () = sleep(self.limit) => (ToolAnswer::Cancel, QuestionEnd::Timeout),
            };
            drop((open, wait));
            let event = || {
                AgentEvent::ToolQuestionEnd(ToolQuestionEndEvent::new(
                    question_id,
                    id,
                    tool_name,
                    end,
                ))
            };
            context.send(event).await;
            answer
        })
    }

    fn approve<'a>(
        &'a self,
        context: &'a ToolContext,
        tool_name: Text,
        arguments: Json,
        preview: Preview,
    ) -> BoxFuture<'a, bool> {
        Box::pin(async move {
            let id = context.place().call_id.clone();
            let Some(wait) = self.begin(&id) else { return false };
            let approval_id = wait.id_of(context, "approval");
            let (known, called) = (approval_id.clone(), tool_name.clone());
            let request = ApprovalRequest::new(known, id.clone(), called, arguments)
                .preview(preview)
                .reason(ApprovalReason::OutsideText);
            let decision = tokio::select! {
                biased;
                () = context.cancelled().cancelled() => None,
                decision = timeout(self.limit, self.decide(context, request)) => Some(decision),
            };
            drop(wait);
            let (may, event) = match decision {
                None => (
                    false,
                    AgentEvent::ToolApprovalCancelled(ToolApprovalEvent::new(
                        approval_id,
                        id,
                        tool_name,
                    )),
                ),
                Some(Err(_)) => (
                    false,
                    AgentEvent::ToolApprovalTimeout(ToolApprovalEvent::new(
                        approval_id,
                        id,
                        tool_name,
                    )),
                ),
                Some(Ok(Decision::Grant | Decision::GrantAlways)) => (
                    true,
                    AgentEvent::ToolApprovalGranted(ToolApprovalEvent::new(
                        approval_id,
                        id,
                        tool_name,
                    )),
                ),
                Some(Ok(decision)) => {
                    let reason = if let Decision::Reject { reason } = decision {
                        reason
                    } else {
                        "what a server asks for cannot be changed".to_owned()
                    };
                    (
                        false,
                        AgentEvent::ToolApprovalRejected(
                            ToolApprovalRejectedEvent::new(approval_id, id, tool_name)
                                .reason(reason),
                        ),
                    )
                }
            };
            context.send(|| event).await;
            may
        })
    }

    fn wait<'a>(
        &'a self,
        context: &'a ToolContext,
        answer: BoxFuture<'a, ()>,
    ) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let Some(_wait) = self.begin(&context.place().call_id) else { return };
            // An answer that is too late is ignored.
            let _late = timeout(self.limit, answer).await;
        })
    }
}

impl QuestionDesk {
    /// Waits for the decision about a request, once the request has been shown.
    async fn decide(&self, context: &ToolContext, request: ApprovalRequest) -> Decision {
        if self.steering.is_none() && self.approver.is_none() {
            return Decision::reject("there is no one to ask");
        }
        let id = request.approval_id.clone();
        let answer =
            self.steering.as_ref().map(|steering| steering.open_request(request.clone(), None));
        let _open = self.steering.as_ref().map(|steering| OpenQuestion::new(steering, &id));
        let event = Box::new(request.clone());
        context.send(|| AgentEvent::ToolApprovalRequest(event)).await;
        let asked = ApprovalContext::new(request, context.run().clone());
        tokio::select! {
            biased;
            decision = heard(answer) => decision,
            decision = decided(self.approver.clone(), asked) => decision,
        }
    }
}

impl PersonWait<'_> {
    /// Returns the id of the request, made from the call and this wait of the call.
    fn id_of(&self, context: &ToolContext, what: &str) -> Text {
        let key = format!("{}/{what}/{}", context.idempotency_key(), self.number);
        format!("{:016x}", digest(key.as_bytes())).into()
    }
}

/// Returns an answer together with the end of its question.
fn ended(answer: ToolAnswer) -> (ToolAnswer, QuestionEnd) {
    let end = match &answer {
        ToolAnswer::Accept { .. } => QuestionEnd::Accepted,
        ToolAnswer::Decline => QuestionEnd::Declined,
        ToolAnswer::Cancel => QuestionEnd::Cancelled,
        _ => QuestionEnd::Cancelled,
    };
    (answer, end)
}

impl CallAbove {
    pub(crate) fn new(desk: &Arc<QuestionDesk>, call_id: &Text) -> Self {
        Self { desk: Arc::clone(desk), call_id: call_id.clone() }
    }

    /// Lets the call wait for people: its time limit and the time of its run stop.
    pub(crate) fn wait(&self) -> WaitAbove {
        self.desk.begin_above(&self.call_id);
        WaitAbove(self.clone())
    }
}

impl Drop for WaitAbove {
    fn drop(&mut self) {
        self.0.desk.end_wait(&self.0.call_id);
    }
}

impl Drop for PersonWait<'_> {
    fn drop(&mut self) {
        self.desk.end_wait(self.call_id);
    }
}

impl Drop for CallRun {
    fn drop(&mut self) {
        let mut calls = self.desk.calls();
        let mut all = calls.all.iter_mut();
        if let Some(call) = all.find(|call| call.call_id == self.call_id) {
            call.is_running = false;
        }
        // What has asked nothing leaves nothing.
        calls.all.retain(|call| call.is_running || call.made > 0);
        calls.measure();
    }
}

/// A question that stays open until this is dropped.
struct OpenQuestion<'a> {
    steering: &'a Steering,
    id: &'a str,
}

impl<'a> OpenQuestion<'a> {
    fn new(steering: &'a Steering, id: &'a str) -> Self {
        Self { steering, id }
    }
}

impl Drop for OpenQuestion<'_> {
    fn drop(&mut self) {
        self.steering.withdraw(self.id);
    }
}

impl fmt::Debug for QuestionDesk {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("QuestionDesk").field("calls", &self.calls).finish_non_exhaustive()
    }
}
