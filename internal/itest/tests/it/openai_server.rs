//! The provider against a real socket: what arrives, what breaks, what closes.

use std::time::{Duration, Instant};

use forgeline::{
    agent::Agent,
    llm::{
        ChunkStream, Provider, ProviderError, Request, RetryPolicy, TimeoutKind, Timeouts,
        openai::OpenAi,
    },
    types::ErrorCode,
};
use forgeline_testkit::server::{ScriptedServer, Seen, Step};
use futures_util::StreamExt as _;

use super::wires::transport;

fn delta(text: &str) -> String {
    format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n")
}

const END: &str =
    "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

fn provider(server: &ScriptedServer, timeouts: Timeouts) -> OpenAi {
    let builder = OpenAi::builder().base_url(server.url()).model("m").api_key("sk-secret");
    builder.transport(transport()).timeouts(timeouts).retry(RetryPolicy::NONE).build().unwrap()
}

async fn ask(server: &ScriptedServer, timeouts: Timeouts) -> Result<ChunkStream, ProviderError> {
    provider(server, timeouts).stream_completion(Request::prompt("hello")).await
}

/// The text that arrived, and the error that ended the stream.
async fn collect_text(mut stream: ChunkStream) -> (String, Option<ProviderError>) {
    let mut text = String::new();
    while let Some(item) = stream.next().await {
        match item {
            Ok(chunk) => text.push_str(&chunk.content),
            Err(error) => {
                assert!(stream.next().await.is_none(), "an error is the last item");
                return (text, Some(error));
            }
        }
    }
    (text, None)
}

#[tokio::test]
async fn an_answer_streams_and_the_request_has_its_length_and_key() {
    let whole = delta("Hel") + &delta("lo") + END;
    let (one, two) = whole.split_at(30);
    for brings_client in [false, true] {
        let script = vec![Step::stream(), Step::chunk(one), Step::chunk(two), Step::End];
        let mut server = ScriptedServer::start(vec![script]).await;
        let builder = OpenAi::builder().base_url(server.url()).model("m").api_key("sk-secret");
        let provider = if brings_client {
            builder.client(reqwest::Client::builder().no_proxy().build().unwrap()).build()
        } else {
            builder.transport(transport()).build()
        };
        let stream = provider.unwrap().stream_completion(Request::prompt("hello")).await;
        let (text, error) = collect_text(stream.unwrap()).await;
        assert_eq!((text.as_str(), error.is_none()), ("Hello", true));
        let Seen::Request { head, body } = server.seen().await else { panic!("no request") };
        assert!(head.starts_with("POST /v1/chat/completions HTTP/1.1\r\n"), "{head}");
        let head = head.to_ascii_lowercase();
        assert!(head.contains(&format!("content-length: {}\r\n", body.len())), "{head}");
        assert!(!head.contains("transfer-encoding"), "{head}");
        assert!(head.contains("authorization: bearer sk-secret\r\n"), "{head}");
        assert!(head.contains("accept: text/event-stream\r\n"), "{head}");
        let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(body["messages"][0]["content"], "hello");
    }
}

#[tokio::test]
async fn what_had_arrived_is_kept_when_the_body_ends_or_breaks() {
    for (step, code) in [(Step::End, ErrorCode::EndedEarly), (Step::Reset, ErrorCode::Connect)] {
        let script = vec![Step::stream(), Step::chunk(delta("half")), step];
        let server = ScriptedServer::start(vec![script]).await;
        let (text, error) = collect_text(ask(&server, Timeouts::NONE).await.unwrap()).await;
        let error = error.unwrap();
        // A reset may overtake what was sent before it.
        assert!(text == "half" || code == ErrorCode::Connect, "{text}");
        assert_eq!(error.code(), code, "{error:?}");
    }
}

#[tokio::test]
async fn an_answer_that_is_whole_survives_a_broken_end() {
    let finish = END.replace("data: [DONE]\n\n", "");
    let script = vec![Step::stream(), Step::chunk(delta("all")), Step::chunk(finish)];
    let server = ScriptedServer::start(vec![script]).await;
    let (text, error) = collect_text(ask(&server, Timeouts::NONE).await.unwrap()).await;
    assert_eq!((text.as_str(), error.map(|error| error.to_string())), ("all", None));
}

#[tokio::test]
async fn each_wait_has_its_own_timeout() {
    let short = Duration::from_millis(500);
    let comments: Vec<_> = (0..3).map(|_| Step::chunk(": ping\n\n")).collect();
    let head = || vec![Step::stream(), Step::Stall];
    let begun = || vec![Step::stream(), Step::chunk(delta("a")), Step::Stall];
    let pinged = || [vec![Step::stream()], comments.clone(), vec![Step::Stall]].concat();
    #[rustfmt::skip]
    let cases = [
        ("no head",            vec![Step::Stall], Timeouts::NONE.first_byte(short), TimeoutKind::FirstByte),
        ("head, no body",      head(),            Timeouts::NONE.first_byte(short), TimeoutKind::FirstByte),
        ("silence",            begun(),           Timeouts::NONE.idle(short),       TimeoutKind::Idle),
        ("comments, silence",  pinged(),          Timeouts::NONE.idle(short),       TimeoutKind::Idle),
        ("whole exchange",     begun(),           Timeouts::NONE.total(short),      TimeoutKind::Total),
    ];
    for (name, script, timeouts, want) in cases {
        let mut server = ScriptedServer::start(vec![script]).await;
        let start = Instant::now();
        let error = match ask(&server, timeouts).await {
            Ok(stream) => collect_text(stream).await.1.unwrap(),
            Err(error) => error,
        };
        let fits = matches!(error, ProviderError::Timeout { which, after, .. } if which == want && after == short);
        assert!(fits, "{name}: {error:?}");
        assert!(start.elapsed() >= short, "{name}");
        assert!(matches!(server.seen().await, Seen::Request { .. }));
        assert_eq!(server.seen().await, Seen::Closed, "{name}: the connection is given back");
    }
}

#[tokio::test]
async fn dropping_the_stream_closes_the_connection() {
    let script = vec![Step::stream(), Step::chunk(delta("a")), Step::Stall];
    let mut server = ScriptedServer::start(vec![script]).await;
    let mut stream = ask(&server, Timeouts::NONE).await.unwrap();
    assert_eq!(stream.next().await.unwrap().unwrap().content, "a");
    assert!(matches!(server.seen().await, Seen::Request { .. }));
    drop(stream);
    assert_eq!(server.seen().await, Seen::Closed);
}

#[tokio::test]
async fn dropping_the_request_closes_the_connection() {
    let mut server = ScriptedServer::start(vec![vec![Step::Stall]]).await;
    let request = provider(&server, Timeouts::NONE).stream_completion(Request::prompt("x"));
    tokio::select! {
        _ = request => panic!("there is no answer"),
        seen = server.seen() => assert!(matches!(seen, Seen::Request { .. })),
    }
    assert_eq!(server.seen().await, Seen::Closed);
}

#[tokio::test]
async fn a_server_that_is_done_but_keeps_the_connection_delays_nothing() {
    let script = vec![Step::stream(), Step::chunk(delta("a") + END), Step::Stall];
    let mut server = ScriptedServer::start(vec![script]).await;
    let (text, error) = collect_text(ask(&server, Timeouts::NONE).await.unwrap()).await;
    assert_eq!((text.as_str(), error.is_none()), ("a", true));
    assert!(matches!(server.seen().await, Seen::Request { .. }));
    assert_eq!(server.seen().await, Seen::Closed);
}

#[tokio::test]
async fn a_dead_server_is_named_and_the_key_is_not() {
    let server = ScriptedServer::start(Vec::new()).await;
    let url = server.url();
    drop(server);
    let builder = OpenAi::builder().base_url(url.clone()).model("m").api_key("sk-secret");
    let builder = builder.retry(RetryPolicy::NONE);
    let provider = builder.header("x-extra", "sk-other").build().unwrap();
    let error = provider.stream_completion(Request::prompt("x")).await.map(drop).unwrap_err();
    assert_eq!(error.code(), ErrorCode::Connect);
    assert!(error.is_retryable());
    let shown = format!("{error} {error:?} {}", error.to_agent_error().message);
    assert!(shown.contains(url.trim_start_matches("http://")), "{shown}");
    assert!(!shown.contains("sk-secret") && !shown.contains("sk-other"), "{shown}");
}

#[tokio::test]
async fn bodies_that_are_no_stream_are_read_or_explained() {
    let whole = r#"{"object":"chat.completion","choices":[{"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}]}"#;
    #[rustfmt::skip]
    let cases = [
        ("a whole answer",  whole,                                       "Hi", None),
        ("an error object", r#"{"error":{"message":"no such model"}}"#,  "",   Some("no such model")),
        ("a web page",      "<!doctype html><title>Sign in</title>",     "",   Some("a web page; check the base URL")),
        ("words",           "upstream unavailable",                      "",   Some("not an event stream; check the base URL")),
        ("other JSON",      r#"{"status":"ok"}"#,                        "",   Some("not an event stream; check the base URL")),
        ("nothing",         "",                                          "",   Some("ended early")),
    ];
    for (name, body, text, want) in cases {
        let head = Step::Head(200, vec![("content-type", "application/json".to_owned())]);
        let mut script = vec![head];
        if !body.is_empty() {
            script.push(Step::chunk(body));
        }
        script.push(Step::End);
        let server = ScriptedServer::start(vec![script]).await;
        let (got, error) = collect_text(ask(&server, Timeouts::NONE).await.unwrap()).await;
        assert_eq!(got, text, "{name}");
        let error = error.map(|error| error.to_string());
        let fits = match (&error, want) {
            (None, None) => true,
            (Some(error), Some(want)) => error.contains(want),
            _ => false,
        };
        assert!(fits, "{name}: {error:?}");
    }
}

/// Servers that repeat the key in every place where they may put words of their own.
#[tokio::test]
async fn no_error_shows_a_key_that_the_server_repeats() {
    const KEYS: [&str; 3] = ["sk-plain/secret", "other-hidden", "third-hidden"];
    let head = |status, name, value: &str| Step::Head(status, vec![(name, value.to_owned())]);
    let json = || head(401, "content-type", "application/json");
    // As sent, and as JSON with escapes.
    let leaked = "Authorization: Bearer sk-plain/secret, other-hidden, third-hidden";
    let escaped = leaked.replace('/', "\\/").replace("hidden", "h\\u0069dden");
    let event = |data: String| {
        vec![
            Step::stream(),
            Step::chunk(delta("a")),
            Step::chunk(format!("data: {data}\n\n")),
            Step::End,
        ]
    };
    let error =
        |text: &str| format!("{{\"error\":{{\"code\":\"{text}\",\"message\":\"{text}\"}}}}");
    let long = format!("{{\"error\":\"{}{leaked}\"}}", "x".repeat(464));
    #[rustfmt::skip]
    let cases = [
        ("401",              vec![json(), Step::chunk(error(leaked)), Step::End]),
        ("401, escaped",     vec![json(), Step::chunk(error(&escaped)), Step::End]),
        ("401, words",       vec![json(), Step::chunk(leaked), Step::End]),
        ("401, cut",         vec![json(), Step::chunk(long.clone()), Step::End]),
        ("id of request",    vec![head(500, "x-request-id", leaked), Step::End]),
        ("redirect",         vec![head(307, "location", "https://x/sk-plain/secret/other-hidden"), Step::End]),
        ("in the stream",    event(error(leaked))),
        ("stream, escaped",  event(error(&escaped))),
        ("stream, cut",      event(long.clone())),
        ("no stream, cut",   vec![Step::stream(), Step::chunk(format!("{}{}", "x".repeat(70), KEYS[0])), Step::End]),
        ("no stream",        vec![Step::stream(), Step::chunk(leaked), Step::End]),
    ];
    for (name, script) in cases {
        let server = ScriptedServer::start(vec![script.clone(), script]).await;
        let builder = OpenAi::builder().base_url(server.url()).model("m").transport(transport());
        let builder = builder.retry(RetryPolicy::NONE);
        let builder = builder.api_key(KEYS[0]).header("api-key", KEYS[1]);
        let builder = builder.header("x-other", format!("Bearer {}", KEYS[2]));
        let mut shown = format!("{builder:?}");
        let provider = builder.build().unwrap();
        let error = match provider.stream_completion(Request::prompt("x")).await {
            Ok(stream) => collect_text(stream).await.1.unwrap(),
            Err(error) => error,
        };
        let data = error.to_agent_error();
        shown =
            [shown, format!("{provider:?} {error} {error:?} {data} {data:?} {:?}", error.raw())]
                .concat();
        let agent = Agent::builder(provider).build().unwrap();
        let mut run = agent.run_stream("x");
        while let Some(event) = run.next().await {
            shown =
                [shown, format!("{event:?} {}", serde_json::to_string(&event).unwrap())].concat();
        }
        let failed = run.outcome().await.unwrap_err();
        shown = [shown, format!("{agent:?} {failed} {failed:?}")].concat();
        for key in KEYS {
            // Nor the start of one that was cut.
            assert!(!shown.contains(key.get(..6).unwrap()), "{name}: {shown}");
        }
        assert!(shown.contains("[key]"), "{name}: {shown}");
    }
}
