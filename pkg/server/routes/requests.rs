//! The routes that cancel, answer and steer an active run.

use std::sync::Arc;

use axum::{Json, extract::State, http::StatusCode};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::user_message::UserMessage;
use crate::{
    Problem,
    access::{caller::RequestCaller, control::AccessControl},
    http::{
        extract::{EmptyBody, JsonBody, PathParameters},
        object::JsonObject,
    },
    input::pending::{DeliveryTime, PendingAnswer, QueuedMessage},
    lifecycle::RunLifecycle,
};
use forgeline_agent::{approval::Decision, private::RequestAnswer};
use forgeline_store::private::now_ms;
use forgeline_types::{
    ClientFailure, ClientReturn, Json as Arguments, Message, MessageRole, Text, ToolAnswer,
};

/// The answer to an approval request.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ApprovalBody {
    #[schemars(with = "String")]
    approval_id: Text,
    decision: ApprovalAnswer,
    #[serde(default)]
    reason: String,
    #[schemars(with = "Option<serde_json::Map<String, Value>>")]
    arguments: Option<Arguments>,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum ApprovalAnswer {
    Grant,
    GrantAlways,
    Reject,
}

/// The result of a call at the client, or the reason for its failure.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CallResultBody {
    #[schemars(with = "String")]
    client_call_id: Text,
    #[schemars(with = "Option<CallContent>")]
    result: Option<JsonObject<CallContent>>,
    #[schemars(with = "Option<CallFailure>")]
    failure: Option<JsonObject<CallFailure>>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CallContent {
    content: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CallFailure {
    #[schemars(with = "String")]
    kind: ClientFailure,
    message: String,
}

/// A message to an active run, or the answer to a question of a tool.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SteerBody {
    input: Option<UserMessage>,
    #[serde(default)]
    when: DeliveryTime,
    #[schemars(with = "Option<String>")]
    question_id: Option<Text>,
    #[schemars(with = "Option<QuestionAnswer>")]
    answer: Option<JsonObject<QuestionAnswer>>,
}

/// The answer to a question.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct QuestionAnswer {
    action: QuestionAction,
    #[schemars(with = "Option<serde_json::Map<String, Value>>")]
    content: Option<Arguments>,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum QuestionAction {
    Accept,
    Decline,
    Cancel,
}

impl QuestionAnswer {
    fn into_answer(self) -> Result<ToolAnswer, Problem> {
        match (self.action, self.content) {
            (QuestionAction::Accept, Some(content)) => Ok(ToolAnswer::accept(content)),
            (QuestionAction::Decline, None) => Ok(ToolAnswer::Decline),
            (QuestionAction::Cancel, None) => Ok(ToolAnswer::Cancel),
            (QuestionAction::Accept, None) => {
                Err(Problem::bad("the action `accept` needs `content`: the fields of the form"))
            }
            (QuestionAction::Decline | QuestionAction::Cancel, Some(_)) => {
                Err(Problem::bad("`content` is allowed only with the action `accept`"))
            }
        }
    }
}

/// Returns the refusal of an answer whose caller may not use the tool; the request stays open.
pub(super) fn not_permitted(id: &str) -> Problem {
    let detail = format!(
        "this caller may not use the tool of `{id}`, which stays open; answer it with a token that may"
    );
    Problem::new(StatusCode::FORBIDDEN, "not_permitted", detail)
}

type StatusResult = Result<Json<Value>, Problem>;

fn done() -> Json<Value> {
    Json(json!({ "status": "ok" }))
}

pub(super) async fn cancel(
    State(lifecycle): State<Arc<RunLifecycle>>,
    RequestCaller(caller): RequestCaller,
    PathParameters(id): PathParameters<String>,
    _: EmptyBody,
) -> StatusResult {
    let run = lifecycle.runs().of_caller(&caller, &id).await?;
    lifecycle.cancel(&run).await?;
    Ok(done())
}

pub(super) async fn approve(
    State(lifecycle): State<Arc<RunLifecycle>>,
    RequestCaller(caller): RequestCaller,
    PathParameters(id): PathParameters<String>,
    JsonBody(ApprovalBody { approval_id, decision, reason, arguments }): JsonBody<ApprovalBody>,
) -> StatusResult {
    let run = lifecycle.runs().of_caller(&caller, &id).await?;
    let decision = match (decision, arguments) {
        (ApprovalAnswer::Grant, Some(arguments)) => Decision::grant_changed(arguments),
        (ApprovalAnswer::Grant, None) => Decision::Grant,
        (ApprovalAnswer::GrantAlways, None) => Decision::GrantAlways,
        (ApprovalAnswer::Reject, None) => Decision::reject(reason),
        (ApprovalAnswer::GrantAlways | ApprovalAnswer::Reject, Some(_)) => {
            return Err(Problem::bad(
                "changed `arguments` are allowed only with the decision `grant`",
            ));
        }
    };
    run.recovered_for(&approval_id).await?;
    if !run.approvals.open().iter().any(|request| request.approval_id == approval_id) {
        return Err(Problem::not_found("open request", &approval_id));
    }
    if !run.approvals.may_answer(&approval_id, &caller) {
        return Err(not_permitted(&approval_id));
    }
    lifecycle
        .answer(&run, vec![PendingAnswer::new(approval_id, RequestAnswer::Decided(decision))])
        .await?;
    Ok(done())
}

pub(super) async fn complete(
    State(lifecycle): State<Arc<RunLifecycle>>,
    RequestCaller(caller): RequestCaller,
    PathParameters(id): PathParameters<String>,
    JsonBody(CallResultBody { client_call_id, result, failure }): JsonBody<CallResultBody>,
) -> StatusResult {
    let end = match (result, failure) {
        (Some(JsonObject(CallContent { content })), None) => ClientReturn::from(content),
        (None, Some(JsonObject(CallFailure { kind, message }))) => {
            ClientReturn::failed(kind, message)
        }
        (Some(_), Some(_)) => {
            return Err(Problem::bad("send `result` or `failure`, not both"));
        }
        (None, None) => {
            return Err(Problem::bad(
                "send `result` with `content`, or `failure` with `kind` and `message`",
            ));
        }
    };
    let run = lifecycle.runs().of_caller(&caller, &id).await?;
    run.recovered_for(&client_call_id).await?;
    if !run.client_calls.open().iter().any(|call| call.client_call_id == client_call_id) {
        return Err(Problem::not_found("open call", &client_call_id));
    }
    if !run.client_calls.may_complete(&client_call_id, &caller) {
        return Err(not_permitted(&client_call_id));
    }
    lifecycle
        .answer(&run, vec![PendingAnswer::new(client_call_id, RequestAnswer::Returned(end))])
        .await?;
    Ok(done())
}

pub(super) async fn steer(
    State(access): State<Arc<AccessControl>>,
    State(lifecycle): State<Arc<RunLifecycle>>,
    RequestCaller(caller): RequestCaller,
    PathParameters(id): PathParameters<String>,
    JsonBody(SteerBody { input, when, question_id, answer }): JsonBody<SteerBody>,
) -> StatusResult {
    let run = lifecycle.runs().of_caller(&caller, &id).await?;
    let input = match (input, question_id, answer) {
        (Some(input), None, None) => input,
        (None, Some(question_id), Some(JsonObject(answer))) => {
            let answer = answer.into_answer()?;
            run.recovered_for(&question_id).await?;
            if !run.questions.open().iter().any(|open| open.question_id == question_id) {
                return Err(Problem::not_found("open question", &question_id));
            }
            lifecycle
                .answer(
                    &run,
                    vec![PendingAnswer::new(question_id, RequestAnswer::Answered(answer))],
                )
                .await?;
            return Ok(done());
        }
        _ => return Err(Problem::bad("send `input`, or `question_id` with `answer`")),
    };
    if run.has_ended() {
        return Err(Problem::not_found("open run", &id));
    }
    let message = Message::new(MessageRole::User, input.parts()?);
    access.limits().check_input(&message.text())?;
    lifecycle.steer(&run, QueuedMessage { when, message, at_ms: now_ms() }).await?;
    Ok(done())
}
