//! The routes for vendors' clients, to which an agent is a model.

mod asked;
mod continued;
mod failed;
mod models;
mod responses;

use std::sync::Arc;

use axum::{
    extract::State,
    http::{HeaderName, HeaderValue, StatusCode},
    response::Response,
};
use tracing::Instrument as _;

use self::asked::{FrontAsked, SessionName};
use crate::{
    Problem, Service,
    commands::outcome::RunWait,
    encode::{AnswerStream, AnswerWhole, FrontProtocol},
    input::front_request::{AnswerForm, FrontInput, FrontRequest},
    lifecycle::start::StartRun,
    readers::until_wait,
    runs::{run::ServiceRun, run_guard::RunGuard},
    service::ServiceHandles,
};
use forgeline_llm::{
    gateway::{ClientProtocol as _, ClientRequest},
    openai::ChunkWriter,
};
use forgeline_types::Text;

pub(crate) use self::failed::with_vendor_errors;
pub(super) use self::{
    models::{list, show},
    responses::respond,
};

const RUN_ID: HeaderName = HeaderName::from_static("x-run-id");
const IGNORED: HeaderName = HeaderName::from_static("x-ignored-members");

/// Maximum length of the names of ignored members, in bytes.
const MAX_IGNORED_BYTES: usize = 1_000;

pub(super) async fn complete_chat(
    State(service): State<Service>,
    asked: FrontAsked,
) -> Result<Response, Problem> {
    let received = ChunkWriter::read_request(asked.body.get().as_bytes())?;
    answer::<ChunkWriter>(&service, asked, received).await
}

/// Answers a request: with the rest of the run whose calls it has the results of, or with a new run.
async fn answer<P: FrontProtocol>(
    service: &Service,
    asked: FrontAsked,
    received: ClientRequest,
) -> Result<Response, Problem> {
    let request = FrontRequest::new(received)?;
    let name = models::named(&service.0.agents, &request.model)?;
    let sent = request.sent_calls();
    let mut about = AnswerAbout {
        model: request.model.clone(),
        form: request.form,
        ignored: request.ignored.clone(),
        session: None,
    };
    if let Some(run) = continued::run_of_calls(service, &asked, &sent).await? {
        if asked.session != SessionName::None {
            about.session = Some(run.conversation.clone());
        }
        continued::give_results(service, &asked, &run, request).await?;
        let guard = asked.leaves().map(|leaves| leaves.guard(&run));
        return read::<P>(service, (run, guard), (about, sent)).await;
    }
    if !sent.is_empty() && !request.has_user_message() {
        return Err(continued::no_run(&sent));
    }
    let (run, guard) = begin(service, &asked, name, request).await?;
    if asked.session != SessionName::None {
        about.session = Some(run.conversation.clone());
    }
    read::<P>(service, (run, guard), (about, Vec::new())).await
}

/// A run, and what cancels it when its client disconnects.
type GuardedRun = (Arc<ServiceRun>, Option<RunGuard>);

/// Starts a run with the last messages of a request. A run whose client disconnects before it has begun is cancelled then.
async fn begin(
    service: &Service,
    asked: &FrontAsked,
    (agent, model): (Text, Option<Text>),
    request: FrontRequest,
) -> Result<GuardedRun, Problem> {
    let ServiceHandles { runs, lifecycle, conversations, instructions, .. } = &*service.0;
    let conversation = asked.session.conversation().cloned();
    let begins = match &conversation {
        Some(id) => !conversations.has_begun(&asked.caller, id).await?,
        None => true,
    };
    let tools = request.client_tools()?;
    let FrontInput { mut input, history } = request.input(*instructions, begins)?;
    if let Some(model) = model {
        input = input.model(model);
    }
    let mut waits = None;
    if let Some(id) = &conversation
        && let Some(run) = runs.open_run(&asked.caller, id).await?
    {
        // Whoever says something else leaves what the run asked.
        let (wait, _) = lifecycle.look_at(&run, &asked.caller, Vec::new()).await?;
        waits = (wait != RunWait::Nothing).then_some(run);
    }
    let start = StartRun {
        input,
        agent: Some(agent),
        conversation,
        tools,
        request: asked.request(),
        history,
        again: None,
    };
    let (caller, leaves, lifecycle) = (asked.caller.clone(), asked.leaves(), Arc::clone(lifecycle));
    let beginning = async move {
        let run = match waits {
            Some(waits) => lifecycle.begin_in_place(caller, start, (waits, Vec::new())).await?,
            None => lifecycle.begin(caller, start).await?,
        };
        let guard = leaves.map(|leaves| leaves.guard(&run));
        Ok((run, guard))
    };
    // The output of a task whose handle is gone is dropped, too.
    let begun = tokio::spawn(beginning.in_current_span()).await;
    let begun = begun.unwrap_or_else(|_| Err(Problem::busy("the run could not start", 5)));
    begun.map_err(models::not_found)
}

/// The facts of a request that its answer repeats.
struct AnswerAbout {
    model: Text,
    form: AnswerForm,
    ignored: Vec<String>,
    session: Option<Text>,
}

/// Reads a run, from after the results of these calls, until it ends or waits for the client.
async fn read<P: FrontProtocol>(
    service: &Service,
    (run, guard): GuardedRun,
    (about, sent): (AnswerAbout, Vec<Text>),
) -> Result<Response, Problem> {
    let readers = &service.0.readers;
    let (model, id) = (about.model.clone(), Text::from(run.id()));
    let mut response = match about.form {
        AnswerForm::Stream { include_usage } => {
            let encoder = AnswerStream::<P>::new(model).after(sent).include_usage(include_usage);
            until_wait::answer(readers, run, 0, encoder, guard).await?
        }
        AnswerForm::Whole => {
            let encoder = AnswerWhole::<P>::new(model, sent);
            match until_wait::whole(readers, run, encoder, guard).await? {
                Ok(body) => failed::json_response(StatusCode::OK, body),
                Err(error) => failed::response::<P>(&error),
            }
        }
    };
    let ignored = about.ignored.join(", ");
    let rows = [(RUN_ID, Some(id.as_str())), (asked::SESSION, about.session.as_deref())];
    let ignored = Some(ignored.as_str()).filter(|names| !names.is_empty());
    let ignored = ignored.filter(|names| names.len() <= MAX_IGNORED_BYTES);
    for (name, value) in rows.into_iter().chain([(IGNORED, ignored)]) {
        if let Some(Ok(value)) = value.map(HeaderValue::from_str) {
            response.headers_mut().insert(name, value);
        }
    }
    Ok(response)
}
