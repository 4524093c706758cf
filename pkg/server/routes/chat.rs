//! The chat routes for `useChat` of the AI SDK.

use std::sync::Arc;

use axum::{
    extract::{FromRequestParts, State},
    http::{HeaderName, HeaderValue, request::Parts},
    response::Response,
};

use super::ui_request::{ChatRequest, earlier_messages, history};
use crate::{
    Problem, Service,
    access::caller::RequestCaller,
    commands::{
        act::{RunAct, SentAct},
        outcome::{ActOutcome, RunWait},
    },
    conversations::directory::ConversationDirectory,
    encode::{ResponseNotice, UiMessageStream},
    http::extract::{JsonBody, PathParameters, QueryParameters},
    input::{
        pending::PendingAnswer,
        ui_message::{AnsweredMessage, UiMessage},
    },
    lifecycle::{RunLifecycle, start::StartRun},
    readers::{
        body,
        context::ReaderContext,
        run_lookup::run_to_read,
        until_wait::{ReadingQuery, answer},
    },
    runs::{directory::RunDirectory, run::ServiceRun},
    service::ServiceHandles,
};
use forgeline_agent as agent;
use forgeline_types::{Message, Text};

/// The version of the AI SDK whose client asks, as far as the stream depends on it.
#[derive(Debug, Clone, Copy)]
pub(super) struct UiClient {
    major: u32,
}

/// The header in which a client tells its version.
const VERSION: HeaderName = HeaderName::from_static("x-ai-sdk-version");

/// The first version that knows the part `reset-step`; earlier ones break off at parts that they do not know.
const RESETS: u32 = 7;

impl UiClient {
    fn encoder(self) -> UiMessageStream {
        UiMessageStream::new().with_reset_step(self.major >= RESETS)
    }
}

impl<S: Send + Sync> FromRequestParts<S> for UiClient {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Problem> {
        let Some(version) = parts.headers.get(VERSION) else { return Ok(Self { major: 0 }) };
        let major = version.to_str().ok().and_then(|text| text.split('.').next()?.parse().ok());
        let wrong = || Problem::bad("`x-ai-sdk-version` must be a version such as `7` or `7.0.1`");
        major.map(|major| Self { major }).ok_or_else(wrong)
    }
}

pub(super) async fn begin(
    State(service): State<Service>,
    RequestCaller(caller): RequestCaller,
    QueryParameters(reading): QueryParameters<ReadingQuery>,
    client: UiClient,
    JsonBody(mut chat): JsonBody<ChatRequest>,
) -> Result<Response, Problem> {
    let ServiceHandles { runs, lifecycle, readers, conversations, .. } = &*service.0;
    let again = chat.again();
    if let Some(answered) = chat.answered().filter(|_| again.is_none()) {
        return go_on(&service, (&caller, &reading, client), &chat, answered).await;
    }
    let encoder = client.encoder();
    let key = chat.message_key(&reading).filter(|_| again.is_none());
    let request = match key {
        Some(key) => lifecycle.request_named(&caller, &key).await?,
        None => None,
    };
    // The same message again, such as one whose response was lost.
    if let Some((_, Some(run))) = &request {
        let (conversation, guard) = (run.conversation.clone(), reading.guard(run));
        let response = answer(readers, Arc::clone(run), 0, encoder, guard).await?;
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
        Some(id) => waiting((lifecycle, runs), &caller, id, before).await?,
        None => None,
    };
    let answers = waits.as_ref().map_or(&[][..], |(_, answers)| answers);
    // A message after an answer to an open request has not started a run yet.
    let again = again.filter(|_| answers.is_empty());
    let request = request.map(|(name, _)| (name, 0));
    let of = (&conversation, &agent);
    let (history, notice) = sent_history(conversations, &caller, of, chat.earlier()).await?;
    let asked = StartRun { input, agent, conversation, tools, request, history, again };
    // A user who says something else leaves the other requests unanswered, and the next run would wait for them.
    let run = match waits {
        Some(waits) => lifecycle.begin_in_place(caller, asked, waits).await?,
        None => lifecycle.begin(caller, asked).await?,
    };
    let (conversation, guard) = (run.conversation.clone(), reading.guard(&run));
    let response = answer(readers, run, 0, encoder.noting(notice), guard).await?;
    Ok(marked(response, &conversation))
}

/// Returns the earlier messages of a request with which a conversation begins in which nothing has been said, and the notice of those that are not read.
pub(super) async fn sent_history(
    conversations: &ConversationDirectory,
    caller: &agent::Caller,
    (id, agent): (&Option<Text>, &Option<Text>),
    messages: &[UiMessage],
) -> Result<(Vec<Message>, Option<ResponseNotice>), Problem> {
    let (Some(id), sent) = (id, history(messages)) else { return Ok((Vec::new(), None)) };
    if sent == 0 || conversations.has_begun(caller, id).await? {
        return Ok((Vec::new(), None));
    }
    let accepts_history = conversations.takes_history(agent.as_ref());
    let taken = if accepts_history { earlier_messages(messages) } else { Vec::new() };
    let messages = sent.saturating_sub(taken.len());
    let notice = (messages > 0).then_some(ResponseNotice::HistoryNotRead { messages });
    Ok((taken, notice))
}

/// Answers a page whose answer arrives after its run has ended, because another page answered first or no answer came in time: sends the rest of that run.
async fn ended(
    (runs, readers): (&RunDirectory, &ReaderContext),
    caller: &agent::Caller,
    (conversation, client, place): (&str, UiClient, Option<(&Text, u64)>),
) -> Result<Response, Problem> {
    let missing = || Problem::not_found("open run of the chat", conversation);
    let (id, from) = place.ok_or_else(missing)?;
    let run = run_to_read(runs, caller, id).await?;
    if run.conversation != *conversation || !run.has_ended() {
        return Err(missing());
    }
    let encoder = client.encoder();
    let response = answer(readers, run, from, encoder, None).await?;
    Ok(marked(response, conversation))
}

/// Answers open requests of the run of a chat, and reads on.
async fn go_on(
    service: &Service,
    (caller, reading, client): (&agent::Caller, &ReadingQuery, UiClient),
    chat: &ChatRequest,
    answered: AnsweredMessage,
) -> Result<Response, Problem> {
    let ServiceHandles { runs, lifecycle, readers, .. } = &*service.0;
    let conversation = chat.conversation().unwrap_or_default();
    let (id, next) = (answered.run_id().cloned(), answered.next());
    let run = runs.open_run(caller, &conversation).await?;
    let run = run.filter(|run| id.as_ref().is_none_or(|id| id == run.id()));
    let over = (conversation.as_str(), client, id.as_ref().zip(next));
    let Some(run) = run else { return ended((runs, readers), caller, over).await };
    let act = RunAct::Chat { next, answers: answered.answers().collect() };
    let from = match (lifecycle.act(&run, SentAct::new(caller, act), None).await?, next) {
        (ActOutcome::From(from), _) | (ActOutcome::Stored, Some(from)) => from,
        (ActOutcome::Stored, None) => return Err(stored_for_owner()),
        (
            ActOutcome::Done
            | ActOutcome::Seen(..)
            | ActOutcome::Leaves
            | ActOutcome::Works
            | ActOutcome::Ended,
            _,
        ) => return ended((runs, readers), caller, over).await,
    };
    let guard = reading.guard(&run);
    let response = answer(readers, run, from, client.encoder(), guard).await?;
    Ok(marked(response, &conversation))
}

/// Returns the response to a request whose answers are stored for the next owner of a run, which is not known to have read them.
pub(super) fn stored_for_owner() -> Problem {
    Problem::busy("the answers are stored, and the run goes on soon; send this again", 5)
}

/// Returns the run of a chat that waits for its reader, with the answers to its open requests that precede the user's message.
async fn waiting(
    (lifecycle, runs): (&Arc<RunLifecycle>, &RunDirectory),
    caller: &agent::Caller,
    conversation: &str,
    before: Option<AnsweredMessage>,
) -> Result<Option<(Arc<ServiceRun>, Vec<PendingAnswer>)>, Problem> {
    let Some(run) = runs.open_run(caller, conversation).await? else { return Ok(None) };
    let before = before.filter(|it| it.run_id().is_none_or(|id| id == run.id()));
    let answers = before.map(|answered| answered.answers().collect()).unwrap_or_default();
    let (wait, answers) = lifecycle.look_at(&run, caller, answers).await?;
    Ok((wait != RunWait::Nothing).then_some((run, answers)))
}

/// Reads the active run of a chat from its beginning.
pub(super) async fn resume(
    State(runs): State<Arc<RunDirectory>>,
    State(readers): State<ReaderContext>,
    RequestCaller(caller): RequestCaller,
    PathParameters(id): PathParameters<String>,
    QueryParameters(reading): QueryParameters<ReadingQuery>,
    client: UiClient,
) -> Result<Response, Problem> {
    let Some(run) = runs.open_run(&caller, &id).await? else { return Ok(body::nothing()) };
    let guard = reading.guard(&run);
    let encoder = client.encoder();
    let response = answer(&readers, run, 0, encoder, guard).await?;
    Ok(marked(response, &id))
}

/// Ends the active run of a chat; closing a connection does not.
pub(super) async fn stop(
    State(lifecycle): State<Arc<RunLifecycle>>,
    RequestCaller(caller): RequestCaller,
    PathParameters(id): PathParameters<String>,
) -> Result<Response, Problem> {
    for run in lifecycle.runs().runs_to_stop(&caller, &id).await? {
        lifecycle.act(&run, SentAct::new(&caller, RunAct::Cancel), None).await?;
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
