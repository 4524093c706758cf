//! The answers of the reader of a chat to a run that works on this node.

use super::RunLifecycle;
use crate::{
    Problem,
    commands::outcome::{ActOutcome, RunWait},
    input::{pending::PendingAnswer, ui_message::ReaderAnswer},
    runs::run::{ServiceRun, WaitsFor},
};
use forgeline_agent::{Caller, private::RequestAnswer};

impl RunLifecycle {
    /// Gives the answers of a reader that goes on with event number `next`, or where it was paused.
    pub(super) async fn chat_here(
        &self,
        run: &ServiceRun,
        caller: &Caller,
        (next, answers): (Option<u64>, Vec<ReaderAnswer>),
        command: Option<u64>,
    ) -> Result<ActOutcome, Problem> {
        run.recovered().await?;
        let from = next.unwrap_or_else(|| run.paused());
        // An invalid position is reported before anything is decided.
        self.stores.log.read(&run.key, from, 1).await?;
        let answers = open_ones(run, caller, answers)?;
        self.answer(run, (caller, answers), command).await?;
        Ok(ActOutcome::From(from))
    }
}

/// Returns whether a run waits for its reader, and which of these answers are for open requests.
pub(super) async fn look(
    run: &ServiceRun,
    caller: &Caller,
    answers: Vec<ReaderAnswer>,
) -> Result<ActOutcome, Problem> {
    run.recovered().await?;
    let is_asked = !run.approvals.open().is_empty() || !run.questions.open().is_empty();
    if is_asked {
        return Ok(ActOutcome::Seen(RunWait::Person, open_ones(run, caller, answers)?));
    }
    if run.waits_for(WaitsFor::Anything) {
        return Ok(ActOutcome::Seen(RunWait::Client, open_ones(run, caller, answers)?));
    }
    Ok(ActOutcome::Seen(RunWait::Nothing, Vec::new()))
}

/// Returns the answers to open requests of a run. Every answer is checked before one is given.
fn open_ones(
    run: &ServiceRun,
    caller: &Caller,
    answers: Vec<ReaderAnswer>,
) -> Result<Vec<PendingAnswer>, Problem> {
    for answer in &answers {
        check(run, caller, answer)?;
    }
    Ok(answers.into_iter().filter_map(|it| open(run, it)).collect())
}

/// Refuses an answer whose caller may not use the tool.
fn check(run: &ServiceRun, caller: &Caller, answer: &ReaderAnswer) -> Result<(), Problem> {
    match answer {
        ReaderAnswer::Decided { approval_id, .. }
            if !run.approvals.may_answer(approval_id, caller) =>
        {
            Err(Problem::not_permitted(approval_id))
        }
        ReaderAnswer::Decided { .. } => Ok(()),
        ReaderAnswer::Ran { tool_call_id, .. } => {
            let open = run.own_calls();
            let id = tool_call_id.find(&open).map(|call| &call.client_call_id);
            match id.filter(|id| !run.client_calls.may_complete(id, caller)) {
                Some(id) => Err(Problem::not_permitted(id)),
                None => Ok(()),
            }
        }
    }
}

/// Returns the answer to an open request of a run, with the request's id in that run; `None` if the request is no longer open, as messages keep old
/// answers.
fn open(run: &ServiceRun, answer: ReaderAnswer) -> Option<PendingAnswer> {
    match answer {
        ReaderAnswer::Decided { approval_id, decision } => {
            let open = run.approvals.open();
            let is_open = open.iter().any(|open| open.approval_id == approval_id);
            is_open.then(|| PendingAnswer::new(approval_id, RequestAnswer::Decided(decision)))
        }
        ReaderAnswer::Ran { tool_call_id, end } => {
            let open = run.own_calls();
            let call = tool_call_id.find(&open)?;
            Some(PendingAnswer::new(call.client_call_id.clone(), RequestAnswer::Returned(end)))
        }
    }
}
