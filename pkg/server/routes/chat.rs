//! The chat routes for `useChat` of the AI SDK.

use std::sync::Arc;

use axum::{
    extract::{FromRequestParts, State},
    http::{HeaderName, HeaderValue, request::Parts},
    response::Response,
};

use super::{
    requests::not_permitted,
    ui_request::{
        AnsweredMessage, ChatRequest, ReaderAnswer, UiMessage, earlier_messages, history,
    },
};
use crate::{
    Problem, Service,
    access::caller::RequestCaller,
    conversations::directory::ConversationDirectory,
    encode::{ResponseNotice, UiMessageStream},
    http::extract::{JsonBody, PathParameters, QueryParameters},
    input::pending::PendingAnswer,
    lifecycle::{RunLifecycle, start::StartRun},
    readers::{
        body,
        context::ReaderContext,
        run_lookup::run_to_read,
        until_wait::{ReadingQuery, answer},
    },
    runs::{
        directory::RunDirectory,
        run::{ServiceRun, WaitsFor},
    },
    service::ServiceHandles,
};
use forgeline_agent as agent;
use forgeline_agent::private::RequestAnswer;
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
        let conversation = chat.conversation().unwrap_or_default();
        let run = runs.open_run(&caller, &conversation);
        let run = run.filter(|run| answered.run_id().is_none_or(|id| id == run.id()));
        let Some(run) = run else {
            return ended((runs, readers), &caller, (&conversation, client), &answered).await;
        };
        run.recovered().await?;
        let from = answered.next().unwrap_or_else(|| run.paused());
        // An invalid position is reported before anything is decided.
        readers.log.read(&run.key, from, 1).await?;
        let answers: Vec<_> = answered.answers().collect();
        for answer in &answers {
            check(&run, &caller, answer)?;
        }
        lifecycle
            .answer(&run, answers.into_iter().filter_map(|it| open(&run, it)).collect())
            .await?;
        let guard = reading.guard(&run);
        let encoder = client.encoder();
        let response = answer(readers, run, from, encoder, guard).await?;
        return Ok(marked(response, &conversation));
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
        Some(id) => waiting(runs, &caller, id).await?,
        None => None,
    };
    let answers = match (&waits, before) {
        (Some(run), Some(answered)) => answers_before(run, &caller, answered)?,
        _ => Vec::new(),
    };
    // A message after an answer to an open request has not started a run yet.
    let again = again.filter(|_| answers.is_empty());
    let request = request.map(|(name, _)| (name, 0));
    let of = (&conversation, &agent);
    let (history, notice) = sent_history(conversations, &caller, of, chat.earlier()).await?;
    let asked = StartRun { input, agent, conversation, tools, request, history, again };
    // A user who says something else leaves the other requests unanswered, and the next run would wait for them.
    let run = match waits {
        Some(waits) => lifecycle.begin_in_place(caller, asked, (waits, answers)).await?,
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
    (conversation, client): (&str, UiClient),
    answered: &AnsweredMessage,
) -> Result<Response, Problem> {
    let missing = || Problem::not_found("open run of the chat", conversation);
    let (id, from) = answered.run_id().zip(answered.next()).ok_or_else(missing)?;
    let run = run_to_read(runs, caller, id).await?;
    if run.conversation != *conversation || !run.has_ended() {
        return Err(missing());
    }
    let encoder = client.encoder();
    let response = answer(readers, run, from, encoder, None).await?;
    Ok(marked(response, conversation))
}

/// Returns the run of a chat that waits for its reader.
pub(super) async fn waiting(
    runs: &RunDirectory,
    caller: &agent::Caller,
    conversation: &str,
) -> Result<Option<Arc<ServiceRun>>, Problem> {
    let Some(run) = runs.open_run(caller, conversation) else { return Ok(None) };
    run.recovered().await?;
    Ok(Some(run).filter(|run| run.waits_for(WaitsFor::Anything)))
}

/// Returns the answers to open requests of a run that precede the user's message.
fn answers_before(
    run: &ServiceRun,
    caller: &agent::Caller,
    answered: AnsweredMessage,
) -> Result<Vec<PendingAnswer>, Problem> {
    if answered.run_id().is_some_and(|id| id != run.id()) {
        return Ok(Vec::new());
    }
    let answers: Vec<_> = answered.answers().collect();
    for answer in &answers {
        check(run, caller, answer)?;
    }
    Ok(answers.into_iter().filter_map(|it| open(run, it)).collect())
}

/// Refuses an answer whose caller may not use the tool. Every answer is checked before one is given.
fn check(run: &ServiceRun, caller: &agent::Caller, answer: &ReaderAnswer) -> Result<(), Problem> {
    match answer {
        ReaderAnswer::Decided { approval_id, .. }
            if !run.approvals.may_answer(approval_id, caller) =>
        {
            Err(not_permitted(approval_id))
        }
        ReaderAnswer::Decided { .. } => Ok(()),
        ReaderAnswer::Ran { tool_call_id, .. } => {
            let open = run.own_calls();
            let id = tool_call_id.find(&open).map(|call| &call.client_call_id);
            match id.filter(|id| !run.client_calls.may_complete(id, caller)) {
                Some(id) => Err(not_permitted(id)),
                None => Ok(()),
            }
        }
    }
}

/// Returns the answer to an open request of a run, with the request's id in that run; `None` if the request is no longer open, as messages keep old
/// answers.
fn open(run: &ServiceRun, answer: ReaderAnswer) -> Option<PendingAnswer> {
    match answer {
        ReaderAnswer::Decided { approval_id, decision } => {
            let open = run.approvals.open();
            let is_open = open.iter().any(|open| open.approval_id == approval_id);
            is_open.then(|| PendingAnswer::new(approval_id, RequestAnswer::Decided(decision)))
        }
        ReaderAnswer::Ran { tool_call_id, end } => {
            let open = run.own_calls();
            let call = tool_call_id.find(&open)?;
            Some(PendingAnswer::new(call.client_call_id.clone(), RequestAnswer::Returned(end)))
        }
    }
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
    let Some(run) = runs.open_run(&caller, &id) else { return Ok(body::nothing()) };
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
    for run in lifecycle.runs().runs_to_stop(&caller, &id) {
        lifecycle.cancel(&run).await?;
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
