//! The routes, each with its handler and its description.

use std::sync::LazyLock;

use axum::{
    http::header,
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use serde_json::Value;

use super::{
    ag_ui, agents, all_events, audit, chat, conversations, events, front, health, notifications,
    requests, runs, streams,
};
use crate::{
    Service,
    openapi::{
        ApiRoute, describe,
        schemas::{
            AgentsAnswer, AuditCheckAnswer, AuditRowsAnswer, ConversationAnswer,
            ConversationPageAnswer, ConversationsAnswer, DoneAnswer, HistoryAnswer,
            ListedModelAnswer, ModelsAnswer, NotifiedAnswer, ObjectSchema, ReadyAnswer, RunAnswer,
            RunsAnswer, StartedAnswer, ToolsAnswer,
        },
    },
};

const SSE: &str = "text/event-stream";
const AFTER: &str = "Continues after this event.";
const LAST_EVENT_ID: &str = "Continues after this event, in place of `after`.";
const ON_DISCONNECT: &str = "`cancel` ends the run when its reader disconnects.";
const LIMIT: &str = "The most entries, from 1 to 200; 50 by default.";
const TAKEN: &str = "It was taken, and is kept.";
const STORED: &str = "It is kept for the process that goes on with the run.";
const KEY: &str =
    "A second request with this key is not done again, on a store that several nodes share.";

type RouteTable = Vec<ApiRoute<Service>>;

/// Returns the routes without a query, which refuse one.
pub(super) fn without_query() -> RouteTable {
    vec![
        ApiRoute::get("/v1/openapi.json", show_description, "Returns this description.")
            .answers::<ObjectSchema>(200, "The description, OpenAPI 3.1."),
        ApiRoute::get("/v1/agents", agents::agents, "Lists the agents.")
            .answers::<AgentsAnswer>(200, "The agents."),
        ApiRoute::get("/v1/tools", agents::tools, "Lists the tools that the caller may use.")
            .answers::<ToolsAnswer>(200, "The tools."),
        ApiRoute::post(
            "/v1/notifications",
            notifications::notify,
            "Sends a notification to everyone in the caller's scope.",
        )
        .body::<notifications::NotificationBody>()
        .answers::<NotifiedAnswer>(202, "It was sent."),
        ApiRoute::post("/v1/runs", runs::begin, "Starts a run.")
            .header("Idempotency-Key", "A second request with this key returns the same run.")
            .body::<runs::RunBody>()
            .answers::<StartedAnswer>(202, "The run goes on, whoever reads it."),
        ApiRoute::get("/v1/runs/{id}", runs::show, "Returns the state of a run.")
            .answers::<RunAnswer>(200, "The run."),
        ApiRoute::post("/v1/runs/{id}/cancel", requests::cancel, "Cancels a run.")
            .header("Idempotency-Key", KEY)
            .answers::<DoneAnswer>(200, TAKEN)
            .answers::<DoneAnswer>(202, STORED),
        ApiRoute::post(
            "/v1/runs/{id}/approvals",
            requests::approve,
            "Decides about a call that waits for a person.",
        )
        .body::<requests::ApprovalBody>()
        .header("Idempotency-Key", KEY)
        .answers::<DoneAnswer>(200, TAKEN)
        .answers::<DoneAnswer>(202, STORED),
        ApiRoute::post(
            "/v1/runs/{id}/tool-results",
            requests::complete,
            "Gives the result of a call at the client.",
        )
        .body::<requests::CallResultBody>()
        .header("Idempotency-Key", KEY)
        .answers::<DoneAnswer>(200, TAKEN)
        .answers::<DoneAnswer>(202, STORED),
        ApiRoute::post(
            "/v1/runs/{id}/inputs",
            requests::steer,
            "Sends a message to a run in progress, or answers a tool's question.",
        )
        .body::<requests::SteerBody>()
        .header("Idempotency-Key", KEY)
        .answers::<DoneAnswer>(200, TAKEN)
        .answers::<DoneAnswer>(202, STORED),
    ]
}

/// Returns the other routes that need a caller.
pub(super) fn with_query() -> RouteTable {
    let mut routes = conversations();
    routes.push(
        ApiRoute::get("/v1/runs", runs::list, "Lists the runs of the caller.")
            .query("status", "Only those with this status; a page may have fewer than `limit`.")
            .query("agent", "Only those of this agent.")
            .query("conversation", "Only those of this conversation.")
            .query("since", "Only those that began at or after this time, in milliseconds since 1970.")
            .query("owner", "Those of another caller, or `*` for everyone in the scope: needs the permission `service.runs`.")
            .query("limit", LIMIT)
            .query("after", "The `next` of the page before.")
            .answers::<RunsAnswer>(200, "A page, newest first."),
    );
    routes.extend(readers());
    routes.extend(fronts());
    routes.extend(audited());
    routes.extend(streams());
    routes
}

fn conversations() -> RouteTable {
    let one = "/v1/conversations/{id}";
    vec![
        ApiRoute::get(
            "/v1/conversations",
            conversations::list,
            "Lists the conversations of the caller.",
        )
        .query("limit", LIMIT)
        .query("agent", "Only those with this agent.")
        .query("after", "The `next` of the page before.")
        .answers::<ConversationsAnswer>(200, "A page."),
        ApiRoute::get(
            one,
            conversations::show,
            "Returns a conversation and a page of its messages.",
        )
        .query("limit", LIMIT)
        .query("after", "The `next` of a page.")
        .query("before", "The `previous` of a page.")
        .answers::<ConversationPageAnswer>(200, "The conversation."),
        ApiRoute::patch(one, conversations::rename, "Renames a conversation.")
            .body::<conversations::TitleChange>()
            .answers::<ConversationAnswer>(200, "The conversation."),
        ApiRoute::delete(one, conversations::delete, "Deletes a conversation and its runs.")
            .answers_empty(204, "It is deleted."),
        ApiRoute::get(
            "/api/chat/history",
            conversations::history,
            "Lists the chats of the caller, or returns one with its last messages.",
        )
        .query("id", "The chat.")
        .query("limit", LIMIT)
        .query("agent", "Only those with this agent.")
        .query("after", "The `next` of a page.")
        .query("before", "The `previous` of a page.")
        .answers::<HistoryAnswer>(200, "A page."),
        ApiRoute::delete(
            "/api/chat/history",
            conversations::forget,
            "Deletes a chat and its runs.",
        )
        .query("id", "The chat.")
        .answers_empty(204, "It is deleted."),
    ]
}

/// Returns the routes of the audit rows.
fn audited() -> RouteTable {
    vec![
        ApiRoute::get("/v1/audit", audit::list, "Lists the audit rows of the caller's scope.")
            .query("type", "Only events of this type.")
            .query("source", "Only events that this part reports.")
            .query("actor", "Only events of this caller.")
            .query("since", "Only events at or after this time, in milliseconds since 1970.")
            .query("until", "Only events before this time, in milliseconds since 1970.")
            .query("limit", LIMIT)
            .query("after", "The `next` of the page before.")
            .answers::<AuditRowsAnswer>(200, "A page, newest first."),
        ApiRoute::get(
            "/v1/audit/export",
            audit::export,
            "Streams all audit rows of the caller's scope, oldest first.",
        )
        .answers_as(
            200,
            "A line with the ends of the chain, then one for each row.",
            "application/jsonl",
        ),
        ApiRoute::get(
            "/v1/audit/verify",
            audit::verify,
            "Checks the chain of the audit rows of the caller's scope.",
        )
        .query("next", "The `next` of an earlier check, from which to go on.")
        .query("hash", "The `hash` of that check.")
        .answers::<AuditCheckAnswer>(200, "What was found."),
    ]
}

fn readers() -> RouteTable {
    let resumed = "/api/chat/{id}/stream";
    vec![
        ApiRoute::get("/metrics", health::metrics, "Returns counters for Prometheus.").answers_as(
            200,
            "The counters.",
            "text/plain",
        ),
        ApiRoute::get("/dev/latency", health::latency, "Returns the latencies of the last hour.")
            .answers::<ObjectSchema>(200, "The latencies."),
        ApiRoute::get(
            "/v1/events",
            all_events::follow_scope,
            "Streams everything that the caller may see.",
        )
        .query("after", AFTER)
        .header("Last-Event-ID", LAST_EVENT_ID)
        .answers_as(200, "The events, as they come.", SSE),
        ApiRoute::get("/v1/runs/{id}/events", events::follow_run, "Streams the events of a run.")
            .query("after", AFTER)
            .query("on_disconnect", ON_DISCONNECT)
            .header("Last-Event-ID", LAST_EVENT_ID)
            .answers_as(200, "The events, as they come, to the end of the run.", SSE)
            .answers_empty(204, "The run has ended, and its events have been read."),
        ApiRoute::post("/api/chat", chat::begin, "Sends a message of a chat, for `useChat`.")
            .query("agent", "The agent.")
            .query("model", "One of the models of the agent.")
            .query("on_disconnect", ON_DISCONNECT)
            .header("x-ai-sdk-version", "The version of the AI SDK whose client asks.")
            .body::<ObjectSchema>()
            .answers_as(200, "The UI message stream, version 1.", SSE),
        ApiRoute::get(resumed, chat::resume, "Resumes the stream of a chat.")
            .query("on_disconnect", ON_DISCONNECT)
            .header("x-ai-sdk-version", "The version of the AI SDK whose client asks.")
            .answers_as(200, "The UI message stream, version 1.", SSE)
            .answers_empty(204, "There is nothing to resume."),
        ApiRoute::delete(resumed, chat::stop, "Ends the run of a chat.")
            .answers_empty(204, "It ends, if there is one."),
        ApiRoute::post("/agui", ag_ui::begin, "Runs an agent for an AG-UI client.")
            .query("agent", "The agent.")
            .query("model", "One of the models of the agent.")
            .query("on_disconnect", ON_DISCONNECT)
            .body::<ObjectSchema>()
            .answers_as(200, "The events of AG-UI 1.0.", SSE),
    ]
}

/// Returns the routes for vendors' clients, whose errors have the vendor's form.
fn fronts() -> RouteTable {
    let asks = |route: ApiRoute<Service>| {
        route
            .query("on_disconnect", "`cancel`, the default without a key, or `continue`.")
            .header("x-session-id", "The conversation, or `new`; without it, the messages are all.")
            .header("Idempotency-Key", "A second request with this key reads the same run.")
            .body::<ObjectSchema>()
            .answers::<ObjectSchema>(200, "The answer, or its stream.")
            .answers_as(200, "The answer, or its stream.", SSE)
            .vendor_errors()
    };
    vec![
        asks(ApiRoute::post(
            "/v1/chat/completions",
            front::complete_chat,
            "Runs an agent for a client of OpenAI's Chat Completions.",
        )),
        asks(ApiRoute::post(
            "/v1/responses",
            front::respond,
            "Runs an agent for a client of OpenAI's Responses.",
        )),
        ApiRoute::get("/v1/models", front::list, "Lists the agents as models.")
            .answers::<ModelsAnswer>(200, "The models.")
            .vendor_errors(),
        ApiRoute::get("/v1/models/{*id}", front::show, "Returns an agent as a model.")
            .answers::<ListedModelAnswer>(200, "The model.")
            .vendor_errors(),
    ]
}

/// Returns the routes of Durable Streams, whose bodies have the type that their creator chose.
fn streams() -> RouteTable {
    let (run, stream) = ("/v1/runs/{id}/stream", "/v1/streams/{*name}");
    let read = |route: ApiRoute<Service>| {
        route
            .query("offset", "Reads from here: an offset of a response, `-1` or `now`.")
            .query("live", "`long-poll` or `sse`.")
            .query("cursor", "The cursor of the response before.")
    };
    let run_query = |route: ApiRoute<Service>| {
        route.query("as", "`ag-ui` encodes the run as AG-UI.").query("on_disconnect", ON_DISCONNECT)
    };
    vec![
        run_query(read(ApiRoute::get(run, streams::read_run, "Reads a run as a Durable Stream.")))
            .answers_as(200, "A part of the stream.", "*/*")
            .answers_empty(204, "Nothing came in time.")
            .answers_empty(304, "It has not changed."),
        run_query(read(ApiRoute::head(
            run,
            streams::show_run,
            "Returns the state of a run's stream.",
        )))
        .answers_empty(200, "The state, in headers."),
        ApiRoute::options(run, streams::preflight, "Answers a preflight request.")
            .answers_empty(204, "What is allowed."),
        read(ApiRoute::get(stream, streams::read_stream, "Reads a stream."))
            .answers_as(200, "A part of the stream.", "*/*")
            .answers_empty(204, "Nothing came in time.")
            .answers_empty(304, "It has not changed."),
        ApiRoute::head(stream, streams::show, "Returns the state of a stream.")
            .answers_empty(200, "The state, in headers."),
        ApiRoute::put(stream, streams::create, "Creates a stream.")
            .bytes()
            .answers_empty(200, "It exists with the same settings.")
            .answers_empty(201, "It is created."),
        ApiRoute::post(stream, streams::append, "Appends to a stream, or closes it.")
            .bytes()
            .answers_empty(200, "It was appended.")
            .answers_empty(204, "It was appended, or had been before."),
        ApiRoute::delete(stream, streams::remove, "Deletes a stream.")
            .answers_empty(204, "It is deleted."),
        ApiRoute::options(stream, streams::preflight, "Answers a preflight request.")
            .answers_empty(204, "What is allowed."),
    ]
}

/// Returns the routes that need no caller.
pub(super) fn open() -> RouteTable {
    vec![
        ApiRoute::get("/ready", health::ready, "Tells whether the service is ready.")
            .answers::<ReadyAnswer>(200, "It is ready.")
            .answers::<ReadyAnswer>(503, "It is not ready, or ends.")
            .open(),
        ApiRoute::get("/health", health::alive, "Tells that the process answers.")
            .answers::<DoneAnswer>(200, "It answers.")
            .open(),
    ]
}

static DESCRIPTION: LazyLock<Bytes> = LazyLock::new(|| openapi().to_string().into());

/// Returns the description of the routes of [`router`](crate::router), an `OpenAPI` 3.1 document, which the service has at `/v1/openapi.json`. The files of the
/// console are not in it.
///
/// # Examples
///
/// ```
/// let description = forgeline::server::openapi();
/// assert_eq!(description["paths"]["/v1/runs"]["post"]["summary"], "Starts a run.");
/// ```
#[must_use]
pub fn openapi() -> Value {
    let mut routes = without_query();
    routes.extend(with_query());
    routes.extend(open());
    describe(&routes)
}

async fn show_description() -> Response {
    ([(header::CONTENT_TYPE, "application/json")], DESCRIPTION.clone()).into_response()
}
