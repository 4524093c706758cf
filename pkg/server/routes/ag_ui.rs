//! The AG-UI route.

use std::sync::Arc;

use axum::{extract::State, response::Response};
use serde::Deserialize;

use super::{
    chat::{sent_history, stored_for_owner},
    ui_request::message_key,
};
use crate::{
    Problem, Service,
    access::caller::RequestCaller,
    commands::{act::AgUiAct, outcome::ActOutcome},
    encode::AgUi,
    http::extract::{JsonBody, QueryParameters},
    input::{
        client_tools::{ClientTools, OfferedTool},
        ui_message::{InterruptAnswer, UiMessage},
    },
    lifecycle::start::StartRun,
    readers::until_wait::{ReadingQuery, answer},
    service::ServiceHandles,
};
use forgeline_types::Text;

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

pub(super) async fn begin(
    State(service): State<Service>,
    RequestCaller(caller): RequestCaller,
    QueryParameters(reading): QueryParameters<ReadingQuery>,
    JsonBody(input): JsonBody<RunAgentInput>,
) -> Result<Response, Problem> {
    let ServiceHandles { runs, lifecycle, readers, conversations, .. } = &*service.0;
    let RunAgentInput { thread_id, run_id, messages, tools, resume } = input;
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
        && !lifecycle.asks_person(run, &caller).await?
    {
        let guard = reading.guard(run);
        return answer(readers, Arc::clone(run), 0, encoder, guard).await;
    }
    let mut act = AgUiAct { resume, messages };
    let open = runs.open_run(&caller, &thread_id).await?;
    let waits = match open {
        None => None,
        Some(run) => match lifecycle.act_ag_ui(&run, &caller, &mut act).await? {
            ActOutcome::From(from) => {
                let guard = reading.guard(&run);
                return answer(readers, run, from, encoder, guard).await;
            }
            ActOutcome::Stored => return Err(stored_for_owner()),
            ActOutcome::Leaves => Some(run),
            ActOutcome::Done | ActOutcome::Seen(..) | ActOutcome::Works | ActOutcome::Ended => None,
        },
    };
    let AgUiAct { resume, mut messages } = act;
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
