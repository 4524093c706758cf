//! AG-UI.

use axum::{extract::State, http::StatusCode, response::Response};
use serde::Deserialize;
use serde_json::Value;

use super::{
    chat::waiting,
    requests::may_not,
    ui_request::{CallId, UiMessage, decided},
};
use crate::{
    agent::{Decision, Given},
    server::{
        Problem, Service,
        client_tools::{ClientTools, Offered},
        encode::AgUi,
        extract::{Body, Caller, Query},
        going_on::{Reading, answer},
        problem::MAX_SHOWN,
        run::Run,
        service::Asked,
        words::Answer as Kept,
    },
    types::{ClientReturn, Json, Text, ToolAnswer, clipped},
};

/// The input of an agent; it may have more.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RunAgentInput {
    thread_id: Text,
    #[serde(default)]
    messages: Vec<UiMessage>,
    #[serde(default)]
    tools: Vec<Offered>,
    #[serde(default)]
    resume: Vec<Resume>,
}

/// The answer to an interrupt.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Resume {
    interrupt_id: Text,
    status: Status,
    payload: Option<Value>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Status {
    Resolved,
    Cancelled,
}

pub(super) async fn begin(
    State(service): State<Service>,
    Caller(caller): Caller,
    Query(reading): Query<Reading>,
    Body(input): Body<RunAgentInput>,
) -> Result<Response, Problem> {
    let RunAgentInput { thread_id, mut messages, tools, resume } = input;
    let encoder = AgUi::new(thread_id.clone());
    let waits = waiting(&service, &caller, &thread_id).await?;
    let leaves = waits.as_ref().is_some_and(|run| resume.is_empty() && leaves(run, &messages));
    if let Some(run) = waits.clone().filter(|_| !leaves) {
        let is_said = messages.last().is_some_and(UiMessage::is_users);
        let count = resume.len();
        // All of them are taken, or none.
        for (at, Resume { interrupt_id, .. }) in resume.iter().enumerate() {
            if resume.iter().skip(at + 1).any(|other| other.interrupt_id == *interrupt_id) {
                let id = clipped(interrupt_id, MAX_SHOWN);
                return Err(Problem::bad(format!("`resume` answers `{id}` twice")));
            }
        }
        let answers: Result<Vec<_>, _> = resume.into_iter().map(|it| read(&run, it)).collect();
        let (answers, results) = (answers?, results(&run, messages));
        let decided = |answer: &&Kept| matches!(answer.given, Given::Decided(_));
        let mut decided = answers.iter().filter(decided).map(|answer| &answer.id);
        if let Some(id) = decided.find(|id| !run.approvals.may_answer(id, &caller)) {
            return Err(may_not(id));
        }
        let refused = results.iter().find(|(id, _)| !run.client_calls.may_complete(id, &caller));
        if let Some((id, _)) = refused {
            return Err(may_not(id));
        }
        let ran = results.len();
        let results = results.into_iter().map(|(id, end)| Kept::new(id, Given::Returned(end)));
        service.answer(&run, answers.into_iter().chain(results).collect()).await?;
        if count == 0 && ran == 0 && is_said {
            let detail = "the run of this thread waits for an answer; send it as `resume`, or as the message of a tool";
            return Err(Problem::new(StatusCode::CONFLICT, "run_waits", detail));
        }
        let (from, guard) = (run.paused(), reading.guard(&run));
        return answer(&service, run, from, encoder, guard).await;
    }
    if let Some(Resume { interrupt_id, .. }) = resume.first() {
        return Err(Problem::not_found("open request", interrupt_id));
    }
    let said = messages.pop().map_or(Ok(None), UiMessage::said)?;
    let Some(said) = said else {
        return Err(Problem::bad(
            "the last of `messages` must be one of the user, with words, a picture or a document",
        ));
    };
    let (input, tools) = (reading.input(said), Some(ClientTools::new(tools)?));
    let (agent, conversation) = (reading.agent.clone(), Some(thread_id));
    let asked = Asked { input, agent, conversation, tools, request: None, again: None };
    let run = service.begin(caller, asked).await?;
    if let Some(waits) = waits {
        service.cancel(&waits).await?;
    }
    let guard = reading.guard(&run);
    answer(&service, run, 0, encoder, guard).await
}

/// Returns `true` when the user says something else while a run waits for no more than results of calls at the client.
fn leaves(run: &Run, messages: &[UiMessage]) -> bool {
    let is_asked = !run.approvals.open().is_empty() || !run.questions.open().is_empty();
    let calls = run.own_calls();
    let is_open = |id: &CallId| calls.iter().any(|(turn, call)| id.is_of(*turn, &call.id));
    let has_result = messages.iter().filter_map(UiMessage::call_id).any(is_open);
    !is_asked && !has_result && messages.last().is_some_and(UiMessage::is_users)
}

/// Reads the answer to an interrupt of a run.
fn read(run: &Run, resume: Resume) -> Result<Kept, Problem> {
    let Resume { interrupt_id: id, status, payload } = resume;
    let is_resolved = status == Status::Resolved;
    if run.approvals.open().iter().any(|open| open.approval_id == id) {
        let decision = match payload {
            _ if !is_resolved => Decision::reject("the request was cancelled"),
            Some(payload) => decision(&payload)?,
            None => return Err(wrong_approval()),
        };
        return Ok(Kept::new(id, Given::Decided(decision)));
    }
    if run.questions.open().iter().any(|open| open.question_id == id) {
        let answer = match payload {
            Some(payload) if is_resolved => {
                let content = Json::parse(&payload.to_string());
                let content = content.map_err(|error| Problem::bad(error.to_string()))?;
                ToolAnswer::Accept { content }
            }
            None if is_resolved => {
                return Err(Problem::bad("the answer to a question needs a `payload`"));
            }
            _ => ToolAnswer::Cancel,
        };
        return Ok(Kept::new(id, Given::Answered(answer)));
    }
    Err(Problem::not_found("open request", &id))
}

/// Reads the decision of a person: `true`, `false`, or an object.
fn decision(payload: &Value) -> Result<Decision, Problem> {
    let approved = payload.as_bool().or_else(|| payload.get("approved")?.as_bool());
    let approved = approved.ok_or_else(wrong_approval)?;
    if let Some(arguments) = payload.get("editedArgs").filter(|_| approved) {
        let arguments = Json::parse(&arguments.to_string());
        let arguments = arguments.map_err(|error| Problem::bad(error.to_string()))?;
        return Ok(Decision::GrantChanged { arguments });
    }
    let reason = payload.get("reason").and_then(Value::as_str).map(str::to_owned);
    Ok(decided(approved, reason))
}

fn wrong_approval() -> Problem {
    Problem::bad(
        "the `payload` of an approval must be `{\"approved\": true}` or `{\"approved\": false}`",
    )
}

/// Returns the results of calls at the client that are open, by their ids here.
fn results(run: &Run, messages: Vec<UiMessage>) -> Vec<(Text, ClientReturn)> {
    let open = run.own_calls();
    let mut results: Vec<(Text, ClientReturn)> = Vec::new();
    for (id, end) in messages.into_iter().filter_map(UiMessage::ran) {
        let call = open.iter().find(|(turn, call)| id.is_of(*turn, &call.id));
        let own = call.map(|(_, call)| &call.client_call_id);
        // The first result counts.
        if let Some(own) = own.filter(|own| !results.iter().any(|(known, _)| known == *own)) {
            results.push((own.clone(), end));
        }
    }
    results
}
