//! AG-UI.

use axum::{extract::State, response::Response};
use serde::Deserialize;

use super::chat::UiMessage;
use crate::{
    agent::RunInput,
    server::{
        Problem, Service, body,
        encode::AgUi,
        extract::{Body, Caller},
        service::Asked,
    },
    types::Text,
};

/// The input of an agent; it may have more.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RunAgentInput {
    thread_id: Text,
    #[serde(default)]
    messages: Vec<UiMessage>,
}

pub(super) async fn begin(
    State(service): State<Service>,
    Caller(caller): Caller,
    Body(input): Body<RunAgentInput>,
) -> Result<Response, Problem> {
    let RunAgentInput { thread_id, mut messages } = input;
    let Some(said) = messages.pop().and_then(UiMessage::said) else {
        return Err(Problem::bad("the last of `messages` must be a text of the user"));
    };
    let conversation = Some(thread_id.clone());
    let asked = Asked { input: RunInput::from(said), agent: None, conversation, request: None };
    let run = service.begin(caller, asked).await?;
    Ok(body::answer(&service, run.key.clone(), 0, AgUi::new(thread_id)))
}
