//! Streams of events that are cut, too long, or that a server opens without end.

use std::collections::HashMap;

use futures_util::{StreamExt as _, stream};
use http::{HeaderName, HeaderValue};
use rmcp::{
    model::ClientJsonRpcMessage,
    transport::{
        common::client_side_sse::BoxedSseResponse,
        streamable_http_client::{
            AuthRequiredError, StreamableHttpClient, StreamableHttpError,
            StreamableHttpPostResponse,
        },
    },
};
use tokio::time::timeout;

use super::{
    login::{World, access, nobody, options, slow, world},
    *,
};
use crate::{McpRemote, http::connect::connect_over, session::server_session::ServerSession};
use forgeline_agent::{Agent, approval::ApprovalPolicy};
use forgeline_llm::scripted::{ScriptedProvider, ScriptedTurn};

#[tokio::test]
async fn a_cut_stream_is_resumed_behind_its_last_event() {
    let cut = |_: &Seen| Reply::events("id: event-1\nretry: 120\ndata:\n\n");
    let server = Server::start(move |seen| match seen.header("last-event-id") {
        Some("event-1") => {
            let answer = json!({ "jsonrpc": "2.0", "id": 4, "result": text("late") });
            Reply::events(format!("id: event-2\ndata: {answer}\n\n"))
        }
        _ => seen.legacy(cut),
    })
    .await;
    let servers = connect(json!({ "url": server.url("/mcp") })).await.unwrap();
    let tool = tool(&servers).await;
    let began = Instant::now();
    let call = tool.execute(ToolContext::default(), json!({}).into());
    let ids = async { server.wait_for(|seen| seen.json()["method"] == "tools/call").await.json() };
    let (output, called) = tokio::join!(timeout(Duration::from_mins(1), call), ids);
    assert_eq!(called["id"], 4, "the answer of this test has this id");
    assert_eq!(output.unwrap().unwrap().content, "late");
    assert!(began.elapsed() >= Duration::from_millis(120), "the server asked to wait");
}

#[tokio::test]
async fn an_answer_that_is_too_long_ends_the_call_with_the_server_and_the_limit() {
    for is_event in [true, false] {
        let server = Server::start(move |seen| {
            seen.legacy(|seen| {
                let long = "x".repeat(9 << 20);
                let reply = seen.result(&text(&long));
                if is_event { Reply::events(format!("data: {long}\n\n")) } else { reply }
            })
        })
        .await;
        let servers = connect(json!({ "url": server.url("/mcp") })).await.unwrap();
        let error = timeout(Duration::from_mins(1), call(&servers)).await.unwrap().unwrap_err();
        let error = error.to_string();
        assert!(error.contains("`s`") && error.contains("8388608 bytes"), "{is_event}: {error}");
        assert_eq!(servers.list().await.unwrap().len(), 1, "the server is still of use");
    }
}

// Rows: N-44
#[tokio::test]
async fn n44_an_event_that_cannot_be_parsed_is_repaired_or_ends_its_call_at_once() {
    #[rustfmt::skip]
    let rows = [
        (r#""id":ID,"result":{"content":[{"type":"text","text":"half \ud83c"}]}"#,  Ok("half \u{fffd}")),
        (r#""id":ID,"result":{"content":[],"structuredContent":{"mean":NaN}}"#,      Ok(r#"{"mean":null}"#)),
        (r#""id":"ID","result":{"content":[{"type":"text","text":"done"}]}"#,        Ok("done")),
        (r#""id":ID,"error":{"code":"E_BUSY","message":"come back"}"#,               Err("come back (code \"E_BUSY\")")),
        (r#""id":ID,"result":{"content":[{"type":"text","text":"cut}]}"#,            Err("its answer cannot be read")),
        (r#""id":null,"error":{"code":-32700,"message":"Parse error"}"#,             Err("cannot be read")),
    ];
    for (rest, want) in rows {
        let server = Server::start(move |seen| {
            seen.legacy(move |seen| {
                let id = seen.json()["id"].to_string();
                let line = format!(r#"{{"jsonrpc":"2.0",{}}}"#, rest.replace("ID", &id));
                Reply::events(format!("data: {line}\n\n"))
            })
        })
        .await;
        let servers = connect(json!({ "url": server.url("/mcp") })).await.unwrap();
        let called = timeout(Duration::from_mins(1), call(&servers)).await;
        match (called.unwrap_or_else(|_| panic!("{rest}: the call goes on")), want) {
            (Ok(text), Ok(want)) => assert_eq!(text, want, "{rest}"),
            (Err(error), Err(want)) => {
                assert!(error.to_string().contains(want), "{rest}: {error}");
            }
            (called, _) => panic!("{rest}: {called:?}"),
        }
    }
}

// Rows: N-44
#[tokio::test]
async fn n44_a_body_that_cannot_be_parsed_ends_its_call_at_once() {
    for rest in [r#""result":{"content":[],"structuredContent":{"a":NaN}}"#, r#""result":{"#] {
        let server = Server::start(move |seen| {
            seen.legacy(move |seen| {
                let id = seen.json()["id"].to_string();
                let body = format!(r#"{{"jsonrpc":"2.0","id":{id},{rest}}}"#);
                Reply::status(200).header("content-type", "application/json").body(body)
            })
        })
        .await;
        let servers = connect(json!({ "url": server.url("/mcp") })).await.unwrap();
        let called = timeout(Duration::from_mins(1), call(&servers)).await;
        let error = called.unwrap_or_else(|_| panic!("{rest}: the call goes on")).unwrap_err();
        assert!(error.to_string().contains("`s`"), "{rest}: {error}");
    }
}

/// A server in memory: it greets, and what it does next is up to the test.
#[derive(Clone, Default)]
struct InMemory {
    kind: Kind,
    opened: Arc<AtomicUsize>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
enum Kind {
    /// A server that greets, and says nothing more.
    #[default]
    Tired,
    /// A server that does not even greet.
    Silent,
    /// A server that ends its stream at once, each time.
    Opening,
    /// A server behind a proxy that ends streams after a while without an event.
    Resting,
    /// A server that ends its stream after an event.
    Speaking,
    /// A server that lists a tool, and wants a token for a call.
    Guarded,
    /// A server that lists a tool, and opens its stream after a while.
    Late,
    /// A server that lists a tool, and does not answer the request for its stream.
    Holding,
}

impl From<Kind> for InMemory {
    fn from(kind: Kind) -> Self {
        Self { kind, ..Self::default() }
    }
}

type Failure = StreamableHttpError<std::io::Error>;
type Headers = HashMap<HeaderName, HeaderValue>;

impl StreamableHttpClient for InMemory {
    type Error = std::io::Error;

    async fn post_message(
        &self,
        _uri: Arc<str>,
        message: ClientJsonRpcMessage,
        _session: Option<Arc<str>>,
        token: Option<String>,
        _headers: Headers,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        if self.kind == Kind::Silent {
            return std::future::pending().await;
        }
        let seen = Seen {
            method: "POST".to_owned(),
            target: String::new(),
            headers: Vec::new(),
            body: serde_json::to_string(&message).unwrap(),
        };
        let is_greeting = seen.json()["method"] == "initialize";
        let session = is_greeting.then(|| "session-1".to_owned());
        match seen.json()["method"].as_str() {
            Some("server/discover") => {
                let id = seen.json()["id"].clone();
                let error = json!({ "jsonrpc": "2.0", "id": id, "error": { "code": -32601, "message": "no" } });
                Ok(StreamableHttpPostResponse::Json(serde_json::from_value(error).unwrap(), None))
            }
            Some("notifications/initialized") => Ok(StreamableHttpPostResponse::Accepted),
            Some("initialize") => {
                let answer = seen.legacy(done).text();
                Ok(StreamableHttpPostResponse::Json(
                    serde_json::from_str(&answer).unwrap(),
                    session,
                ))
            }
            Some("tools/call") if self.kind == Kind::Guarded && token.is_none() => {
                Err(StreamableHttpError::AuthRequired(AuthRequiredError::new("Bearer".to_owned())))
            }
            Some("tools/list" | "tools/call")
                if matches!(self.kind, Kind::Guarded | Kind::Late | Kind::Holding) =>
            {
                let answer = seen.legacy(done).text();
                Ok(StreamableHttpPostResponse::Json(serde_json::from_str(&answer).unwrap(), None))
            }
            _ => std::future::pending().await,
        }
    }

    async fn delete_session(
        &self,
        _uri: Arc<str>,
        _session: Arc<str>,
        _token: Option<String>,
        _headers: Headers,
    ) -> Result<(), Failure> {
        std::future::pending().await
    }

    #[expect(clippy::default_trait_access, reason = "the type has no name here")]
    async fn get_stream(
        &self,
        _uri: Arc<str>,
        _session: Option<Arc<str>>,
        _last_event: Option<String>,
        _token: Option<String>,
        _headers: Headers,
    ) -> Result<BoxedSseResponse, Failure> {
        let before = self.opened.fetch_add(1, Ordering::SeqCst);
        match self.kind {
            Kind::Resting => {
                let rest = stream::once(tokio::time::sleep(Duration::from_secs(30)));
                return Ok(rest.filter_map(|()| std::future::ready(None)).boxed());
            }
            Kind::Speaking => {
                return Ok(stream::once(std::future::ready(Ok(Default::default()))).boxed());
            }
            Kind::Opening => return Ok(stream::empty().boxed()),
            Kind::Late => {
                tokio::time::sleep(Duration::from_millis(600)).await;
                return Ok(stream::pending().boxed());
            }
            Kind::Holding => return std::future::pending().await,
            Kind::Tired | Kind::Silent | Kind::Guarded if before == 0 => {
                return Ok(stream::empty().boxed());
            }
            Kind::Tired | Kind::Silent | Kind::Guarded => {}
        }
        Err(StreamableHttpError::Client(std::io::ErrorKind::ConnectionRefused.into()))
    }
}

async fn session(server: InMemory) -> Result<ServerSession, McpError> {
    session_with(server, McpOptions::default(), &nobody()).await
}

async fn session_with(
    server: InMemory,
    options: McpOptions,
    world: &Arc<World>,
) -> Result<ServerSession, McpError> {
    let remote = McpRemote::new("https://mcp.example/mcp".to_owned());
    let connect = || {
        let access = |watch: &Arc<_>| access(&remote, &options, watch, world);
        Ok(connect_over(server.clone(), &remote, access).unwrap())
    };
    ServerSession::over_http("s".into(), &options, &connect).await
}

#[tokio::test(start_paused = true)]
async fn a_server_that_never_answers_is_a_typed_error() {
    let silent = Kind::Silent.into();
    let error = session(silent).await.unwrap_err();
    assert!(matches!(error, McpError::TimedOut { request: "initialize", .. }), "{error}");
    let silent = session(InMemory::default()).await.unwrap();
    let error = silent.tools(|_| true).await.unwrap_err();
    assert!(matches!(error, McpError::TimedOut { request: "tools/list", .. }), "{error}");
    let began = Instant::now();
    silent.close().await;
    assert!(began.elapsed() <= Duration::from_secs(1), "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_stream_is_opened_again_a_few_times_with_growing_waits() {
    let gone = InMemory::default();
    let session = session(gone.clone()).await.unwrap();
    let began = Instant::now();
    let mut waits = Vec::new();
    let mut opened = 1;
    while began.elapsed() < Duration::from_mins(10) {
        tokio::time::sleep(Duration::from_millis(100)).await;
        if gone.opened.load(Ordering::SeqCst) > opened {
            opened = gone.opened.load(Ordering::SeqCst);
            waits.push(began.elapsed().as_secs());
        }
    }
    assert_eq!(opened, 7, "{waits:?}");
    let steps: Vec<_> = waits.windows(2).map(|two| two[1] - two[0]).collect();
    assert!(steps.is_sorted() && steps.last() >= Some(&7), "{waits:?}");
    assert!(!session.has_ended(), "calls need no stream of their own");
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_ends_at_once_without_an_event_is_opened_again_a_few_times_and_others_on_and_on()
 {
    for (kind, minute, hour) in [
        // The first time and six times more, with growing waits: 0.5 to 8.5 s.
        (Kind::Opening, 7..=7, 7..=7),
        (Kind::Resting, 2..=3, 100..=130),
        (Kind::Speaking, 100..=130, 7_000..=7_300),
    ] {
        let busy = InMemory::from(kind);
        let session = session(busy.clone()).await.unwrap();
        for (wait, want) in [(Duration::from_mins(1), minute), (Duration::from_mins(59), hour)] {
            tokio::time::sleep(wait).await;
            let opened = busy.opened.load(Ordering::SeqCst);
            assert!(want.contains(&opened), "{opened} times: {kind:?}");
        }
        assert!(!session.has_ended(), "calls need no stream of their own");
    }
}

#[tokio::test(start_paused = true)]
async fn a_list_waits_a_while_for_the_stream_that_tells_of_its_changes() {
    for (kind, wait) in [(Kind::Late, 600), (Kind::Holding, 1000), (Kind::Guarded, 0)] {
        let session = session(kind.into()).await.unwrap();
        for wait in [wait, 0] {
            let began = Instant::now();
            assert_eq!(session.tools(|_| true).await.unwrap().len(), 1);
            let waited = began.elapsed().as_millis();
            assert!((wait..wait + 100).contains(&waited), "{kind:?}: {waited} ms, not {wait}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_time_of_a_login_is_not_the_call_s() {
    let guarded = Kind::Guarded.into();
    let person = slow(Duration::from_mins(4));
    let session = session_with(guarded, options(&person), &world(|_| None)).await.unwrap();
    let server = McpConfig::parse(r#"{"mcpServers":{"s":{"url":"https://mcp.example/mcp"}}}"#);
    let servers = McpServers::with_session(server.unwrap().servers.remove(0), session);
    let turn = ScriptedTurn::new().call("mcp.s.f", json!({}));
    let provider = ScriptedProvider::new([turn, ScriptedTurn::new().text("Ok.")]);
    let agent = Agent::builder(provider)
        .tool_source(servers)
        .approval(ApprovalPolicy::Never)
        .tool_timeout(Duration::from_mins(1))
        .build()
        .unwrap();
    let began = Instant::now();
    let outcome = agent.run("Do it.").await.unwrap();
    let results: Vec<_> = outcome.messages.iter().flat_map(|it| it.tool_results()).collect();
    assert!(matches!(&*results, [it] if it.content == "done"), "{results:?}");
    assert!(began.elapsed() >= Duration::from_mins(4));
}
