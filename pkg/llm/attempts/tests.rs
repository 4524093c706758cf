#![expect(clippy::wildcard_enum_match_arm, reason = "a test looks at the kinds it is about")]

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures_util::StreamExt as _;
use tokio::time::Instant;

use super::*;
use crate::{
    Provider, ProviderError, Request, StatusError, StreamChunk, TimeoutKind, ToolCallDelta,
    scripted::{ScriptedProvider, ScriptedTurn},
};
use forgeline_types::{
    AgentEvent, Capabilities, ErrorCode, FailoverEvent, ItemKind, Json, ModelInfo, ProviderItem,
    RetryEvent, UsageInfo,
};

fn status(status: u16, kind: ErrorCode) -> ProviderError {
    ProviderError::Status(Box::new(StatusError::new(status, kind, format!("status {status}"))))
}

fn waits(seconds: u64) -> ProviderError {
    let mut error = StatusError::new(429, ErrorCode::RateLimited, "slow down");
    error.retry_after = Some(Duration::from_secs(seconds));
    ProviderError::Status(Box::new(error))
}

fn says(status: u16, retry: bool) -> ProviderError {
    let kind = if status == 400 { ErrorCode::InvalidRequest } else { ErrorCode::Status };
    let mut error = StatusError::new(status, kind, "hm");
    error.should_retry = Some(retry);
    ProviderError::Status(Box::new(error))
}

fn connect() -> ProviderError {
    ProviderError::Connect { host: "h".into(), source: "refused".into() }
}

fn cut() -> ProviderError {
    ProviderError::EndedEarly { received: 1 }
}

fn in_stream(kind: ErrorCode) -> ProviderError {
    ProviderError::InStream { kind, code: None, message: "m".into(), raw: None }
}

/// What the consumer saw, in words, and how long it took in milliseconds.
async fn watch(provider: &dyn Provider) -> (String, u128) {
    let start = Instant::now();
    let mut seen = Vec::new();
    match provider.stream_completion(Request::prompt("x")).await {
        Err(error) => seen.push(format!("fails: {error}")),
        Ok(mut stream) => {
            while let Some(item) = stream.next().await {
                match item {
                    Err(error) => seen.push(format!("error: {error}")),
                    Ok(chunk) => {
                        let events = chunk.details.iter().flat_map(|details| &details.events);
                        for event in events {
                            seen.push(match event {
                                AgentEvent::Retry(RetryEvent { attempt, delay_ms, .. }) => {
                                    format!("retry {attempt} in {delay_ms}")
                                }
                                AgentEvent::Failover(FailoverEvent {
                                    to_provider,
                                    position,
                                    ..
                                }) => {
                                    format!("hop {position} to {to_provider:?}")
                                }
                                other => other.kind().to_owned(),
                            });
                        }
                        if chunk.has_content() {
                            seen.push(chunk.content.to_string());
                        }
                    }
                }
            }
        }
    }
    (seen.join(" | "), start.elapsed().as_millis())
}

fn policy() -> RetryPolicy {
    RetryPolicy::default().jitter(false)
}

async fn retried(turns: Vec<ScriptedTurn>) -> (String, u128) {
    watch(&Retrying::new(ScriptedProvider::new(turns), policy())).await
}

// Covers: T-13, G-45
#[tokio::test(start_paused = true)]
async fn what_passes_by_itself_is_tried_again_and_nothing_else() {
    let overloaded = || status(529, ErrorCode::Overloaded);
    let timeout = |which| ProviderError::Timeout { which, after: Duration::from_secs(1) };
    let quota = || status(429, ErrorCode::QuotaExhausted);
    let once = "retry 1 in 500 | ok";
    #[rustfmt::skip]
    let cases: Vec<(&str, ProviderError, &str)> = vec![
        ("408",                status(408, ErrorCode::Status),          once),
        ("409",                status(409, ErrorCode::Status),          once),
        ("429",                status(429, ErrorCode::RateLimited),     once),
        ("500",                status(500, ErrorCode::Status),          once),
        ("529",                overloaded(),                            once),
        ("no connection",      connect(),                               once),
        ("connect timeout",    timeout(TimeoutKind::Connect),           once),
        ("cut before a word",  cut(),                                   once),
        ("asked to wait",      waits(7),                                "retry 1 in 7000 | ok"),
        ("asked to for long",  waits(61),                               "fails: the server answered 429: slow down; wait, or send fewer requests"),
        ("x-should-retry",     says(400, true),                         once),
        ("x-should-not-retry", says(500, false),                        "fails: the server answered 500: hm"),
        ("quota",              quota(),                                 "fails: the server answered 429: status 429; the account's quota is used up: raise it, or use another account"),
        ("400",                status(400, ErrorCode::InvalidRequest),  "fails: the server answered 400: status 400"),
        ("401",                status(401, ErrorCode::Auth),            "fails: the server answered 401: status 401; check the API key"),
        ("first byte timeout", timeout(TimeoutKind::FirstByte),         "fails: waiting for the response timed out after 1s; try again, or allow more time"),
        ("cancelled",          ProviderError::Cancelled,                "fails: the request was cancelled"),
    ];
    for (name, error, want) in cases {
        let turns = vec![ScriptedTurn::refuse(error), ScriptedTurn::new().text("ok")];
        assert_eq!(retried(turns).await.0, want, "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_failed_is_tried_again_until_something_was_delivered() {
    let fail = |turn: ScriptedTurn| turn.fail(in_stream(ErrorCode::Overloaded));
    let call = || StreamChunk::calls(vec![ToolCallDelta::new(0).name("f")]);
    let raw = Json::parse("{}").unwrap();
    let item = AgentEvent::ProviderItem(ProviderItem::new("p", ItemKind::Reasoning, raw));
    let usage = StreamChunk { usage: Some(UsageInfo::default()), ..StreamChunk::default() };
    let error = "error: the server reported an error in the stream: m; try again later";
    #[rustfmt::skip]
    let cases: Vec<(&str, ScriptedTurn, String)> = vec![
        ("nothing",   fail(ScriptedTurn::new()),                                       "retry 1 in 500 | ok".to_owned()),
        ("usage",     fail(ScriptedTurn::new().chunk(usage)),                          "retry 1 in 500 | ok".to_owned()),
        ("text",      fail(ScriptedTurn::new().text("a")),                             format!("a | {error}")),
        ("thinking",  fail(ScriptedTurn::new().thinking("a")),                         format!("a | {error}")),
        ("a call",    fail(ScriptedTurn::new().chunk(call())),                         error.to_owned()),
        ("signature", fail(ScriptedTurn::new().chunk(StreamChunk::signature("p", "s"))),    error.to_owned()),
        ("an item",   fail(ScriptedTurn::new().chunk(StreamChunk::events(vec![item]))), format!("provider_item | {error}")),
    ];
    for (name, turn, want) in cases {
        let seen = retried(vec![turn, ScriptedTurn::new().text("ok")]).await.0;
        assert_eq!(seen, want, "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn waits_double_and_the_last_failure_tells_how_often_it_was_tried() {
    let turns = || (0..3).map(|_| ScriptedTurn::refuse(connect())).collect();
    let (seen, took) = retried(turns()).await;
    let want = "retry 1 in 500 | retry 2 in 1000 | error: gave up after 3 attempts";
    assert_eq!((seen.as_str(), took), (want, 1500));

    let provider = Retrying::new(ScriptedProvider::new(turns()), policy().max_attempts(3));
    let error = provider.complete(Request::prompt("x")).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::Connect);
    assert!(matches!(error.root(), ProviderError::Connect { .. }));
    assert!(error.is_outage() && error.is_retryable() && !error.is_transient());
    let message = error.to_agent_error().message;
    assert!(message.starts_with("gave up after 3 attempts: cannot reach h"), "{message}");
}

#[tokio::test(start_paused = true)]
async fn the_random_part_is_at_most_the_wait_itself() {
    let turns = vec![ScriptedTurn::refuse(connect()), ScriptedTurn::new()];
    let provider = Retrying::new(ScriptedProvider::new(turns), RetryPolicy::default());
    let (_, took) = watch(&provider).await;
    assert!((500..=1001).contains(&took), "{took}");
}

#[tokio::test(start_paused = true)]
async fn dropping_the_stream_during_a_wait_asks_no_more() {
    let provider = ScriptedProvider::new([ScriptedTurn::refuse(connect())]);
    let retrying = Retrying::new(provider.clone(), policy());
    let mut stream = retrying.stream_completion(Request::prompt("x")).await.unwrap();
    assert!(stream.next().await.unwrap().unwrap().is_notice());
    drop(stream);
    tokio::time::advance(Duration::from_mins(1)).await;
    assert_eq!(provider.requests().len(), 1);
}

fn named(name: &str, turns: Vec<ScriptedTurn>) -> ScriptedProvider {
    let info = ModelInfo::new(name, format!("{name}-model"));
    let vision = Capabilities::default().vision(name == "second");
    ScriptedProvider::new(turns).info_of(info.capabilities(vision))
}

fn exhausted(last: ProviderError) -> ProviderError {
    ProviderError::RetriesExhausted { attempts: 3, last: Box::new(last) }
}

#[tokio::test(start_paused = true)]
async fn an_outage_moves_to_the_next_provider_and_nothing_else_does() {
    let hop = "hop 1 to \"second\" | two";
    let schema = ProviderError::SchemaUnsupported { feature: "oneOf".into(), detail: "d".into() };
    let lacks = ProviderError::Unsupported { provider: "p".into(), feature: "f".into() };
    let decode = ProviderError::Decode { offset: 1, reason: "r".into() };
    #[rustfmt::skip]
    let cases: Vec<(&str, ScriptedTurn, bool)> = vec![
        ("network",             ScriptedTurn::refuse(connect()),                                 true),
        ("503",                 ScriptedTurn::refuse(status(503, ErrorCode::Overloaded)),        true),
        ("429",                 ScriptedTurn::refuse(status(429, ErrorCode::RateLimited)),       true),
        ("retries, 503",        ScriptedTurn::refuse(exhausted(status(503, ErrorCode::Status))), true),
        ("retries, nested",     ScriptedTurn::refuse(exhausted(exhausted(connect()))),           true),
        ("cut before a word",   ScriptedTurn::new().fail(cut()),                                 true),
        ("overloaded in it",    ScriptedTurn::new().fail(in_stream(ErrorCode::Overloaded)),      true),
        ("400",                 ScriptedTurn::refuse(status(400, ErrorCode::InvalidRequest)),    false),
        ("401",                 ScriptedTurn::refuse(status(401, ErrorCode::Auth)),              false),
        ("too long, as 500",    ScriptedTurn::refuse(status(500, ErrorCode::ContextExceeded)),   false),
        ("refused in it", ScriptedTurn::new().fail(in_stream(ErrorCode::InvalidRequest)), false),
        ("malformed",           ScriptedTurn::refuse(decode),                                    false),
        ("a missing ability",   ScriptedTurn::refuse(lacks),                                     false),
        ("a schema",            ScriptedTurn::refuse(schema),                                    false),
        ("aborted in the text", ScriptedTurn::new().text("one").fail(cut()),                     false),
    ];
    for (name, turn, moves) in cases {
        let second = named("second", vec![ScriptedTurn::new().text("two")]);
        let chain = Failover::new(Arc::new(named("first", vec![turn])));
        let chain = chain.then("backup", Arc::new(second.clone()));
        let (seen, _) = watch(&chain).await;
        assert_eq!(seen == hop, moves, "{name}: {seen}");
        assert_eq!(second.requests().len(), usize::from(moves), "{name}");
        assert_eq!(chain.hops().len(), usize::from(moves), "{name}");
    }
}

#[tokio::test]
async fn a_hop_is_recorded_and_the_chain_stays_where_it_is() {
    let first = named("first", vec![ScriptedTurn::refuse(status(503, ErrorCode::Overloaded))]);
    let texts = ["two", "three"].map(|text| ScriptedTurn::new().text(text));
    let second = named("second", texts.into());
    let chain = Failover::new(Arc::new(first.clone()));
    let chain = chain.then("backup", Arc::new(second)).scope("conversation-1");
    assert!(!chain.info().capabilities.vision);
    assert_eq!(watch(&chain).await.0, "hop 1 to \"second\" | two");
    assert_eq!(watch(&chain.clone()).await.0, "three", "sticky, without a second hop");
    assert_eq!(first.requests().len(), 1);
    assert!(chain.info().capabilities.vision, "the entry that serves tells what it can do");
    let [hop] = chain.hops().try_into().unwrap();
    assert!(hop.reason.contains("503"), "{}", hop.reason);
    let want = FailoverHop {
        from_provider: "first".into(),
        to_provider: "second".into(),
        to_label: "backup".into(),
        to_model: "second-model".into(),
        resolved: true,
        position: 1,
        length: 1,
        scope: Some("conversation-1".into()),
        reason: hop.reason.clone(),
    };
    assert_eq!(hop, want);
    assert_eq!(chain.fresh().info().provider, "first");
}

/// A provider that is down for a number of requests and then gives its name.
fn down_for(name: &'static str, requests: usize) -> ScriptedProvider {
    let mut seen = 0;
    let provider = ScriptedProvider::from_fn(move |_: &Request| {
        seen += 1;
        if seen <= requests {
            ScriptedTurn::refuse(connect())
        } else {
            ScriptedTurn::new().text(name)
        }
    });
    provider.info_of(ModelInfo::new(name, format!("{name}-model")))
}

// Rows: N-81
#[tokio::test(start_paused = true)]
async fn a_chain_returns_to_its_first_provider_once_that_answers_again() {
    let first = down_for("first", 2);
    let chain = Failover::new(Arc::new(first.clone()))
        .then("b", Arc::new(down_for("second", 1)))
        .then("c", Arc::new(down_for("third", 0)));
    let mut seen = Vec::new();
    for seconds in [0, 59, 1, 0, 60, 0, 600] {
        tokio::time::advance(Duration::from_secs(seconds)).await;
        seen.push(watch(&chain.clone()).await.0);
    }
    let want = [
        "hop 1 to \"second\" | hop 2 to \"third\" | third",
        "third",
        // The first is still down, the second is not.
        "hop 0 to \"first\" | hop 1 to \"second\" | second",
        "second",
        "hop 0 to \"first\" | first",
        "first",
        "first",
    ];
    assert_eq!(seen, want);
    assert_eq!(chain.info().provider, "first");
    let hops = chain.hops();
    assert_eq!(hops.len(), 5);
    assert_eq!((&*hops[4].from_provider, hops[4].position), ("second", 0));
    assert!(hops[4].reason.contains("60s"), "{}", hops[4].reason);
}

#[tokio::test(start_paused = true)]
async fn one_request_tries_to_return_and_those_beside_it_do_not() {
    let first = down_for("first", 1);
    let chain = Failover::new(Arc::new(first.clone())).then("b", Arc::new(down_for("second", 0)));
    watch(&chain).await;
    tokio::time::advance(Duration::from_mins(1)).await;
    // Opened, but nothing has been delivered yet.
    let trial = chain.stream_completion(Request::prompt("x")).await.unwrap();
    assert_eq!(watch(&chain).await.0, "second");
    assert_eq!(trial.collect::<Vec<_>>().await.len(), 3);
    assert_eq!(watch(&chain).await.0, "first");
}

#[tokio::test(start_paused = true)]
async fn a_chain_may_start_each_request_anew_or_stay_for_ever() {
    let two =
        || Failover::new(Arc::new(down_for("first", 2))).then("b", Arc::new(down_for("second", 0)));
    let (eager, patient) = (two().per_request(), two().recover_after(Duration::MAX));
    let hop = "hop 0 to \"first\" | hop 1 to \"second\" | second";
    assert_eq!(watch(&eager).await.0, "hop 1 to \"second\" | second");
    assert_eq!(watch(&eager).await.0, hop);
    assert_eq!(watch(&eager).await.0, "hop 0 to \"first\" | first");
    watch(&patient).await;
    tokio::time::advance(Duration::from_secs(1 << 30)).await;
    assert_eq!(watch(&patient).await.0, "second");
}

#[tokio::test]
async fn when_all_are_down_each_was_asked_once_and_the_last_error_counts() {
    let down = |code| vec![ScriptedTurn::refuse(status(code, ErrorCode::Status))];
    let providers = [("first", 500), ("second", 502), ("third", 503)];
    let [first, second, third] = providers.map(|(name, code)| named(name, down(code)));
    let chain = Failover::new(Arc::new(first.clone()))
        .then("b", Arc::new(second.clone()))
        .then("c", Arc::new(third.clone()));
    let want =
        "hop 1 to \"second\" | hop 2 to \"third\" | error: the server answered 503: status 503";
    assert_eq!(watch(&chain).await.0, want);
    assert_eq!([first, second, third].map(|provider| provider.requests().len()), [1, 1, 1]);
}

#[tokio::test]
async fn an_entry_that_cannot_be_made_is_skipped_and_recorded() {
    let made = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&made);
    let first = named("first", vec![ScriptedTurn::refuse(connect())]);
    let third = named("third", vec![ScriptedTurn::new().text("three")]);
    let chain = Failover::new(Arc::new(first))
        .then_with("b", || Err(ProviderError::Config { message: "no key for b".into() }))
        .then_with("c", move || {
            count.fetch_add(1, Ordering::Relaxed);
            Ok(Arc::new(third.clone()))
        });
    assert_eq!(made.load(Ordering::Relaxed), 0, "made when it is needed");
    assert_eq!(watch(&chain).await.0, "hop 1 to \"\" | hop 2 to \"third\" | three");
    let hops = chain.hops();
    assert_eq!((hops[0].resolved, hops[0].reason.as_str()), (false, "no key for b"));
    assert!(hops[1].resolved && hops[1].reason.contains("cannot reach"));
}

#[tokio::test]
async fn a_chain_of_nobody_else_is_the_provider_itself() {
    let first: Arc<dyn Provider> = Arc::new(named("first", Vec::new()));
    let other: Arc<dyn Provider> = Arc::new(named("other", Vec::new()));
    let chain = Failover::new(Arc::clone(&first));
    assert!(Arc::ptr_eq(&chain.clone().into_provider(), &first));
    let same = chain.then(" ", Arc::clone(&other)).then("first", Arc::clone(&other));
    assert!(Arc::ptr_eq(&same.into_provider(), &first), "blanks and repeats add nothing");
}

#[tokio::test]
async fn a_structured_answer_comes_from_the_chain_too() {
    use crate::{AnswerSchema, StructuredExt as _, StructuredMethod};
    let able = Capabilities::default().structured_output(true);
    let down = vec![ScriptedTurn::refuse(status(503, ErrorCode::Overloaded))];
    let first = named("first", down).capabilities(able);
    let second = named("second", vec![ScriptedTurn::new().text("{\"a\":1}")]).capabilities(able);
    let chain = Failover::new(Arc::new(first)).then("backup", Arc::new(second.clone()));
    let schema = AnswerSchema::new(serde_json::json!({ "type": "object" }));
    let answer = chain.complete_json(Request::prompt("x"), schema).await.unwrap();
    assert_eq!((answer.json.as_str(), answer.method), ("{\"a\":1}", StructuredMethod::Native));
    assert_eq!(chain.hops().len(), 1);
    assert!(second.requests()[0].response_format.is_some());
}

#[tokio::test]
async fn who_waits_for_the_whole_answer_gets_what_had_arrived() {
    let turn = ScriptedTurn::new().thinking("hm").text("one").call("f", "{\"a\":1}").fail(cut());
    let error = named("p", vec![turn]).complete(Request::prompt("x")).await.unwrap_err();
    let partial = error.partial().unwrap();
    assert_eq!((partial.text.as_str(), partial.thinking.as_str()), ("one", "hm"));
    assert_eq!(partial.tool_calls[0].name, "f");
    assert!(!partial.complete && partial.error.is_some());
    assert_eq!(error.code(), ErrorCode::EndedEarly);
    assert!(!error.is_outage() && !error.is_transient(), "it was delivered");
    let turn = ScriptedTurn::new().fail(cut());
    let error = named("p", vec![turn]).complete(Request::prompt("x")).await.unwrap_err();
    assert!(error.partial().is_none() && matches!(error, ProviderError::EndedEarly { .. }));
}
