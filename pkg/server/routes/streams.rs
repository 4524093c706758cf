//! The routes of streams.

use std::sync::Arc;

use axum::{
    body::Body,
    extract::{OriginalUri, Request, State},
    http::{HeaderMap, HeaderValue, StatusCode, Uri, header, uri::Authority},
    response::{IntoResponse as _, Response},
};
use serde::Deserialize;

use crate::{
    Problem,
    access::{caller::RequestCaller, scope::scope},
    durable::{
        HostStreams,
        append::{AppendVerdict, StreamAppend},
        body,
        config::StreamConfig,
        headers,
        offset::{ReadStart, StreamOffset, of_run},
        page::StreamReader,
        read::{LiveMode, ReadRequest, answer},
        source::MessageSource,
        state,
        streams::key,
    },
    encode::AgUi,
    http::{
        extract::{PathParameters, QueryParameters, unknown_query},
        ids::check_id,
    },
    readers::{
        context::ReaderContext, run_lookup::run_to_read, shared_reader::SharedReader,
        until_wait::DisconnectAction,
    },
    retention::DataRetention,
    runs::{directory::RunDirectory, record_stream::page, run::ServiceRun},
};
use forgeline_agent as agent;
use forgeline_store::{EventLog, LogKey, StoreError};

type StreamResponse = Result<Response, Problem>;
type QueryPairs = QueryParameters<Vec<(String, String)>>;

fn log_key(caller: &agent::Caller, name: &str) -> Result<LogKey, Problem> {
    check_id("the stream name", name)?;
    Ok(key(&scope(caller), name))
}

pub(super) async fn create(
    State(streams): State<Arc<HostStreams>>,
    State(retention): State<Arc<DataRetention>>,
    RequestCaller(caller): RequestCaller,
    PathParameters(name): PathParameters<String>,
    OriginalUri(uri): OriginalUri,
    request: Request,
) -> StreamResponse {
    let key = log_key(&caller, &name)?;
    headers::refuse_forks(request.headers())?;
    let config = StreamConfig::parse(request.headers())?;
    let closes = headers::is_closed(request.headers())?;
    let location = location(request.headers(), &uri);
    let data = body::read_body(request).await?;
    retention.start_sweeping();
    let (state, is_new) = streams.create((&key, &caller.id), config, &data, closes).await?;
    let mut response = shown(&state);
    if is_new {
        *response.status_mut() = StatusCode::CREATED;
        headers::set(response.headers_mut(), header::LOCATION, &location);
    }
    Ok(response)
}

/// Returns the URL of a new stream as its client sees it: with the host of the request, and `https` if a proxy reports it. The path is the one before
/// routes were nested.
fn location(fields: &HeaderMap, uri: &Uri) -> String {
    let text = |name: &str| fields.get(name).and_then(|value| value.to_str().ok());
    let host = text("host").or_else(|| uri.authority().map(Authority::as_str));
    let proxied = text("x-forwarded-proto").or_else(|| uri.scheme_str());
    let is_secure = proxied.is_some_and(|it| it.trim().eq_ignore_ascii_case("https"));
    let scheme = if is_secure { "https" } else { "http" };
    host.map_or_else(|| uri.path().to_owned(), |host| format!("{scheme}://{host}{}", uri.path()))
}

pub(super) async fn append(
    State(streams): State<Arc<HostStreams>>,
    RequestCaller(caller): RequestCaller,
    PathParameters(name): PathParameters<String>,
    request: Request,
) -> StreamResponse {
    let key = log_key(&caller, &name)?;
    let fields = request.headers().clone();
    let data = body::read_body(request).await?;
    // A missing stream is reported before an invalid append.
    streams.open(&key).await?;
    let append = StreamAppend::parse(&fields, data)?;
    let (state, verdict) = streams.append(&key, &append).await?;
    let conflict =
        |code, detail: &str| Problem::new(StatusCode::CONFLICT, code, detail).into_response();
    let mut response = match verdict {
        AppendVerdict::Append(_) if append.producer().is_some() && append.has_data() => {
            StatusCode::OK.into_response()
        }
        AppendVerdict::Append(_) | AppendVerdict::Repeated => {
            StatusCode::NO_CONTENT.into_response()
        }
        AppendVerdict::Stale(epoch) => {
            let detail = format!("the producer is already in epoch {epoch}");
            let problem = Problem::new(StatusCode::FORBIDDEN, "stale_epoch", detail);
            problem.into_response()
        }
        AppendVerdict::Gap { expected, received } => {
            let mut response =
                conflict("producer_gap", "earlier appends of the producer are missing");
            headers::set(response.headers_mut(), headers::EXPECTED_SEQ, &expected);
            headers::set(response.headers_mut(), headers::RECEIVED_SEQ, &received);
            response
        }
        AppendVerdict::Closed => {
            conflict("stream_closed", "the stream is closed; no data can be appended")
        }
        AppendVerdict::Refused(problem) => return Err(problem),
    };
    let fields = response.headers_mut();
    if let Some(place) = append.producer().and_then(|id| state.producers.get(id)) {
        headers::set(fields, headers::PRODUCER_EPOCH, &place.epoch);
        headers::set(fields, headers::PRODUCER_SEQ, &place.seq);
    }
    set_position(&state, fields);
    Ok(response)
}

pub(super) async fn read_stream(
    State(streams): State<Arc<HostStreams>>,
    State(readers): State<ReaderContext>,
    RequestCaller(caller): RequestCaller,
    PathParameters(name): PathParameters<String>,
    QueryParameters(query): QueryPairs,
    fields: HeaderMap,
) -> StreamResponse {
    let key = log_key(&caller, &name)?;
    let state = streams.open(&key).await?;
    let asked = ReadRequest::parse(&query)?;
    if query.iter().any(|(name, _)| name == "on_disconnect") {
        return Err(Problem::bad("`on_disconnect` is for readers of a run; this is a stream"));
    }
    let from = match asked.start {
        None | Some(ReadStart::Beginning) => 0,
        Some(ReadStart::Now) => state.end,
        Some(ReadStart::At(StreamOffset { created, number })) if created == state.created => number,
        Some(ReadStart::At(StreamOffset { created, .. })) if created < state.created => {
            let detail = format!(
                "stream `{name}` was deleted and created again; read it from the beginning"
            );
            return Err(Problem::new(StatusCode::GONE, "stream_gone", detail));
        }
        Some(ReadStart::At(_)) => {
            return Err(Problem::bad("`offset` does not belong to this stream"));
        }
    };
    let source = MessageSource::Stream(state.config.clone());
    let reader =
        StreamReader::open(Arc::clone(&readers.log), (key, state.created), source, from, None)
            .await?
            .of_shared(streams.is_shared());
    answer(reader, asked, &fields, (readers.long_poll, readers.ends), None).await
}

pub(super) async fn show(
    State(streams): State<Arc<HostStreams>>,
    RequestCaller(caller): RequestCaller,
    PathParameters(name): PathParameters<String>,
) -> StreamResponse {
    let key = log_key(&caller, &name)?;
    let state = streams.find(&key).await?;
    let state = state.ok_or_else(|| Problem::not_found("stream", &name))?;
    Ok(shown(&state))
}

pub(super) async fn remove(
    State(streams): State<Arc<HostStreams>>,
    RequestCaller(caller): RequestCaller,
    PathParameters(name): PathParameters<String>,
) -> StreamResponse {
    streams.remove(&log_key(&caller, &name)?).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// Answers a CORS preflight request. The response names no origin, so that none is allowed.
pub(super) async fn preflight() -> Response {
    let mut response = StatusCode::NO_CONTENT.into_response();
    let fields = response.headers_mut();
    let methods = HeaderValue::from_static("GET, HEAD, PUT, POST, DELETE");
    fields.insert(header::ACCESS_CONTROL_ALLOW_METHODS, methods);
    let names = HeaderValue::from_static(
        "authorization, content-type, if-none-match, producer-epoch, producer-id, producer-seq, stream-closed, stream-expires-at, stream-seq, stream-ttl",
    );
    fields.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, names);
    response
}

/// The members of the query of a run that is read as a stream.
const RUN_QUERY: [&str; 5] = ["as", "on_disconnect", "offset", "live", "cursor"];

/// The protocol in which a run is read, and the action on the run when its reader disconnects.
#[derive(Debug, Default, Deserialize)]
pub(super) struct ProtocolQuery {
    #[serde(rename = "as")]
    protocol: Option<String>,
    on_disconnect: Option<DisconnectAction>,
}

#[expect(clippy::too_many_arguments, reason = "axum extracts each")]
pub(super) async fn read_run(
    State(runs): State<Arc<RunDirectory>>,
    State(streams): State<Arc<HostStreams>>,
    State(readers): State<ReaderContext>,
    RequestCaller(caller): RequestCaller,
    PathParameters(id): PathParameters<String>,
    QueryParameters(ProtocolQuery { protocol, on_disconnect }): QueryParameters<ProtocolQuery>,
    QueryParameters(query): QueryPairs,
    fields: HeaderMap,
) -> StreamResponse {
    let other = query.iter().find(|(name, _)| !RUN_QUERY.contains(&name.as_str()));
    if let Some((name, _)) = other {
        return Err(unknown_query(name, &RUN_QUERY));
    }
    let run = run_to_read(&runs, &caller, &id).await?;
    let source = match protocol.as_deref() {
        None | Some("native") => MessageSource::Run(Arc::clone(&run)),
        Some("ag-ui") => {
            let encoder = AgUi::new(run.conversation.clone());
            MessageSource::AgUi(Box::new(encoder), SharedReader::enter(&run))
        }
        Some(_) => return Err(Problem::bad("`as` must be `native` or `ag-ui`")),
    };
    let asked = ReadRequest::parse(&query)?;
    let from = match asked.start {
        None | Some(ReadStart::Beginning) => 0,
        Some(ReadStart::Now) => run_end(&*readers.log, &run).await?.0,
        Some(ReadStart::At(StreamOffset { created, number })) if created == of_run(&id) => number,
        Some(ReadStart::At(_)) => return Err(Problem::bad("`offset` does not belong to this run")),
    };
    if on_disconnect.is_some() && asked.live != LiveMode::Sse {
        let detail = "`on_disconnect` needs `live=sse`: the reader of a page disconnects once it has the page";
        return Err(Problem::bad(detail));
    }
    let past = source.has_past().then(|| streams.past());
    let key = (run.key.clone(), of_run(&id));
    let reader = StreamReader::open(Arc::clone(&readers.log), key, source, from, past).await?;
    let guard = on_disconnect.map(|leave| leave.guard(&run));
    answer(reader, asked, &fields, (readers.long_poll, readers.ends), guard).await
}

pub(super) async fn show_run(
    State(runs): State<Arc<RunDirectory>>,
    RequestCaller(caller): RequestCaller,
    PathParameters(id): PathParameters<String>,
) -> StreamResponse {
    let run = run_to_read(&runs, &caller, &id).await?;
    let (number, is_closed) = run_end(&*runs.log(), &run).await?;
    let mut response = StatusCode::OK.into_response();
    let fields = response.headers_mut();
    headers::set(fields, header::CONTENT_TYPE, &"application/json");
    headers::set(fields, headers::NEXT_OFFSET, &StreamOffset { created: of_run(&id), number });
    fields.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if is_closed {
        fields.insert(headers::CLOSED, HeaderValue::from_static("true"));
    }
    Ok(response)
}

/// Returns the number after the last event of a run, and whether the run has ended, without reading the earlier events.
async fn run_end(log: &dyn EventLog, run: &ServiceRun) -> Result<(u64, bool), Problem> {
    let mut at = match log.read(&run.key, u64::MAX, 1).await {
        Err(StoreError::Behind { end, .. }) => end,
        page => page?.next,
    };
    loop {
        let page = page(log, run, at, 64).await?;
        if page.is_end || page.records.is_empty() {
            return Ok((page.next, page.is_end));
        }
        at = page.next;
    }
}

/// Returns a response without a body that describes a stream.
fn shown(state: &state::StreamState) -> Response {
    let mut response = Response::new(Body::empty());
    let fields = response.headers_mut();
    headers::set(fields, header::CONTENT_TYPE, &state.config.content_type);
    if let Some(ttl) = state.config.ttl {
        headers::set(fields, headers::TTL, &ttl);
    }
    if let Some(at) = &state.config.expires_at {
        headers::set(fields, headers::EXPIRES_AT, at);
    }
    fields.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    set_position(state, fields);
    response
}

fn set_position(state: &state::StreamState, fields: &mut HeaderMap) {
    headers::set(fields, headers::NEXT_OFFSET, &state.tail());
    if state.is_closed {
        fields.insert(headers::CLOSED, HeaderValue::from_static("true"));
    }
}
