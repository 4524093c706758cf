//! The chat routes for `useChat` of the AI SDK.

use std::sync::Arc;

use axum::{
    extract::State,
    http::{HeaderName, HeaderValue},
    response::Response,
};

use super::{
    requests::may_not,
    ui_request::{Answer, Answered, Chat},
};
use crate::{
    agent::{self, Given},
    server::{
        Problem, Service,
        encode::UiMessageStream,
        http::extract::{Body, Caller, Path, Query},
        input::pending::Answer as Kept,
        readers::{
            body,
            until_wait::{Reading, answer},
        },
        runs::run::{Run, WaitsFor},
        service::Asked,
    },
};

pub(super) async fn begin(
    State(service): State<Service>,
    Caller(caller): Caller,
    Query(reading): Query<Reading>,
    Body(mut chat): Body<Chat>,
) -> Result<Response, Problem> {
    let again = chat.again();
    if let Some(answered) = chat.answered().filter(|_| again.is_none()) {
        let conversation = chat.conversation().unwrap_or_default();
        let run = service.open_run(&caller, &conversation);
        let run = run.filter(|run| answered.run_id().is_none_or(|id| id == run.id()));
        let Some(run) = run else {
            return ended(&service, &caller, &conversation, &answered).await;
        };
        run.settled().await?;
        let from = answered.next().unwrap_or_else(|| run.paused());
        // An invalid position is reported before anything is decided.
        service.log().read(&run.key, from, 1).await?;
        let answers: Vec<_> = answered.answers().collect();
        for answer in &answers {
            check(&run, &caller, answer)?;
        }
        service.answer(&run, answers.into_iter().filter_map(|it| open(&run, it)).collect()).await?;
        let guard = reading.guard(&run);
        let response = answer(&service, run, from, UiMessageStream::new(), guard).await?;
        return Ok(marked(response, &conversation));
    }
    let before = chat.answered_before();
    let Some(said) = chat.said()? else {
        return Err(Problem::bad("Message is required"));
    };
    let agent = reading.agent.clone();
    let input = chat.about(reading.input(said));
    let (conversation, tools) = (chat.conversation(), None);
    let waits = match &conversation {
        Some(id) => waiting(&service, &caller, id).await?,
        None => None,
    };
    let answers = match (&waits, before) {
        (Some(run), Some(answered)) => answers_before(run, &caller, answered)?,
        _ => Vec::new(),
    };
    // A message after an answer to an open request has not started a run yet.
    let again = again.filter(|_| answers.is_empty());
    let asked = Asked { input, agent, conversation, tools, request: None, again };
    // A user who says something else leaves the other requests unanswered, and the next run would wait for them.
    let run = match waits {
        Some(waits) => service.begin_in_place(caller, asked, (waits, answers)).await?,
        None => service.begin(caller, asked).await?,
    };
    let (conversation, guard) = (run.conversation.clone(), reading.guard(&run));
    let response = answer(&service, run, 0, UiMessageStream::new(), guard).await?;
    Ok(marked(response, &conversation))
}

/// Answers a page whose answer arrives after its run has ended, because another page answered first or no answer came in time: sends the rest of that run.
async fn ended(
    service: &Service,
    caller: &agent::Caller,
    conversation: &str,
    answered: &Answered,
) -> Result<Response, Problem> {
    let missing = || Problem::not_found("open run of the chat", conversation);
    let (id, from) = answered.run_id().zip(answered.next()).ok_or_else(missing)?;
    let run = service.run_to_read(caller, id).await?;
    if run.conversation != *conversation || !run.has_ended() {
        return Err(missing());
    }
    let response = answer(service, run, from, UiMessageStream::new(), None).await?;
    Ok(marked(response, conversation))
}

/// Returns the run of a chat that waits for its reader.
pub(super) async fn waiting(
    service: &Service,
    caller: &agent::Caller,
    conversation: &str,
) -> Result<Option<Arc<Run>>, Problem> {
    let Some(run) = service.open_run(caller, conversation) else { return Ok(None) };
    run.settled().await?;
    Ok(Some(run).filter(|run| run.waits_for(WaitsFor::Anything)))
}

/// Returns the answers to open requests of a run that precede the user's message.
fn answers_before(
    run: &Run,
    caller: &agent::Caller,
    answered: Answered,
) -> Result<Vec<Kept>, Problem> {
    if answered.run_id().is_some_and(|id| id != run.id()) {
        return Ok(Vec::new());
    }
    let answers: Vec<_> = answered.answers().collect();
    for answer in &answers {
        check(run, caller, answer)?;
    }
    Ok(answers.into_iter().filter_map(|it| open(run, it)).collect())
}

/// Refuses an answer whose caller may not use the tool. Every answer is checked before one is given.
fn check(run: &Run, caller: &agent::Caller, answer: &Answer) -> Result<(), Problem> {
    match answer {
        Answer::Decided { approval_id, .. } if !run.approvals.may_answer(approval_id, caller) => {
            Err(may_not(approval_id))
        }
        Answer::Decided { .. } => Ok(()),
        Answer::Ran { tool_call_id, .. } => {
            let open = run.own_calls();
            let id = tool_call_id.find(&open).map(|call| &call.client_call_id);
            match id.filter(|id| !run.client_calls.may_complete(id, caller)) {
                Some(id) => Err(may_not(id)),
                None => Ok(()),
            }
        }
    }
}

/// Returns the answer to an open request of a run, with the request's id in that run; `None` if the request is no longer open, as messages keep old
/// answers.
fn open(run: &Run, answer: Answer) -> Option<Kept> {
    match answer {
        Answer::Decided { approval_id, decision } => {
            let open = run.approvals.open();
            let is_open = open.iter().any(|open| open.approval_id == approval_id);
            is_open.then(|| Kept::new(approval_id, Given::Decided(decision)))
        }
        Answer::Ran { tool_call_id, end } => {
            let open = run.own_calls();
            let call = tool_call_id.find(&open)?;
            Some(Kept::new(call.client_call_id.clone(), Given::Returned(end)))
        }
    }
}

/// Reads the active run of a chat from its beginning.
pub(super) async fn resume(
    State(service): State<Service>,
    Caller(caller): Caller,
    Path(id): Path<String>,
    Query(reading): Query<Reading>,
) -> Result<Response, Problem> {
    let Some(run) = service.open_run(&caller, &id) else { return Ok(body::nothing()) };
    let guard = reading.guard(&run);
    let response = answer(&service, run, 0, UiMessageStream::new(), guard).await?;
    Ok(marked(response, &id))
}

/// Ends the active run of a chat; closing a connection does not.
pub(super) async fn stop(
    State(service): State<Service>,
    Caller(caller): Caller,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    for run in service.runs_to_stop(&caller, &id) {
        service.cancel(&run).await?;
    }
    Ok(body::nothing())
}

/// Sets the headers with the protocol version and the chat id.
fn marked(mut response: Response, conversation: &str) -> Response {
    let (name, value) = UiMessageStream::HEADER;
    let (name, value) = (HeaderName::from_static(name), HeaderValue::from_static(value));
    response.headers_mut().insert(name, value);
    if let Ok(id) = HeaderValue::from_str(conversation) {
        response.headers_mut().insert(HeaderName::from_static("x-chat-id"), id);
    }
    response
}
