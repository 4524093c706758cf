//! The requests of AG-UI clients to a run that works on this node.

use std::sync::Arc;

use axum::http::StatusCode;
use serde_json::Value;

use super::RunLifecycle;
use crate::{
    Problem,
    commands::{act::AgUiAct, outcome::ActOutcome},
    input::{
        pending::{DeliveryTime, PendingAnswer, QueuedMessage},
        ui_message::{InterruptAnswer, InterruptStatus, UiCallId, UiMessage, decided},
    },
    problem::MAX_SHOWN,
    runs::run::{ServiceRun, WaitsFor},
};
use forgeline_agent::{Caller, approval::Decision, private::RequestAnswer};
use forgeline_types::{
    ClientReturn, Json, Message, MessageRole, Text, ToolAnswer, private::clipped,
};

impl RunLifecycle {
    /// Gives a run that waits the answers and the message of an AG-UI client. Takes nothing from `act` if the run does not wait, or if the client says
    /// something else instead.
    pub(super) async fn ag_ui_here(
        self: &Arc<Self>,
        run: &Arc<ServiceRun>,
        (caller, at_ms): (&Caller, u64),
        act: &mut AgUiAct,
        command: Option<u64>,
    ) -> Result<ActOutcome, Problem> {
        run.recovered().await?;
        if !run.waits_for(WaitsFor::Anything) {
            return Ok(ActOutcome::Works);
        }
        if act.resume.is_empty() && leaves(run, &act.messages) {
            return Ok(ActOutcome::Leaves);
        }
        let AgUiAct { resume, mut messages } = std::mem::take(act);
        let is_said = messages.last().is_some_and(UiMessage::is_users);
        // Takes all of them or none.
        for (at, InterruptAnswer { interrupt_id, .. }) in resume.iter().enumerate() {
            if resume.iter().skip(at + 1).any(|other| other.interrupt_id == *interrupt_id) {
                let id = clipped(interrupt_id, MAX_SHOWN);
                return Err(Problem::bad(format!("`resume` answers `{id}` twice")));
            }
        }
        let answers: Result<Vec<_>, _> =
            resume.into_iter().map(|it| parse_resume(run, it)).collect();
        let answers = answers?;
        let word = user_message(new_user_messages(self, run, &mut messages).await?)?;
        let results = results(run, messages);
        let decided = |answer: &&PendingAnswer| matches!(answer.given, RequestAnswer::Decided(_));
        let mut decided = answers.iter().filter(decided).map(|answer| &answer.id);
        if let Some(id) = decided.find(|id| !run.approvals.may_answer(id, caller)) {
            return Err(Problem::not_permitted(id));
        }
        let refused = results.iter().find(|(id, _)| !run.client_calls.may_complete(id, caller));
        if let Some((id, _)) = refused {
            return Err(Problem::not_permitted(id));
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
            self.usage.limits().check_input(&message.text())?;
            let word = QueuedMessage { when: DeliveryTime::Next, message, at_ms };
            self.answer_and_steer(run, (caller, answers), word, command).await?;
        } else {
            self.answer(run, (caller, answers), command).await?;
        }
        Ok(ActOutcome::From(run.paused()))
    }
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
