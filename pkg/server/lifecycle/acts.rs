//! The acts of callers on runs, on this node or on another.

use std::sync::Arc;

use super::{RunLifecycle, chat_acts::look};
use crate::{
    Problem,
    commands::{
        act::{AgUiAct, RunAct, SentAct, request_kind},
        outcome::{ActOutcome, RunWait},
        send::send,
    },
    input::{
        pending::{PendingAnswer, QueuedMessage},
        ui_message::ReaderAnswer,
    },
    runs::run::{ServiceRun, WaitsFor},
};
use forgeline_agent::{Caller, private::RequestAnswer};
use forgeline_types::Text;

impl RunLifecycle {
    /// Does something to a run: here if this node works on it, and otherwise by a command to the node that does. With a key on a store that several nodes
    /// share, it is done once, whichever node gets it.
    pub(crate) async fn act(
        self: &Arc<Self>,
        run: &Arc<ServiceRun>,
        sent: SentAct,
        key: Option<Text>,
    ) -> Result<ActOutcome, Problem> {
        let key = key.filter(|_| self.stores.runs.is_shared());
        if key.is_none() && self.works_here(run)? {
            let done = self.act_here(run, sent.clone(), None).await;
            // Its requests may have been closed because it moves to another process. What the store may have is not sent again.
            let is_refused = done.as_ref().is_err_and(|problem| !problem.is_of_store());
            if !is_refused || self.works_here(run)? {
                return done;
            }
        }
        let outcome = send(&*self.stores.commands, &run.key, &sent, key.as_ref()).await?;
        if outcome == ActOutcome::Ended { sent.act.after_end(run.id()) } else { Ok(outcome) }
    }

    /// Returns `true` for a run that executes its commands here. One that waits for the next process of a store that is not shared takes none.
    fn works_here(&self, run: &ServiceRun) -> Result<bool, Problem> {
        if run.is_moving() && !self.stores.runs.is_shared() {
            let detail = "the run continues once the service has started again; send this then";
            return Err(Problem::busy(detail, 5));
        }
        Ok(run.elsewhere().is_none() && !run.is_moving())
    }

    /// Does what an AG-UI client asks of a run, here or on another node. What it does not take stays in `act`.
    pub(crate) async fn act_ag_ui(
        self: &Arc<Self>,
        run: &Arc<ServiceRun>,
        caller: &Caller,
        act: &mut AgUiAct,
    ) -> Result<ActOutcome, Problem> {
        let mut sent = SentAct::new(caller, RunAct::Cancel);
        if self.works_here(run)? {
            return self.ag_ui_here(run, (caller, sent.at_ms), act, None).await;
        }
        sent.act = RunAct::AgUi(std::mem::take(act));
        let outcome = send(&*self.stores.commands, &run.key, &sent, None).await;
        if let RunAct::AgUi(given_back) = sent.act {
            *act = given_back;
        }
        let outcome = outcome?;
        if outcome == ActOutcome::Ended { Ok(ActOutcome::Works) } else { Ok(outcome) }
    }

    /// Returns the wait of a run, here or on another node, and those of these answers that are for open requests.
    pub(crate) async fn look_at(
        self: &Arc<Self>,
        run: &Arc<ServiceRun>,
        caller: &Caller,
        answers: Vec<ReaderAnswer>,
    ) -> Result<(RunWait, Vec<PendingAnswer>), Problem> {
        match self.act(run, SentAct::new(caller, RunAct::Look { answers }), None).await? {
            ActOutcome::Seen(wait, answers) => Ok((wait, answers)),
            ActOutcome::Stored => {
                let detail = "the run moves to another process; send this again";
                Err(Problem::busy(detail, 5))
            }
            ActOutcome::Done
            | ActOutcome::From(_)
            | ActOutcome::Leaves
            | ActOutcome::Works
            | ActOutcome::Ended => Ok((RunWait::Nothing, Vec::new())),
        }
    }

    /// Returns `true` for a run that waits for a person.
    pub(crate) async fn asks_person(
        self: &Arc<Self>,
        run: &Arc<ServiceRun>,
        caller: &Caller,
    ) -> Result<bool, Problem> {
        if run.elsewhere().is_some() {
            return Ok(self.look_at(run, caller, Vec::new()).await?.0 == RunWait::Person);
        }
        Ok(!run.approvals.open().is_empty() || !run.questions.open().is_empty())
    }

    /// Does something to a run that this node works on. `command` is the number of the command that sent it, if another node did.
    pub(super) async fn act_here(
        self: &Arc<Self>,
        run: &Arc<ServiceRun>,
        sent: SentAct,
        command: Option<u64>,
    ) -> Result<ActOutcome, Problem> {
        let SentAct { caller, at_ms, act } = sent;
        match act {
            RunAct::Cancel => self.cancel(run).await?,
            RunAct::Answer(answer) => self.answer_one(run, &caller, answer, command).await?,
            RunAct::Steer { when, message } => {
                if run.has_ended() {
                    return Err(Problem::not_found("open run", run.id()));
                }
                self.steer(run, QueuedMessage { when, message, at_ms }, command).await?;
            }
            RunAct::Chat { next, answers } => {
                return self.chat_here(run, &caller, (next, answers), command).await;
            }
            RunAct::Look { answers } => return look(run, &caller, answers).await,
            RunAct::Leave { answers } => self.leave(run, (&caller, answers)).await?,
            RunAct::AgUi(mut act) => {
                return self.ag_ui_here(run, (&caller, at_ms), &mut act, command).await;
            }
            RunAct::Pause { next, ends } => return Ok(pause(run, next, ends)),
        }
        Ok(ActOutcome::Done)
    }

    /// Answers an open request, if the caller may.
    async fn answer_one(
        &self,
        run: &ServiceRun,
        caller: &Caller,
        answer: PendingAnswer,
        command: Option<u64>,
    ) -> Result<(), Problem> {
        let id = &answer.id;
        run.recovered_for(id).await?;
        let (is_open, may_answer) = match &answer.given {
            RequestAnswer::Decided(_) => (
                run.approvals.open().iter().any(|open| open.approval_id == *id),
                run.approvals.may_answer(id, caller),
            ),
            RequestAnswer::Returned(_) => (
                run.client_calls.open().iter().any(|open| open.client_call_id == *id),
                run.client_calls.may_complete(id, caller),
            ),
            RequestAnswer::Answered(_) => {
                (run.questions.open().iter().any(|open| open.question_id == *id), true)
            }
        };
        if !is_open {
            return Err(Problem::not_found(request_kind(&answer), id));
        }
        if !may_answer {
            return Err(Problem::not_permitted(id));
        }
        self.answer(run, (caller, vec![answer]), command).await
    }
}

/// Records that a reader has read all events before number `next`; returns whether the run waits for it.
fn pause(run: &ServiceRun, next: u64, ends: WaitsFor) -> ActOutcome {
    // A run that has not reopened every request is not known to wait.
    if !run.has_recovered() || !run.waits_for(ends) {
        return if run.has_recovered() { ActOutcome::Works } else { ActOutcome::Stored };
    }
    run.pause(next);
    ActOutcome::From(next)
}
