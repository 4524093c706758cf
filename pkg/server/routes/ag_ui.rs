//! The AG-UI route.

use std::sync::Arc;

use axum::{extract::State, http::StatusCode, response::Response};
use serde::Deserialize;
use serde_json::Value;

use super::{
    chat::{sent_history, waiting},
    requests::not_permitted,
    ui_request::{UiCallId, UiMessage, decided, message_key},
};
use crate::{
    Problem, Service,
    access::caller::RequestCaller,
    encode::AgUi,
    http::extract::{JsonBody, QueryParameters},
    input::{
        client_tools::{ClientTools, OfferedTool},
        pending::{DeliveryTime, PendingAnswer, QueuedMessage},
    },
    lifecycle::{RunLifecycle, start::StartRun},
    problem::MAX_SHOWN,
    readers::until_wait::{ReadingQuery, answer},
    runs::run::ServiceRun,
    service::ServiceHandles,
};
use forgeline_agent::{approval::Decision, private::RequestAnswer};
use forgeline_store::private::now_ms;
use forgeline_types::{
    ClientReturn, Json, Message, MessageRole, Text, ToolAnswer, private::clipped,
};

/// The input of an agent; unknown members are ignored.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RunAgentInput {
    thread_id: Text,
    /// The id that the client gave to its request.
    run_id: Option<Text>,
    #[serde(default)]
    messages: Vec<UiMessage>,
    #[serde(default)]
    tools: Vec<OfferedTool>,
    #[serde(default)]
    resume: Vec<InterruptAnswer>,
}

/// The answer to an interrupt.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct InterruptAnswer {
    interrupt_id: Text,
    status: InterruptStatus,
    payload: Option<Value>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum InterruptStatus {
    Resolved,
    Cancelled,
}

pub(super) async fn begin(
    State(service): State<Service>,
    RequestCaller(caller): RequestCaller,
    QueryParameters(reading): QueryParameters<ReadingQuery>,
    JsonBody(input): JsonBody<RunAgentInput>,
) -> Result<Response, Problem> {
    let ServiceHandles { access, runs, lifecycle, readers, conversations, .. } = &*service.0;
    let RunAgentInput { thread_id, run_id, mut messages, tools, resume } = input;
    let sent = messages.iter().filter_map(UiMessage::call_id).map(|id| id.sent().clone());
    let encoder = AgUi::new(thread_id.clone()).without_results(sent.collect());
    let key = run_id.filter(|_| resume.is_empty());
    let key = key.and_then(|run_id| request_key((&thread_id, &run_id), &messages, &reading));
    let request = match key {
        Some(key) => lifecycle.request_named(&caller, &key).await?,
        None => None,
    };
    // The same request again, such as one whose response was lost; what a person is asked has to be answered.
    if let Some((_, Some(run))) = &request
        && run.approvals.open().is_empty()
        && run.questions.open().is_empty()
    {
        let guard = reading.guard(run);
        return answer(readers, Arc::clone(run), 0, encoder, guard).await;
    }
    let waits = waiting(runs, &caller, &thread_id).await?;
    let leaves = waits.as_ref().is_some_and(|run| resume.is_empty() && leaves(run, &messages));
    if let Some(run) = waits.clone().filter(|_| !leaves) {
        let is_said = messages.last().is_some_and(UiMessage::is_users);
        // Takes all of them or none.
        for (at, InterruptAnswer { interrupt_id, .. }) in resume.iter().enumerate() {
            if resume.iter().skip(at + 1).any(|other| other.interrupt_id == *interrupt_id) {
                let id = clipped(interrupt_id, MAX_SHOWN);
                return Err(Problem::bad(format!("`resume` answers `{id}` twice")));
            }
        }
        let answers: Result<Vec<_>, _> =
            resume.into_iter().map(|it| parse_resume(&run, it)).collect();
        let answers = answers?;
        let word = user_message(new_user_messages(lifecycle, &run, &mut messages).await?)?;
        let results = results(&run, messages);
        let decided = |answer: &&PendingAnswer| matches!(answer.given, RequestAnswer::Decided(_));
        let mut decided = answers.iter().filter(decided).map(|answer| &answer.id);
        if let Some(id) = decided.find(|id| !run.approvals.may_answer(id, &caller)) {
            return Err(not_permitted(id));
        }
        let refused = results.iter().find(|(id, _)| !run.client_calls.may_complete(id, &caller));
        if let Some((id, _)) = refused {
            return Err(not_permitted(id));
        }
        let results = results
            .into_iter()
            .map(|(id, end)| PendingAnswer::new(id, RequestAnswer::Returned(end)));
        let answers: Vec<_> = answers.into_iter().chain(results).collect();
        if answers.is_empty() && (is_said || word.is_some()) {
            let detail = "the run of this thread is waiting for an answer; send it in `resume`, or as a tool message";
            return Err(Problem::new(StatusCode::CONFLICT, "run_waits", detail));
        }
        if let Some(message) = word {
            access.limits().check_input(&message.text())?;
            let word = QueuedMessage { when: DeliveryTime::Next, message, at_ms: now_ms() };
            lifecycle.answer_and_steer(&run, answers, word).await?;
        } else {
            lifecycle.answer(&run, answers).await?;
        }
        let (from, guard) = (run.paused(), reading.guard(&run));
        return answer(readers, run, from, encoder, guard).await;
    }
    if let Some(InterruptAnswer { interrupt_id, .. }) = resume.first() {
        return Err(Problem::not_found("open request", interrupt_id));
    }
    let said = messages.pop().map_or(Ok(None), UiMessage::said)?;
    let Some(said) = said else {
        return Err(Problem::bad(
            "the last of `messages` must be a user message with text, an image or a document",
        ));
    };
    let (input, tools) = (reading.input(said), Some(ClientTools::new(tools)?));
    let (agent, conversation) = (reading.agent.clone(), Some(thread_id));
    let request = request.map(|(name, _)| (name, 0));
    let of = (&conversation, &agent);
    let (history, notice) = sent_history(conversations, &caller, of, &messages).await?;
    let asked = StartRun { input, agent, conversation, tools, request, history, again: None };
    let run = match waits {
        Some(waits) => lifecycle.begin_in_place(caller, asked, (waits, Vec::new())).await?,
        None => lifecycle.begin(caller, asked).await?,
    };
    let guard = reading.guard(&run);
    answer(readers, run, 0, encoder.noting(notice), guard).await
}

/// Returns the key of a request whose last message is the user's and has an id; clients give each request an id of its own.
fn request_key(
    (thread_id, run_id): (&str, &str),
    messages: &[UiMessage],
    of: &ReadingQuery,
) -> Option<Text> {
    let last = messages.last().filter(|last| last.is_users())?;
    let id = format!("{run_id} {} {}", messages.len(), last.id()?);
    Some(message_key(thread_id, &id, &last.text(), of))
}

/// Returns `true` if the user sends something else while a run waits only for results of calls at the client.
fn leaves(run: &ServiceRun, messages: &[UiMessage]) -> bool {
    let is_asked = !run.approvals.open().is_empty() || !run.questions.open().is_empty();
    let calls = run.own_calls();
    let is_open = |id: &UiCallId| id.find(&calls).is_some();
    let has_result = messages.iter().filter_map(UiMessage::call_id).any(is_open);
    !is_asked && !has_result && messages.last().is_some_and(UiMessage::is_users)
}

/// Takes the user messages that are new to a waiting run: those after the open calls, or else the last ones, without messages sent to it before.
async fn new_user_messages(
    lifecycle: &RunLifecycle,
    run: &ServiceRun,
    messages: &mut Vec<UiMessage>,
) -> Result<Vec<UiMessage>, Problem> {
    let open = index_of_open(run, messages);
    let at = open.unwrap_or_else(|| {
        messages.len() - messages.iter().rev().take_while(|it| it.is_users()).count()
    });
    let mut said: Vec<_> = messages.extract_if(at.., |it| it.is_users()).collect();
    if said.is_empty() {
        return Ok(said);
    }
    let (begun, since) = lifecycle.texts_sent_to(run).await?;
    let is_known = |text: String| since.contains(&text) || (open.is_none() && text == begun);
    let known = said.iter().rposition(|it| is_known(it.text()));
    Ok(said.split_off(known.map_or(0, |at| at + 1)))
}

/// Returns the index of the first message with an open request of a run, or its result.
fn index_of_open(run: &ServiceRun, messages: &[UiMessage]) -> Option<usize> {
    let calls = run.own_calls();
    let asked = run.approvals.open().into_iter().map(|open| open.call_id);
    let asked = asked.chain(run.questions.open().into_iter().map(|open| open.call_id));
    let asked: Vec<_> = asked.collect();
    let is_open = |id: &UiCallId| id.find(&calls).is_some() || asked.iter().any(|it| id.ends(it));
    let has = |it: &UiMessage| it.called().chain(it.call_id()).any(is_open);
    messages.iter().position(has)
}

/// Returns the user's content in these messages as one message; `None` if there is none. Results stay.
fn user_message(messages: Vec<UiMessage>) -> Result<Option<Message>, Problem> {
    let mut parts = Vec::new();
    for message in messages.into_iter().filter(UiMessage::is_users) {
        parts.extend(message.said()?.unwrap_or_default());
    }
    Ok((!parts.is_empty()).then(|| Message::new(MessageRole::User, parts)))
}

/// Reads the answer to an interrupt of a run.
fn parse_resume(run: &ServiceRun, resume: InterruptAnswer) -> Result<PendingAnswer, Problem> {
    let InterruptAnswer { interrupt_id: id, status, payload } = resume;
    let is_resolved = status == InterruptStatus::Resolved;
    if run.approvals.open().iter().any(|open| open.approval_id == id) {
        let decision = match payload {
            _ if !is_resolved => Decision::unanswered("the client took the request back"),
            Some(payload) => decision(&payload)?,
            None => return Err(wrong_approval()),
        };
        return Ok(PendingAnswer::new(id, RequestAnswer::Decided(decision)));
    }
    if run.questions.open().iter().any(|open| open.question_id == id) {
        let answer = match payload {
            Some(payload) if is_resolved => {
                let content = Json::parse(&payload.to_string());
                let content = content.map_err(|error| Problem::bad(error.to_string()))?;
                ToolAnswer::accept(content)
            }
            None if is_resolved => {
                return Err(Problem::bad("the answer to a question needs a `payload`"));
            }
            _ => ToolAnswer::Cancel,
        };
        return Ok(PendingAnswer::new(id, RequestAnswer::Answered(answer)));
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
        return Ok(Decision::grant_changed(arguments));
    }
    let reason = payload.get("reason").and_then(Value::as_str).map(str::to_owned);
    Ok(decided(approved, reason))
}

fn wrong_approval() -> Problem {
    Problem::bad(
        "the `payload` of an approval must be `{\"approved\": true}` or `{\"approved\": false}`",
    )
}

/// Returns the results of open calls at the client, by the ids of the calls in this service.
fn results(run: &ServiceRun, messages: Vec<UiMessage>) -> Vec<(Text, ClientReturn)> {
    let open = run.own_calls();
    let mut results: Vec<(Text, ClientReturn)> = Vec::new();
    for (id, end) in messages.into_iter().filter_map(UiMessage::ran) {
        let own = id.find(&open).map(|call| &call.client_call_id);
        // The first result counts.
        if let Some(own) = own.filter(|own| !results.iter().any(|(known, _)| known == *own)) {
            results.push((own.clone(), end));
        }
    }
    results
}
