//! Results of calls, with which a run goes on.

use std::sync::Arc;

use axum::http::StatusCode;

use super::asked::{FrontAsked, SessionName};
use crate::{
    Problem, Service,
    commands::{act::AgUiAct, outcome::ActOutcome},
    input::front_request::FrontRequest,
    problem::MAX_SHOWN,
    runs::run::ServiceRun,
};
use forgeline_types::{Text, private::clipped};

/// Returns the run whose calls these are; `None` if the caller has no such run.
pub(super) async fn run_of_calls(
    service: &Service,
    asked: &FrontAsked,
    calls: &[Text],
) -> Result<Option<Arc<ServiceRun>>, Problem> {
    let run_id = |call: &Text| call.split_once('.').map(|(run, _)| Text::from(run));
    let Some(id) = calls.first().and_then(run_id) else { return Ok(None) };
    if calls.iter().any(|call| run_id(call).as_ref() != Some(&id)) {
        let detail = "the results after the last message of the model are of calls of several runs; send those of one";
        return Err(Problem::bad(detail).with("param", "messages"));
    }
    match service.0.runs.of_caller(&asked.caller, &id).await {
        Ok(run) => {
            let is_other = match &asked.session {
                SessionName::None => false,
                SessionName::New => true,
                SessionName::Named(session) => *session != run.conversation,
            };
            if is_other {
                let detail =
                    "the results are of calls of another conversation than `x-session-id` names";
                return Err(Problem::bad(detail).with("param", "messages"));
            }
            Ok(Some(run))
        }
        Err(problem) if problem.is_not_found() => Ok(None),
        Err(problem) => Err(problem),
    }
}

/// Returns the error for results that no run of the caller waits for.
pub(super) fn no_run(calls: &[Text]) -> Problem {
    let id = clipped(calls.first().map_or("", Text::as_str), MAX_SHOWN);
    let detail = format!(
        "no run waits for the result of the call `{id}`; to go on from the messages alone, add a message of the user"
    );
    Problem::new(StatusCode::NOT_FOUND, "call_not_found", detail).with("param", "messages")
}

/// Gives a run the results of a request, and what the user says after them. A run that does not wait for them has them already, or stopped waiting: its
/// events say which.
pub(super) async fn give_results(
    service: &Service,
    asked: &FrontAsked,
    run: &Arc<ServiceRun>,
    request: FrontRequest,
) -> Result<(), Problem> {
    let mut act = AgUiAct { resume: Vec::new(), messages: request.answers(run.id())? };
    match service.0.lifecycle.act_ag_ui(run, &asked.caller, &mut act).await? {
        ActOutcome::Stored => {
            let detail = "the results are stored, and the run goes on soon; send this again";
            Err(Problem::busy(detail, 5))
        }
        ActOutcome::Done
        | ActOutcome::From(_)
        | ActOutcome::Seen(..)
        | ActOutcome::Leaves
        | ActOutcome::Works
        | ActOutcome::Ended => Ok(()),
    }
}
