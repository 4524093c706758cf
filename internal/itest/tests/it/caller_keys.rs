//! Keys per caller: one agent, many users, each request with the key of its user.

use std::{
    env,
    fmt::Write as _,
    fs,
    future::pending,
    process,
    sync::{Arc, Mutex},
    time::Duration,
};

use forgeline::{
    agent::{
        Agent, Caller, RunInput,
        observe::{Observer, RequestSent},
    },
    llm::{
        Failover, Provider as _, ProviderError, ProviderFuture, Request, RequestOwner, RetryPolicy,
        StructuredExt as _,
        http::{Authorize, CallScope, Secret},
        openai::OpenAi,
        transport::{HttpRequest, HttpResponse, Transport, TransportError},
    },
    testing::record::RecordingTransport,
    types::Text,
};
use futures_util::{future::BoxFuture, stream};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::Barrier;

use super::secrets::Logs;

/// The purpose of an attempt: the owner's id and scope, the model, the number of the attempt.
type Attempt = (String, String, String, u32);

/// Makes `Bearer planted-ID` for each owner, once `together` requests are there, and writes down what it was asked.
#[derive(Clone)]
struct OwnKeys {
    together: Arc<Barrier>,
    asked: Arc<Mutex<Vec<Attempt>>>,
}

impl OwnKeys {
    fn new(together: usize) -> Self {
        Self { together: Arc::new(Barrier::new(together)), asked: Arc::default() }
    }

    fn asked(&self) -> Vec<Attempt> {
        self.asked.lock().unwrap().clone()
    }
}

impl Authorize for OwnKeys {
    fn headers(&self, scope: &CallScope<'_>) -> ProviderFuture<Vec<(Text, Secret)>> {
        let Some(owner) = scope.owner() else {
            let error = ProviderError::unsupported("openai", "a request without a key");
            return Box::pin(async move { Err(error) });
        };
        let named = owner.scope_name().unwrap_or("none").to_owned();
        let attempt = (owner.id().to_owned(), named, scope.model().to_owned(), scope.attempt());
        self.asked.lock().unwrap().push(attempt);
        let key = format!("Bearer planted-{}", owner.id());
        let together = Arc::clone(&self.together);
        Box::pin(async move {
            together.wait().await;
            Ok(vec![(Text::from("authorization"), key.into())])
        })
    }
}

/// Answers by a function of the number of the request and its body, and keeps what it was sent.
struct Server {
    answer: fn(usize, &Value) -> (u16, String),
    sent: Mutex<Vec<HttpRequest>>,
}

impl Server {
    fn new(answer: fn(usize, &Value) -> (u16, String)) -> Arc<Self> {
        Arc::new(Self { answer, sent: Mutex::default() })
    }

    /// The key of each request, and the last words of its body's messages.
    fn sent(&self) -> Vec<(String, String)> {
        let sent = self.sent.lock().unwrap();
        let of = |request: &HttpRequest| {
            let key = request.headers.iter().find(|(name, _)| name == "authorization");
            let body: Value = serde_json::from_slice(&request.body.concat()).unwrap();
            let messages = body["messages"].as_array().unwrap();
            let users = messages.iter().filter(|message| message["role"] == "user");
            let said = users.filter_map(|message| message["content"].as_str()).next_back();
            (key.unwrap().1.to_string(), said.unwrap_or_default().to_owned())
        };
        sent.iter().map(of).collect()
    }

    fn keys(&self) -> Vec<String> {
        self.sent().into_iter().map(|(key, _)| key).collect()
    }
}

impl Transport for Server {
    fn send(
        &self,
        request: HttpRequest,
    ) -> BoxFuture<'static, Result<HttpResponse, TransportError>> {
        let body: Value = serde_json::from_slice(&request.body.concat()).unwrap_or_default();
        let mut sent = self.sent.lock().unwrap();
        let (status, answer) = (self.answer)(sent.len(), &body);
        sent.push(request);
        let body = stream::iter([Ok(answer.into())]);
        Box::pin(async move { Ok(HttpResponse::new(status, Box::pin(body))) })
    }
}

fn says(text: &str) -> (u16, String) {
    let delta = json!({ "choices": [{ "delta": { "content": text }, "finish_reason": "stop" }] });
    (200, format!("data: {delta}\n\ndata: [DONE]\n\n"))
}

fn calls(name: &str, arguments: &Value) -> (u16, String) {
    let call = json!({ "index": 0, "id": "c1", "type": "function",
        "function": { "name": name, "arguments": arguments.to_string() } });
    let choice = json!({ "delta": { "tool_calls": [call] }, "finish_reason": "tool_calls" });
    (200, format!("data: {}\n\ndata: [DONE]\n\n", json!({ "choices": [choice] })))
}

fn is_refused() -> (u16, String) {
    (503, "busy".to_owned())
}

fn provider(server: impl Transport + 'static, keys: &OwnKeys, retry: RetryPolicy) -> OpenAi {
    let builder = OpenAi::builder().base_url("http://h").model("m").authorize(keys.clone());
    builder.retry(retry).transport(server).build().unwrap()
}

fn once_more() -> RetryPolicy {
    RetryPolicy::default().max_attempts(2).initial_delay(Duration::from_millis(1))
}

fn ann() -> Caller {
    Caller::new("ann").scope("team-a")
}

fn attempt(id: &str, scope: &str, number: u32) -> Attempt {
    (id.into(), scope.into(), "m".into(), number)
}

#[tokio::test]
async fn two_users_of_one_agent_at_once_each_send_their_own_key() {
    let (server, keys) = (Server::new(|_, _| says("Hello.")), OwnKeys::new(2));
    let agent = Agent::builder(provider(Arc::clone(&server), &keys, RetryPolicy::NONE));
    let agent = agent.build().unwrap();
    // Neither key is handed out before both requests are there.
    let (one, other) = tokio::join!(
        agent.run(RunInput::from("I am ann.").caller(ann())),
        agent.run(RunInput::from("I am bob.").caller(Caller::new("bob"))),
    );
    assert_eq!((&*one.unwrap().text, &*other.unwrap().text), ("Hello.", "Hello."));
    let mut sent = server.sent();
    sent.sort();
    let own = |id: &str| (format!("Bearer planted-{id}"), format!("I am {id}."));
    assert_eq!(sent, [own("ann"), own("bob")]);
    let mut asked = keys.asked();
    asked.sort();
    assert_eq!(asked, [attempt("ann", "team-a", 1), attempt("bob", "none", 1)]);
}

#[tokio::test]
async fn retries_and_the_next_provider_of_a_chain_keep_the_owner() {
    let (down, up) = (Server::new(|_, _| is_refused()), Server::new(|_, _| says("Hello.")));
    let keys = OwnKeys::new(1);
    let first = provider(Arc::clone(&down), &keys, once_more());
    let chain =
        Failover::new(first).then("backup", provider(Arc::clone(&up), &keys, RetryPolicy::NONE));
    let agent = Agent::builder(chain).build().unwrap();
    agent.run(RunInput::from("Hi").caller(ann())).await.unwrap();
    assert_eq!(down.keys(), ["Bearer planted-ann", "Bearer planted-ann"]);
    assert_eq!(up.keys(), ["Bearer planted-ann"]);
    let numbers: Vec<_> = keys.asked().into_iter().map(|asked| asked.3).collect();
    assert_eq!(numbers, [1, 2, 1], "the numbers of the attempts");
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Place {
    city: String,
}

#[tokio::test]
async fn a_bound_answer_and_the_question_after_a_wrong_one_keep_the_owner() {
    let answer: fn(usize, &Value) -> _ =
        |at, _| says(if at == 0 { "Somewhere." } else { r#"{"city":"Lisbon"}"# });
    let (server, keys) = (Server::new(answer), OwnKeys::new(1));
    let own = provider(Arc::clone(&server), &keys, RetryPolicy::NONE);
    let request = Request::prompt("Where?").owner(RequestOwner::new("ann"));
    let place = own.complete_structured::<Place>(request).await.unwrap();
    assert_eq!(place.value.city, "Lisbon");
    assert_eq!(server.keys(), ["Bearer planted-ann"; 2]);

    let server = Server::new(answer);
    let own = provider(Arc::clone(&server), &keys, RetryPolicy::NONE);
    let agent = Agent::builder(own).build().unwrap();
    let typed = agent.run_typed::<Place>(RunInput::from("Where?").caller(ann())).await.unwrap();
    assert_eq!(typed.value.city, "Lisbon");
    assert_eq!(server.keys(), ["Bearer planted-ann"; 2]);
}

#[tokio::test]
async fn an_agent_below_asks_for_the_caller_of_the_run() {
    let above = Server::new(|at, _| match at {
        0 => calls("below", &json!({ "task": "Look." })),
        _ => says("Done."),
    });
    let below = Server::new(|_, _| says("Seen."));
    let keys = OwnKeys::new(1);
    let agent = |server: &Arc<Server>| {
        Agent::builder(provider(Arc::clone(server), &keys, RetryPolicy::NONE))
    };
    let tool = agent(&below).build().unwrap().into_tool("below", "Looks.");
    let agent = agent(&above).tool(tool).build().unwrap();
    agent.run(RunInput::from("Go.").caller(ann())).await.unwrap();
    assert_eq!(above.keys(), ["Bearer planted-ann"; 2]);
    assert_eq!(below.keys(), ["Bearer planted-ann"]);
}

#[tokio::test]
async fn a_health_check_is_for_nobody() {
    let (server, keys) = (Server::new(|_, _| says("")), OwnKeys::new(1));
    let own = provider(Arc::clone(&server), &keys, RetryPolicy::NONE);
    let error = own.health().await.unwrap_err();
    assert!(matches!(error, ProviderError::Unsupported { .. }), "{error:?}");
    assert_eq!(own.context_window().await.unwrap(), None);
    assert!(server.keys().is_empty(), "nothing is sent without a key");
}

/// Keeps how each request looks to a program that watches the agent.
#[derive(Default)]
struct Watcher(Mutex<String>);

impl Observer for Watcher {
    fn wants_requests(&self) -> bool {
        true
    }

    fn request_sent(&self, request: &RequestSent) {
        write!(self.0.lock().unwrap(), "{request:?} {}", request.body).unwrap();
    }
}

#[tokio::test]
async fn neither_key_nor_owner_is_in_debug_logs_recordings_or_observers() {
    const OWNER: &str = "owner-planted-4711";
    let logs = Logs::default();
    let guard = tracing::subscriber::set_default(logs.clone());
    let (server, keys) = (Server::new(|_, _| is_refused()), OwnKeys::new(1));
    let file = env::temp_dir().join(format!("forgeline-caller-keys-{}", process::id()));
    let recorder = RecordingTransport::overwrite(&file, Arc::clone(&server)).unwrap();
    let own = provider(recorder.clone(), &keys, once_more());
    let watcher = Arc::new(Watcher::default());
    let mut shown = format!("{own:?}");
    let agent = Agent::builder(own).observer(Arc::clone(&watcher)).build().unwrap();
    let caller = Caller::new(OWNER).scope("scope-planted-0815");
    let error = agent.run(RunInput::from("Hi").caller(caller.clone())).await.unwrap_err();
    drop(guard);
    assert_eq!(server.keys().len(), 2);
    write!(shown, "{error} {:?}", error.error).unwrap();
    shown.push_str(&watcher.0.lock().unwrap());
    shown.push_str(&logs.0.lock().unwrap());
    assert_eq!(recorder.flush().unwrap(), 2);
    shown.push_str(&fs::read_to_string(&file).unwrap());
    fs::remove_file(&file).unwrap();
    let owner = caller.request_owner();
    let request = Request::prompt("Hi").owner(owner.clone());
    write!(shown, "{owner:?} {request:?} {}", serde_json::to_string(&request).unwrap()).unwrap();
    for planted in ["planted-owner", OWNER, "scope-planted"] {
        assert!(!shown.contains(planted), "{planted}: {shown}");
    }
}

/// A source of keys that never answers.
struct Silent;

impl Authorize for Silent {
    fn headers(&self, _: &CallScope<'_>) -> ProviderFuture<Vec<(Text, Secret)>> {
        Box::pin(pending())
    }
}

#[tokio::test(start_paused = true)]
async fn a_source_of_keys_that_never_answers_ends_by_the_time_limit() {
    let server = Server::new(|_, _| says("Hello."));
    let builder = OpenAi::builder().base_url("http://h").model("m").authorize(Silent);
    let own = builder.retry(RetryPolicy::NONE).transport(Arc::clone(&server)).build().unwrap();
    let error = own.complete(Request::prompt("Hi")).await.unwrap_err();
    assert!(matches!(error, ProviderError::Timeout { .. }), "{error:?}");
    assert!(server.keys().is_empty());
}
