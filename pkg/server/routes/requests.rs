//! The routes that cancel, answer and steer an active run.

use axum::{Json, extract::State, http::StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};

use super::said::Said;
use crate::{
    agent::{Decision, Given},
    server::{
        Problem, Service,
        http::{
            extract::{Body, Caller, NoBody, Path},
            object::Object,
        },
        input::pending::{Answer as Kept, When, Word},
    },
    store::now_ms,
    types::{
        ClientFailure, ClientReturn, Json as Arguments, Message, MessageRole, Text, ToolAnswer,
    },
};

/// The answer to an approval request.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Approve {
    approval_id: Text,
    decision: Answer,
    #[serde(default)]
    reason: String,
    arguments: Option<Arguments>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Answer {
    Grant,
    GrantAlways,
    Reject,
}

/// The result of a call at the client, or the reason for its failure.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Complete {
    client_call_id: Text,
    result: Option<Object<Returned>>,
    failure: Option<Object<Failed>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Returned {
    content: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Failed {
    kind: ClientFailure,
    message: String,
}

/// A message to an active run, or the answer to a question of a tool.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Steer {
    input: Option<Said>,
    #[serde(default)]
    when: When,
    question_id: Option<Text>,
    answer: Option<Object<Answered>>,
}

/// The answer to a question.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Answered {
    action: Action,
    content: Option<Arguments>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Action {
    Accept,
    Decline,
    Cancel,
}

impl Answered {
    fn into_answer(self) -> Result<ToolAnswer, Problem> {
        match (self.action, self.content) {
            (Action::Accept, Some(content)) => Ok(ToolAnswer::Accept { content }),
            (Action::Decline, None) => Ok(ToolAnswer::Decline),
            (Action::Cancel, None) => Ok(ToolAnswer::Cancel),
            (Action::Accept, None) => {
                Err(Problem::bad("the action `accept` needs `content`: the fields of the form"))
            }
            (Action::Decline | Action::Cancel, Some(_)) => {
                Err(Problem::bad("`content` is allowed only with the action `accept`"))
            }
        }
    }
}

/// Returns the refusal of an answer whose caller may not use the tool; the request stays open.
pub(super) fn may_not(id: &str) -> Problem {
    let detail = format!(
        "this caller may not use the tool of `{id}`, which stays open; answer it with a token that may"
    );
    Problem::new(StatusCode::FORBIDDEN, "not_permitted", detail)
}

type Done = Result<Json<Value>, Problem>;

fn done() -> Json<Value> {
    Json(json!({ "status": "ok" }))
}

pub(super) async fn cancel(
    State(service): State<Service>,
    Caller(caller): Caller,
    Path(id): Path<String>,
    _: NoBody,
) -> Done {
    let run = service.run(&caller, &id).await?;
    service.cancel(&run).await?;
    Ok(done())
}

pub(super) async fn approve(
    State(service): State<Service>,
    Caller(caller): Caller,
    Path(id): Path<String>,
    Body(Approve { approval_id, decision, reason, arguments }): Body<Approve>,
) -> Done {
    let run = service.run(&caller, &id).await?;
    let decision = match (decision, arguments) {
        (Answer::Grant, Some(arguments)) => Decision::GrantChanged { arguments },
        (Answer::Grant, None) => Decision::Grant,
        (Answer::GrantAlways, None) => Decision::GrantAlways,
        (Answer::Reject, None) => Decision::reject(reason),
        (Answer::GrantAlways | Answer::Reject, Some(_)) => {
            return Err(Problem::bad(
                "changed `arguments` are allowed only with the decision `grant`",
            ));
        }
    };
    run.settled_for(&approval_id).await?;
    if !run.approvals.open().iter().any(|request| request.approval_id == approval_id) {
        return Err(Problem::not_found("open request", &approval_id));
    }
    if !run.approvals.may_answer(&approval_id, &caller) {
        return Err(may_not(&approval_id));
    }
    service.answer(&run, vec![Kept::new(approval_id, Given::Decided(decision))]).await?;
    Ok(done())
}

pub(super) async fn complete(
    State(service): State<Service>,
    Caller(caller): Caller,
    Path(id): Path<String>,
    Body(Complete { client_call_id, result, failure }): Body<Complete>,
) -> Done {
    let end = match (result, failure) {
        (Some(Object(Returned { content })), None) => ClientReturn::Result { content },
        (None, Some(Object(Failed { kind, message }))) => ClientReturn::failed(kind, message),
        (Some(_), Some(_)) => {
            return Err(Problem::bad("send `result` or `failure`, not both"));
        }
        (None, None) => {
            return Err(Problem::bad(
                "send `result` with `content`, or `failure` with `kind` and `message`",
            ));
        }
    };
    let run = service.run(&caller, &id).await?;
    run.settled_for(&client_call_id).await?;
    if !run.client_calls.open().iter().any(|call| call.client_call_id == client_call_id) {
        return Err(Problem::not_found("open call", &client_call_id));
    }
    if !run.client_calls.may_complete(&client_call_id, &caller) {
        return Err(may_not(&client_call_id));
    }
    service.answer(&run, vec![Kept::new(client_call_id, Given::Returned(end))]).await?;
    Ok(done())
}

pub(super) async fn steer(
    State(service): State<Service>,
    Caller(caller): Caller,
    Path(id): Path<String>,
    Body(Steer { input, when, question_id, answer }): Body<Steer>,
) -> Done {
    let run = service.run(&caller, &id).await?;
    let input = match (input, question_id, answer) {
        (Some(input), None, None) => input,
        (None, Some(question_id), Some(Object(answer))) => {
            let answer = answer.into_answer()?;
            run.settled_for(&question_id).await?;
            if !run.questions.open().iter().any(|open| open.question_id == question_id) {
                return Err(Problem::not_found("open question", &question_id));
            }
            service.answer(&run, vec![Kept::new(question_id, Given::Answered(answer))]).await?;
            return Ok(done());
        }
        _ => return Err(Problem::bad("send `input`, or `question_id` with `answer`")),
    };
    if run.has_ended() {
        return Err(Problem::not_found("open run", &id));
    }
    let message = Message::new(MessageRole::User, input.parts()?);
    service.usage().limits().check_input(&message.text())?;
    service.steer(&run, Word { when, message, at_ms: now_ms() }).await?;
    Ok(done())
}
