use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use axum::http::{StatusCode, request::Parts};
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD as BASE64};
use futures_util::stream;
use ring::{
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _},
};
use serde_json::{Value, json};

use super::*;
use axum::response::IntoResponse as _;
use forgeline_llm::transport::{HttpRequest, HttpResponse, TransportFuture};

const ISSUER: &str = "https://login.example/tenant";
const DESCRIPTION: &str = "https://login.example/tenant/.well-known/openid-configuration";
const KEYS: &str = "https://keys.example/jwks";

/// A key of the login server.
enum Signer {
    Ed(Ed25519KeyPair),
    Ec(EcdsaKeyPair),
}

impl Signer {
    fn ed() -> Self {
        let document = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        Self::Ed(Ed25519KeyPair::from_pkcs8(document.as_ref()).unwrap())
    }

    fn ec() -> Self {
        let (kind, random) = (&ECDSA_P256_SHA256_FIXED_SIGNING, SystemRandom::new());
        let document = EcdsaKeyPair::generate_pkcs8(kind, &random).unwrap();
        Self::Ec(EcdsaKeyPair::from_pkcs8(kind, document.as_ref(), &random).unwrap())
    }

    fn public(&self, id: &str) -> Value {
        match self {
            Self::Ed(pair) => {
                let x = BASE64.encode(pair.public_key());
                json!({ "kty": "OKP", "crv": "Ed25519", "x": x, "kid": id, "use": "sig" })
            }
            Self::Ec(pair) => {
                let (x, y) = pair.public_key().as_ref()[1..].split_at(32);
                let (x, y) = (BASE64.encode(x), BASE64.encode(y));
                json!({ "kty": "EC", "crv": "P-256", "x": x, "y": y, "kid": id, "alg": "ES256" })
            }
        }
    }

    fn token(&self, id: &str, claims: &Value) -> String {
        let algorithm = match self {
            Self::Ed(_) => "EdDSA",
            Self::Ec(_) => "ES256",
        };
        self.signed(&json!({ "alg": algorithm, "kid": id }), claims)
    }

    fn signed(&self, header: &Value, claims: &Value) -> String {
        let part = |value: &Value| BASE64.encode(value.to_string());
        let message = format!("{}.{}", part(header), part(claims));
        let signature = match self {
            Self::Ed(pair) => pair.sign(message.as_bytes()).as_ref().to_vec(),
            Self::Ec(pair) => {
                pair.sign(&SystemRandom::new(), message.as_bytes()).unwrap().as_ref().to_vec()
            }
        };
        format!("{message}.{}", BASE64.encode(signature))
    }
}

/// The status and the bytes of each page, by URL.
type Pages = BTreeMap<String, (u16, Vec<u8>)>;

/// The pages of a login server.
#[derive(Clone, Default)]
struct LoginServer {
    pages: Arc<Mutex<Pages>>,
    looks: Arc<AtomicUsize>,
}

impl LoginServer {
    fn new(keys: &[Value]) -> Self {
        let server = Self::default();
        server.set(DESCRIPTION, 200, &json!({ "issuer": ISSUER, "jwks_uri": KEYS }));
        server.set_keys(keys);
        server
    }

    fn set(&self, url: &str, status: u16, page: &Value) {
        let page = (status, page.to_string().into_bytes());
        self.pages.lock().unwrap().insert(url.to_owned(), page);
    }

    fn set_keys(&self, keys: &[Value]) {
        self.set(KEYS, 200, &json!({ "keys": keys }));
    }

    fn looks(&self) -> usize {
        self.looks.load(Ordering::Relaxed)
    }
}

impl Transport for LoginServer {
    fn send(&self, request: HttpRequest) -> TransportFuture {
        self.looks.fetch_add(usize::from(request.url == DESCRIPTION), Ordering::Relaxed);
        let page = self.pages.lock().unwrap().get(&*request.url).cloned();
        Box::pin(async move {
            // A page that does not exist never answers.
            let Some((status, page)) = page else { return std::future::pending().await };
            let pieces: Vec<_> = page.chunks(1 << 10).map(|it| Ok(it.to_vec().into())).collect();
            Ok(HttpResponse::new(status, Box::pin(stream::iter(pieces))))
        })
    }
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

/// Claims that are accepted, with these instead of some; `null` takes one out.
fn claims(changes: &Value) -> Value {
    let mut claims = json!({
        "iss": ISSUER, "aud": "forgeline", "sub": "ann", "exp": now() + 600, "org": "team-a",
    });
    for (name, value) in changes.as_object().unwrap() {
        claims[name] = value.clone();
    }
    claims.as_object_mut().unwrap().retain(|_, value| !value.is_null());
    claims
}

fn options() -> OidcOptions {
    OidcOptions::new(ISSUER, "forgeline")
        .scope_claim("org")
        .permission_claim("roles")
        .permission("operator", "service.observe")
        .permission("operator", "service.notify")
        .permission("sender", "service.notify")
}

async fn connect(server: &LoginServer) -> OidcCallers {
    OidcCallers::connect(options(), Arc::new(server.clone())).await.unwrap()
}

fn parts(token: &str) -> Parts {
    let request =
        axum::http::Request::get("/v1/runs").header("authorization", format!("Bearer {token}"));
    request.body(()).unwrap().into_parts().0
}

async fn identify(callers: &OidcCallers, token: &str) -> Result<Caller, Problem> {
    let parts = parts(token);
    if let Some(preparation) = callers.prepare(&parts) {
        preparation.await;
    }
    callers.identify(&parts)
}

#[tokio::test]
async fn a_token_of_the_login_server_is_a_caller_with_the_permissions_of_its_roles() {
    for signer in [Signer::ed(), Signer::ec()] {
        let callers = connect(&LoginServer::new(&[signer.public("1")])).await;
        for (roles, permissions) in [
            (json!(["operator", "other"]), &["service.notify", "service.observe"][..]),
            (json!("sender other"), &["service.notify"]),
            (json!(["service.observe"]), &[]),
            (json!({ "operator": true }), &[]),
            (Value::Null, &[]),
        ] {
            let claims = claims(&json!({ "roles": roles, "aud": ["other", "forgeline"] }));
            let caller = identify(&callers, &signer.token("1", &claims)).await.unwrap();
            assert_eq!((&*caller.id, caller.scope.as_deref()), ("oidc:ann", Some("team-a")));
            let given: Vec<_> = caller.permissions.iter().map(|it| &**it).collect();
            assert_eq!(given, permissions, "{roles}");
        }
    }
}

#[tokio::test]
async fn a_token_that_is_wrong_in_any_way_is_nobody_and_its_problem_says_why() {
    let (signer, stranger) = (Signer::ed(), Signer::ed());
    let encryption = {
        let mut key = Signer::ed().public("encryption");
        key["use"] = "enc".into();
        key
    };
    let secret = json!({ "kty": "oct", "k": BASE64.encode("shared"), "kid": "secret" });
    let keys = [signer.public("1"), Signer::ec().public("2"), encryption, secret];
    let callers = connect(&LoginServer::new(&keys)).await;
    let with = |changes: Value| signer.token("1", &claims(&changes));
    let header = |header: Value| signer.signed(&header, &claims(&json!({})));
    let rows = [
        (with(json!({ "exp": now() - 61 })), "it has expired; log in again"),
        (with(json!({ "exp": null })), "it has no usable claim `exp`"),
        (with(json!({ "exp": "soon" })), "it has no usable claim `exp`"),
        (with(json!({ "nbf": now() + 90 })), "it is not valid yet"),
        (with(json!({ "iss": "https://login.example" })), "its issuer is not"),
        (with(json!({ "iss": null })), "it has no usable claim `iss`"),
        (with(json!({ "aud": "another" })), "it is not for `forgeline`"),
        (with(json!({ "aud": null })), "it has no usable claim `aud`"),
        (with(json!({ "sub": null })), "it has no text in the claim `sub`"),
        (with(json!({ "sub": "an n" })), "its claim `sub` is not a word"),
        (with(json!({ "sub": "" })), "its claim `sub` is not a word"),
        (with(json!({ "sub": "x".repeat(201) })), "its claim `sub` is not a word"),
        (with(json!({ "sub": 7 })), "it has no text in the claim `sub`"),
        (with(json!({ "org": null })), "it has no text in the claim `org`"),
        (with(json!({ "org": "caller:bob" })), "begins with `caller:`"),
        (with(json!({ "long": "x".repeat(16 << 10) })), "it has more than 16384 bytes"),
        (stranger.token("1", &claims(&json!({}))), "its signature is wrong"),
        (stranger.token("3", &claims(&json!({}))), "a key that the login server does not have"),
        (header(json!({ "alg": "EdDSA" })), "a key that the login server does not have"),
        (
            header(json!({ "alg": "EdDSA", "kid": "2" })),
            "a key that the login server does not have",
        ),
        (header(json!({ "alg": "EdDSA", "kid": "encryption" })), "does not have"),
        (header(json!({ "alg": "HS256", "kid": "1" })), "does not have"),
        (header(json!({ "alg": "HS256", "kid": "secret" })), "does not have"),
        (header(json!({ "alg": "RS256", "kid": "1" })), "does not have"),
        (header(json!({ "alg": "none", "kid": "1" })), "it is not a JSON Web Token"),
        ("a.b.c".to_owned(), "it is not a JSON Web Token"),
        ("..".to_owned(), "it is not a JSON Web Token"),
    ];
    for (token, reason) in rows {
        let problem = identify(&callers, &token).await.unwrap_err();
        assert!(problem.to_string().contains(reason), "{problem}, not {reason}");
        assert!(!problem.to_string().contains(&token));
        assert_eq!(problem.into_response().status(), StatusCode::UNAUTHORIZED);
    }
    assert!(identify(&callers, &with(json!({}))).await.is_ok());
}

#[tokio::test]
async fn a_token_with_any_changed_sign_is_nobody() {
    let signer = Signer::ed();
    let callers = connect(&LoginServer::new(&[signer.public("1")])).await;
    let token = signer.token("1", &claims(&json!({})));
    for at in 0..token.len() {
        for sign in ["A", "_", ".", ""] {
            let (before, after) = token.split_at(at);
            let changed = format!("{before}{sign}{}", after.split_at(1).1);
            assert_eq!(callers.identify(&parts(&changed)).is_ok(), changed == token, "{at} {sign}");
        }
    }
}

#[tokio::test]
async fn clocks_may_differ_by_the_leeway() {
    let signer = Signer::ed();
    let server = LoginServer::new(&[signer.public("1")]);
    let options = options().leeway(Duration::from_hours(1));
    let callers = OidcCallers::connect(options, Arc::new(server)).await.unwrap();
    // A stall of the machine is shorter than what is left of the hour.
    for (changes, is_in) in [
        (json!({ "exp": now() - 1_800 }), true),
        (json!({ "exp": now() - 3_601 }), false),
        (json!({ "nbf": now() + 1_800 }), true),
        (json!({ "nbf": now() + 5_400 }), false),
    ] {
        let token = signer.token("1", &claims(&changes));
        assert_eq!(identify(&callers, &token).await.is_ok(), is_in, "{changes}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_changed_key_is_found_and_a_withdrawn_one_is_forgotten() {
    let (old, new) = (Signer::ed(), Signer::ed());
    let server = LoginServer::new(&[old.public("old")]);
    let callers = connect(&server).await;
    let (by_old, by_new) =
        (old.token("old", &claims(&json!({}))), new.token("new", &claims(&json!({}))));
    server.set_keys(&[old.public("old"), new.public("new")]);
    // Whatever tokens say, the login server is asked once in 10 s.
    for _ in 0..50 {
        assert!(identify(&callers, &by_new).await.is_err());
    }
    assert_eq!(server.looks(), 1);
    tokio::time::advance(LOOK_AGAIN).await;
    assert!(identify(&callers, &by_new).await.is_ok());
    assert!(identify(&callers, &by_old).await.is_ok());
    assert_eq!(server.looks(), 2);
    // A known key is looked for again only after a time.
    server.set_keys(&[new.public("new")]);
    tokio::time::advance(KEYS_AGE).await;
    assert!(identify(&callers, &by_old).await.is_ok());
    tokio::time::advance(Duration::from_secs(1)).await;
    assert!(identify(&callers, &by_old).await.is_err());
    assert!(identify(&callers, &by_new).await.is_ok());
    assert_eq!(server.looks(), 3);
    // A login server that fails takes nobody's access.
    server.set(KEYS, 500, &json!({}));
    tokio::time::advance(KEYS_AGE + Duration::from_secs(1)).await;
    assert!(identify(&callers, &by_new).await.is_ok());
    assert_eq!(server.looks(), 4);
}

#[tokio::test(start_paused = true)]
async fn of_requests_with_a_known_key_one_waits_for_a_login_server_that_does_not_answer() {
    let signer = Signer::ed();
    let server = LoginServer::new(&[signer.public("1")]);
    let callers = connect(&server).await;
    server.pages.lock().unwrap().clear();
    tokio::time::advance(KEYS_AGE + Duration::from_secs(1)).await;
    let token = signer.token("1", &claims(&json!({})));
    let begun = Instant::now();
    let mut slow = std::pin::pin!(identify(&callers, &token));
    assert!(futures_util::poll!(&mut slow).is_pending());
    assert!(identify(&callers, &token).await.is_ok());
    assert_eq!(begun.elapsed(), Duration::ZERO);
    assert!(slow.await.is_ok());
    assert_eq!(begun.elapsed(), Duration::from_secs(10));
}

#[tokio::test(start_paused = true)]
async fn a_login_server_that_cannot_be_used_is_said_with_what_to_do() {
    let signer = Signer::ed();
    let connect = async |issuer: &str, server: &LoginServer| {
        let options = OidcOptions::new(issuer, "forgeline");
        OidcCallers::connect(options, Arc::new(server.clone())).await.unwrap_err()
    };
    let server = LoginServer::new(&[signer.public("1")]);
    for issuer in [
        "",
        "login.example",
        "http://login.example",
        "ftp://h",
        "https://a:b@login.example",
        "https://",
    ] {
        let error = connect(issuer, &server).await;
        assert!(matches!(error, OidcError::Url { .. }), "{issuer}: {error}");
    }
    assert!(!connect("https://a:secret@h", &server).await.to_string().contains("secret"));
    let rows: [(&str, &str, u16, Value, &str); 8] = [
        ("status", DESCRIPTION, 404, json!({}), "its status is 404"),
        ("other", DESCRIPTION, 200, json!({ "issuer": "https://x" }), "calls itself \"https://x\""),
        ("none", DESCRIPTION, 200, json!([]), "calls itself \"\""),
        (
            "http",
            DESCRIPTION,
            200,
            json!({ "issuer": ISSUER, "jwks_uri": "http://localhost/" }),
            "expected an https URL",
        ),
        (
            "file",
            DESCRIPTION,
            200,
            json!({ "issuer": ISSUER, "jwks_uri": "file:///etc/passwd" }),
            "expected an https URL",
        ),
        (
            "keys",
            KEYS,
            200,
            json!({ "keys": [{ "kty": "oct", "k": "c2hhcmVk" }] }),
            "has no key for",
        ),
        ("shape", KEYS, 200, json!({ "keys": 7 }), "has no key for"),
        ("long", KEYS, 200, json!({ "keys": ["x".repeat(513 << 10)] }), "more than 524288 bytes"),
    ];
    for (name, url, status, page, want) in rows {
        let server = LoginServer::new(&[signer.public("1")]);
        server.set(url, status, &page);
        let error = connect(ISSUER, &server).await.to_string();
        assert!(error.contains(want), "{name}: {error}");
    }
    let server = LoginServer::new(&[]);
    server.pages.lock().unwrap().insert(DESCRIPTION.into(), (200, b"<html>".to_vec()));
    assert!(connect(ISSUER, &server).await.to_string().contains("it has no JSON"));
    server.pages.lock().unwrap().clear();
    assert!(connect(ISSUER, &server).await.to_string().contains("no answer within 10 s"));
}
