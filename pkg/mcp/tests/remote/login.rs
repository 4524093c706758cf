//! Logins in a world in memory, over time that a test sets.

use std::sync::Mutex;

use futures_core::future::BoxFuture;
use futures_util::{FutureExt as _, stream};
use url::Url;

use super::*;
use crate::{
    McpLogin, McpLoginError, McpLogins, McpRemote, TokenStore as _,
    oauth::{bearer_challenge::BearerChallenge, oauth_access::OAuthAccess},
    output::remote_watch::RemoteWatch,
};
use forgeline_llm::{
    private::SecretRedactor,
    transport::{HttpRequest, HttpResponse, Transport, TransportFuture},
};

pub(super) const SERVER: &str = "https://mcp.example/mcp";

/// The servers of a login: the answer of each address.
pub(super) type Answers = Box<dyn Fn(&HttpRequest) -> Option<(u16, Value)> + Send + Sync>;

/// The world outside: a server at `mcp.example`, its authorization server at `auth.example`.
pub(super) struct World {
    /// Answers before those of every world.
    pub(super) change: Answers,
    pub(super) seen: Mutex<Vec<HttpRequest>>,
    pub(super) tokens: AtomicUsize,
    /// Each answer of the token endpoint waits for it.
    pub(super) gate: Option<Arc<tokio::sync::Notify>>,
    /// `true` once tokens for renewals are of no use.
    pub(super) rejects: std::sync::atomic::AtomicBool,
}

impl Default for World {
    fn default() -> Self {
        let (seen, tokens, rejects) = Default::default();
        Self { change: Box::new(|_| None), seen, tokens, gate: None, rejects }
    }
}

pub(super) fn world(
    change: impl Fn(&HttpRequest) -> Option<(u16, Value)> + Send + Sync + 'static,
) -> Arc<World> {
    Arc::new(World { change: Box::new(change), ..World::default() })
}

/// A world in which nothing is found.
pub(super) fn nobody() -> Arc<World> {
    world(|_| Some((404, Value::Null)))
}

/// The description of the authorization server.
pub(super) fn metadata() -> Value {
    json!({
        "issuer": "https://auth.example",
        "authorization_endpoint": "https://auth.example/authorize?tenant=1",
        "token_endpoint": "https://auth.example/token",
        "registration_endpoint": "https://auth.example/register",
        "code_challenge_methods_supported": ["S256"],
    })
}

pub(super) const RESOURCE_METADATA: &str =
    "https://mcp.example/.well-known/oauth-protected-resource/mcp";
pub(super) const SERVER_METADATA: &str =
    "https://auth.example/.well-known/oauth-authorization-server";

impl World {
    fn answer(&self, request: &HttpRequest) -> (u16, Value) {
        if self.rejects.load(Ordering::SeqCst) && request.url.ends_with("/token") {
            return (400, json!({ "error": "invalid_grant" }));
        }
        if let Some(answer) = (self.change)(request) {
            return answer;
        }
        match request.url.as_str() {
            RESOURCE_METADATA => {
                let servers = ["https://auth.example"];
                (200, json!({ "resource": SERVER, "authorization_servers": servers }))
            }
            SERVER_METADATA => (200, metadata()),
            "https://auth.example/register" => (201, json!({ "client_id": "client-1" })),
            "https://auth.example/token" => {
                let count = self.tokens.fetch_add(1, Ordering::SeqCst) + 1;
                (200, issued(count, 3_600))
            }
            _ => (404, Value::Null),
        }
    }

    pub(super) fn reject(&self) {
        self.rejects.store(true, Ordering::SeqCst);
    }

    pub(super) fn seen(&self) -> Vec<HttpRequest> {
        self.seen.lock().unwrap().clone()
    }

    /// Returns the forms that were sent to the token endpoint.
    pub(super) fn forms(&self) -> Vec<String> {
        let all = self.seen();
        let forms = all.iter().filter(|request| request.url.ends_with("/token"));
        forms.map(body).collect()
    }
}

pub(super) fn issued(count: usize, seconds: u64) -> Value {
    json!({
        "access_token": format!("access-{count}"),
        "refresh_token": format!("refresh-{count}"),
        "token_type": "bearer",
        "expires_in": seconds,
    })
}

pub(super) fn body(request: &HttpRequest) -> String {
    String::from_utf8(request.body.concat()).unwrap()
}

impl Transport for World {
    fn send(&self, request: HttpRequest) -> TransportFuture {
        let (status, value) = self.answer(&request);
        let is_token = request.url.ends_with("/token");
        self.seen.lock().unwrap().push(request);
        let body = stream::iter([Ok(value.to_string().into())]);
        let mut response = HttpResponse::new(status, Box::pin(body));
        if let Some(to) = value.get("location").and_then(Value::as_str) {
            response = response.with_header("location", to);
        }
        let gate = self.gate.clone().filter(|_| is_token);
        async move {
            if let Some(gate) = gate {
                gate.notified().await;
            }
            Ok(response)
        }
        .boxed()
    }
}

/// A person who logs in; the function changes the query of the answer.
#[derive(Clone)]
pub(super) struct Person {
    takes: Duration,
    change: Arc<dyn Fn(String) -> String + Send + Sync>,
    pub(super) pages: Arc<Mutex<Vec<Url>>>,
}

pub(super) fn person(change: impl Fn(String) -> String + Send + Sync + 'static) -> Person {
    Person { takes: Duration::ZERO, change: Arc::new(change), pages: Arc::default() }
}

pub(super) fn willing() -> Person {
    person(|query| query)
}

/// Returns a person who takes this long.
pub(super) fn slow(takes: Duration) -> Person {
    Person { takes, ..willing() }
}

impl McpLogins for Person {
    fn begin(&self, _server: &str) -> BoxFuture<'static, Result<Box<dyn McpLogin>, McpLoginError>> {
        let login: Box<dyn McpLogin> = Box::new(self.clone());
        async { Ok(login) }.boxed()
    }
}

impl McpLogin for Person {
    fn redirect_uri(&self) -> String {
        "http://127.0.0.1:1/callback".to_owned()
    }

    fn answer(self: Box<Self>, page: &str) -> BoxFuture<'static, Result<String, McpLoginError>> {
        let page: Url = page.parse().unwrap();
        let query = (self.change)(format!("code=code-1&state={}", query(&page, "state")));
        self.pages.lock().unwrap().push(page);
        async move {
            tokio::time::sleep(self.takes).await;
            Ok(format!("http://127.0.0.1:1/callback?{query}"))
        }
        .boxed()
    }
}

pub(super) fn query(url: &Url, name: &str) -> String {
    let mut pairs = url.query_pairs();
    pairs.find_map(|(key, value)| (key == name).then(|| value.into_owned())).unwrap_or_default()
}

pub(super) fn access(
    remote: &McpRemote,
    options: &McpOptions,
    watch: &Arc<RemoteWatch>,
    world: &Arc<World>,
) -> OAuthAccess {
    let url = remote.url.parse().unwrap();
    let world = Arc::<World>::clone(world);
    OAuthAccess::new("s".into(), url, (remote, &options.login), world, Arc::clone(watch))
}

/// Returns the access of a person to the server, and its known state.
pub(super) fn access_of(
    world: &Arc<World>,
    options: &McpOptions,
) -> (Arc<OAuthAccess>, Arc<RemoteWatch>) {
    let watch = Arc::new(RemoteWatch::new(SecretRedactor::default()));
    let remote = McpRemote::new(SERVER.to_owned());
    (Arc::new(access(&remote, options, &watch, world)), watch)
}

pub(super) fn options(person: &Person) -> McpOptions {
    McpOptions::default().token_store(MemoryTokens::new()).logins(person.clone())
}

#[tokio::test]
async fn a_login_gives_a_token_that_is_kept() {
    let (world, person) = (world(|_| None), willing());
    let options = options(&person);
    let (access, _) = access_of(&world, &options);
    assert_eq!(access.token().await, Ok(None));
    let challenge = BearerChallenge::parse(r#"Bearer scope="read write""#);
    access.answer(&challenge, None).await.unwrap();
    assert_eq!(access.token().await, Ok(Some("access-1".to_owned())));
    let page = person.pages.lock().unwrap()[0].clone();
    let asked = |name| query(&page, name);
    assert_eq!((asked("scope"), asked("resource")), ("read write".to_owned(), SERVER.to_owned()));
    assert_eq!(
        (asked("tenant"), asked("code_challenge_method")),
        ("1".to_owned(), "S256".to_owned())
    );
    assert!(world.forms()[0].contains("&code=code-1&"), "{:?}", world.forms());
    // Another process finds it, and asks nobody.
    let before = world.seen().len();
    let (other, _) = access_of(&world, &options);
    assert_eq!(other.token().await, Ok(Some("access-1".to_owned())));
    assert_eq!(world.seen().len(), before);
}

#[tokio::test]
async fn a_person_is_asked_again_when_nothing_can_be_renewed() {
    let world = world(|request| {
        let is_renewal = body(request).contains("grant_type=refresh_token");
        is_renewal.then(|| (400, json!({ "error": "invalid_grant" })))
    });
    let person = willing();
    let (access, _) = access_of(&world, &options(&person));
    access.answer(&BearerChallenge::default(), None).await.unwrap();
    access.answer(&BearerChallenge::default(), Some("access-1")).await.unwrap();
    assert_eq!(access.token().await, Ok(Some("access-2".to_owned())));
    assert_eq!(person.pages.lock().unwrap().len(), 2);
    let registrations = world.seen().iter().filter(|it| it.url.ends_with("/register")).count();
    assert_eq!(registrations, 1, "the client is known already");
}

#[tokio::test]
async fn requests_at_the_same_time_are_one_login() {
    let (world, person) = (world(|_| None), willing());
    let (access, _) = access_of(&world, &options(&person));
    let challenge = BearerChallenge::default();
    let answers = (0..8).map(|_| access.answer(&challenge, None));
    let answers = futures_util::future::join_all(answers).await;
    assert!(answers.iter().all(Result::is_ok));
    assert_eq!(person.pages.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn logins_without_success_are_bounded() {
    let (world, person) = (world(|_| None), willing());
    let (access, _) = access_of(&world, &options(&person));
    let more = BearerChallenge::parse("Bearer error=insufficient_scope, scope=admin");
    for count in 0..3 {
        let sent = (count > 0).then(|| format!("access-{count}"));
        access.answer(&more, sent.as_deref()).await.unwrap();
    }
    let error = access.answer(&more, Some("access-3")).await.unwrap_err();
    assert_eq!(error, "it refused access after each of 3 logins");
    access.worked();
    access.answer(&more, Some("access-3")).await.unwrap();
    assert_eq!(person.pages.lock().unwrap().len(), 4);
}

#[tokio::test(start_paused = true)]
async fn unanswered_login_times_out() {
    let (world, person) = (world(|_| None), slow(Duration::from_hours(1)));
    let (access, watch) = access_of(&world, &options(&person));
    let began = Instant::now();
    let answer = tokio::spawn({
        let access = Arc::clone(&access);
        async move { access.answer(&BearerChallenge::default(), None).await }
    });
    tokio::time::sleep(Duration::from_mins(4)).await;
    assert!(watch.is_asking());
    assert_eq!(answer.await.unwrap(), Err("no person logged in within 300s".to_owned()));
    assert_eq!(began.elapsed(), Duration::from_mins(5));
    assert!(!watch.is_asking());
    // Without anybody to ask, it is an error at once.
    let nobody = McpOptions::default().token_store(MemoryTokens::new());
    let (access, _) = access_of(&world, &nobody);
    let error = access.answer(&BearerChallenge::default(), None).await.unwrap_err();
    assert_eq!(error, "it needs a login, and there is no person to ask for one");
}

#[tokio::test]
async fn an_answer_that_belongs_to_another_question_or_server_is_refused() {
    type Change = fn(String, String) -> String;
    let state = |query: &str| query.split("state=").nth(1).unwrap().to_owned();
    #[rustfmt::skip]
    let cases: [(Change, &str); 7] = [
        (|_, _| "code=code-1&state=other".to_owned(),                  "belongs to another question"),
        (|_, _| "code=code-1".to_owned(),                              "belongs to another question"),
        (|query, _| format!("{query}&iss=https%3A%2F%2Fevil.example"), "another authorization server, `https://evil.example`"),
        (|query, _| format!("{query}&iss=https%3A%2F%2Fauth.example%2F"), "another authorization server"),
        (|_, state| format!("state={state}"),                          "has no code"),
        (|_, state| format!("state={state}&error=access_denied&error_description=No%0Away"), "the login was refused: access_denied, No way"),
        (|_, _| "\u{0}".to_owned(),                                    "belongs to another question"),
    ];
    for (change, want) in cases {
        let world = world(|_| None);
        let person = person(move |query| change(query.clone(), state(&query)));
        let (access, _) = access_of(&world, &options(&person));
        let error = access.answer(&BearerChallenge::default(), None).await.unwrap_err();
        assert!(error.contains(want), "{want}: {error}");
        assert!(world.forms().is_empty(), "no code was sent");
    }
    // A server that always names itself must do so.
    let world = world(|request| {
        let mut metadata = metadata();
        metadata["authorization_response_iss_parameter_supported"] = json!(true);
        (request.url == SERVER_METADATA).then_some((200, metadata))
    });
    let (access, _) = access_of(&world, &options(&willing()));
    let error = access.answer(&BearerChallenge::default(), None).await.unwrap_err();
    assert!(error.contains("does not say from which"), "{error}");
    let named = person(|query| format!("{query}&iss=https%3A%2F%2Fauth.example"));
    let (access, _) = access_of(&world, &options(&named));
    access.answer(&BearerChallenge::default(), None).await.unwrap();
}

#[tokio::test]
async fn an_empty_secret_of_a_registration_is_none() {
    let world = world(|request| {
        let client = json!({ "client_id": "client-1", "client_secret": "" });
        request.url.ends_with("/register").then_some((201, client))
    });
    let (access, _) = access_of(&world, &options(&willing()));
    access.answer(&BearerChallenge::default(), None).await.unwrap();
    let all = world.seen();
    let asked = all.iter().find(|request| request.url.ends_with("/token")).unwrap();
    assert!(asked.headers.iter().all(|(name, _)| *name != "authorization"), "no proof is sent");
    assert!(body(asked).contains("client_id=client-1") && !body(asked).contains("client_secret"));
}

#[tokio::test]
async fn an_error_repeats_no_secret() {
    let world = world(|request| {
        let is_token = request.url.ends_with("/token");
        let said = || json!({ "error": "invalid_request", "error_description": body(request) });
        is_token.then(|| (400, said()))
    });
    let (access, _) = access_of(&world, &options(&willing()));
    let error = access.answer(&BearerChallenge::default(), None).await.unwrap_err();
    let form = world.forms().remove(0);
    let verifier = form.split("code_verifier=").nth(1).unwrap().split('&').next().unwrap();
    assert!(error.contains("status 400, invalid_request"), "{error}");
    assert!(!error.contains("code-1") && !error.contains(verifier), "{error}");
}

#[tokio::test]
async fn a_client_may_get_tokens_for_itself() {
    let world = world(|request| {
        // It has no page, and needs none.
        let mut metadata = metadata();
        metadata["authorization_endpoint"] = Value::Null;
        (request.url == SERVER_METADATA).then_some((200, metadata))
    });
    let mut remote = McpRemote::new(SERVER.to_owned());
    remote.oauth.client_id = Some("it self".to_owned());
    remote.oauth.client_secret = Some("s3cret-word".to_owned().into());
    // Whatever a server names as its authorization server, the secret of the settings goes to the one they name.
    let (person, watch) = (willing(), Arc::new(RemoteWatch::new(SecretRedactor::default())));
    for other in [None, Some("https://evil.example")] {
        remote.oauth.issuer = other.map(str::to_owned);
        let options = options(&person);
        let access = access(&remote, &options, &watch, &world);
        let refused = access.answer(&BearerChallenge::parse("Bearer scope=all"), None).await;
        assert!(refused.is_err() && world.forms().is_empty(), "{other:?}");
    }
    remote.oauth.issuer = Some("https://auth.example".to_owned());
    remote.oauth.is_for_itself = true;
    let person = willing();
    let watch = Arc::new(RemoteWatch::new(SecretRedactor::default()));
    let access = access(&remote, &options(&person), &watch, &world);
    access.answer(&BearerChallenge::parse("Bearer scope=all"), None).await.unwrap();
    assert_eq!(access.token().await, Ok(Some("access-1".to_owned())));
    let form = &world.forms()[0];
    assert!(form.contains("grant_type=client_credentials") && form.contains("scope=all"), "{form}");
    let seen = world.seen();
    let (_, proof) = seen.last().unwrap().headers.last().unwrap();
    assert_eq!(proof, "Basic aXQlMjBzZWxmOnMzY3JldC13b3Jk");
    assert!(person.pages.lock().unwrap().is_empty());
    assert_eq!(watch.redacted("s3cret-word"), "[key]");
}

#[tokio::test]
async fn tokens_of_older_versions_are_ignored() {
    let store = MemoryTokens::new();
    store.save(SERVER, Some("{\"access\":1}".into())).await.unwrap();
    let options = McpOptions::default().token_store(store);
    assert_eq!(access_of(&nobody(), &options).0.token().await, Ok(None));
}
