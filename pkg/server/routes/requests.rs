//! The routes that cancel, answer and steer an active run.

use std::sync::Arc;

use axum::{
    Json,
    extract::State,
    http::StatusCode,
    response::{IntoResponse as _, Response},
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    Problem,
    access::{caller::RequestCaller, control::AccessControl},
    commands::{
        act::{RunAct, SentAct},
        outcome::ActOutcome,
    },
    http::{
        extract::{EmptyBody, JsonBody, PathParameters, RequestKey},
        object::JsonObject,
    },
    input::{
        pending::{DeliveryTime, PendingAnswer},
        user_message::UserMessage,
    },
    lifecycle::RunLifecycle,
    runs::run::ServiceRun,
};
use forgeline_agent::{Caller, approval::Decision, private::RequestAnswer};
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

type StatusResult = Result<Response, Problem>;

/// Does something to a run; returns that it was done, or that it is stored for the next owner of the run.
async fn done(
    lifecycle: &Arc<RunLifecycle>,
    (caller, key): (&Caller, Option<Text>),
    run: &Arc<ServiceRun>,
    act: RunAct,
) -> StatusResult {
    let outcome = lifecycle.act(run, SentAct::new(caller, act), key).await?;
    let (status, word) = match outcome {
        ActOutcome::Stored => (StatusCode::ACCEPTED, "stored"),
        ActOutcome::Done
        | ActOutcome::From(_)
        | ActOutcome::Seen(..)
        | ActOutcome::Leaves
        | ActOutcome::Works
        | ActOutcome::Ended => (StatusCode::OK, "ok"),
    };
    Ok((status, Json(json!({ "status": word }))).into_response())
}

pub(super) async fn cancel(
    State(lifecycle): State<Arc<RunLifecycle>>,
    RequestCaller(caller): RequestCaller,
    RequestKey(key): RequestKey,
    PathParameters(id): PathParameters<String>,
    _: EmptyBody,
) -> StatusResult {
    let run = lifecycle.runs().of_caller(&caller, &id).await?;
    done(&lifecycle, (&caller, key), &run, RunAct::Cancel).await
}

pub(super) async fn approve(
    State(lifecycle): State<Arc<RunLifecycle>>,
    RequestCaller(caller): RequestCaller,
    RequestKey(key): RequestKey,
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
    let answer = PendingAnswer::new(approval_id, RequestAnswer::Decided(decision));
    done(&lifecycle, (&caller, key), &run, RunAct::Answer(answer)).await
}

pub(super) async fn complete(
    State(lifecycle): State<Arc<RunLifecycle>>,
    RequestCaller(caller): RequestCaller,
    RequestKey(key): RequestKey,
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
    let answer = PendingAnswer::new(client_call_id, RequestAnswer::Returned(end));
    done(&lifecycle, (&caller, key), &run, RunAct::Answer(answer)).await
}

pub(super) async fn steer(
    State(access): State<Arc<AccessControl>>,
    State(lifecycle): State<Arc<RunLifecycle>>,
    RequestCaller(caller): RequestCaller,
    RequestKey(key): RequestKey,
    PathParameters(id): PathParameters<String>,
    JsonBody(SteerBody { input, when, question_id, answer }): JsonBody<SteerBody>,
) -> StatusResult {
    let run = lifecycle.runs().of_caller(&caller, &id).await?;
    let act = match (input, question_id, answer) {
        // A run that has ended takes no message, whatever it says.
        (Some(_), None, None) if run.has_ended() && key.is_none() => {
            return Err(Problem::not_found("open run", &id));
        }
        (Some(input), None, None) => {
            let message = Message::new(MessageRole::User, input.parts()?);
            access.limits().check_input(&message.text())?;
            RunAct::Steer { when, message }
        }
        (None, Some(question_id), Some(JsonObject(answer))) => {
            let given = RequestAnswer::Answered(answer.into_answer()?);
            RunAct::Answer(PendingAnswer::new(question_id, given))
        }
        _ => return Err(Problem::bad("send `input`, or `question_id` with `answer`")),
    };
    done(&lifecycle, (&caller, key), &run, act).await
}
