//! The route for clients of OpenAI's Responses.

use axum::{extract::State, http::StatusCode, response::Response};
use serde::Deserialize;

use super::{
    answer,
    asked::{FrontAsked, SessionName},
};
use crate::{Problem, Service, encode::FrontProtocol as _, problem::MAX_SHOWN};
use forgeline_llm::{
    gateway::ClientProtocol as _,
    responses::{ResponseWriter, read_stored_request},
};
use forgeline_types::{
    Json, Message, MessageRole, Part, Text, ToolCall, Transcript, private::clipped,
};

/// The members of a request that refer to an earlier response.
#[derive(Debug, Default, Deserialize)]
struct EarlierParts {
    previous_response_id: Option<String>,
    #[serde(default)]
    input: EarlierInput,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum EarlierInput {
    Items(Vec<EarlierInputItem>),
    /// A text, or something that is refused when the request is read.
    Other(serde::de::IgnoredAny),
}

#[derive(Debug, Deserialize)]
struct EarlierInputItem {
    r#type: Option<String>,
    call_id: Option<Text>,
}

impl Default for EarlierInput {
    fn default() -> Self {
        Self::Items(Vec::new())
    }
}

pub(in crate::routes) async fn respond(
    State(service): State<Service>,
    mut asked: FrontAsked,
) -> Result<Response, Problem> {
    let body = asked.body.get().to_owned();
    let earlier = serde_json::from_str::<EarlierParts>(&body).unwrap_or_default();
    let Some(id) = earlier.previous_response_id else {
        let received = ResponseWriter::read_request(body.as_bytes())?;
        return answer::<ResponseWriter>(&service, asked, received).await;
    };
    let conversation = conversation_of(&service, &asked, &id).await?;
    let is_other = match &asked.session {
        SessionName::None => false,
        SessionName::New => true,
        SessionName::Named(session) => *session != conversation,
    };
    if is_other {
        let detail = "`previous_response_id` is of another conversation than `x-session-id` names";
        return Err(Problem::bad(detail).with("param", "previous_response_id"));
    }
    asked.session = SessionName::Named(conversation);
    // The conversation has the calls; here they need no more than their ids.
    let called = calls_of(earlier.input);
    let received = read_stored_request(body.as_bytes(), |_| Some(called))?;
    answer::<ResponseWriter>(&service, asked, received).await
}

/// Returns the conversation of an earlier response, which belongs to the caller.
async fn conversation_of(service: &Service, asked: &FrontAsked, id: &str) -> Result<Text, Problem> {
    let unknown = || {
        let id = clipped(id, MAX_SHOWN);
        let detail = format!("there is no response `{id}`; send the whole input instead");
        let status = StatusCode::BAD_REQUEST;
        let problem = Problem::new(status, "previous_response_not_found", detail);
        problem.with("param", "previous_response_id")
    };
    let run = id.strip_prefix(ResponseWriter::ID_PREFIX).ok_or_else(unknown)?;
    match service.0.runs.of_caller(&asked.caller, run).await {
        Ok(run) => Ok(run.conversation.clone()),
        Err(problem) if problem.is_not_found() => Err(unknown()),
        Err(problem) => Err(problem),
    }
}

/// Returns a message of the model with the calls whose results these items have.
fn calls_of(items: EarlierInput) -> Transcript {
    let EarlierInput::Items(items) = items else { return Transcript::default() };
    let results = items
        .into_iter()
        .filter(|item| item.r#type.as_deref().is_some_and(|kind| kind == "function_call_output"));
    let arguments = || Json::parse("{}").ok();
    let calls: Vec<_> = results
        .filter_map(|item| Some(ToolCall::new(item.call_id?, "call", arguments()?)))
        .map(Part::ToolCall)
        .collect();
    if calls.is_empty() {
        return Transcript::default();
    }
    Transcript::from(vec![Message::new(MessageRole::Assistant, calls)])
}
