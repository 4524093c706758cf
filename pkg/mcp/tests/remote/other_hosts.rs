//! Tokens, and hosts that must not have them.

use std::sync::Mutex;

use super::{
    login::{
        RESOURCE_METADATA, SERVER, SERVER_METADATA, access, access_of, body, metadata, options,
        willing, world,
    },
    *,
};
use crate::{
    McpRemote, TokenStore as _, oauth::bearer_challenge::BearerChallenge,
    output::remote_watch::RemoteWatch,
};
use forgeline_llm::{private::SecretRedactor, transport::HttpRequest};

/// Words of which each is a secret of the login.
const SECRETS: [&str; 4] = ["access-", "refresh-", "code=", "code_verifier="];

/// Checks that only the authorization server has seen a secret.
fn check(seen: &[HttpRequest], case: &str) {
    for request in seen.iter().filter(|it| !it.url.starts_with("https://auth.example/")) {
        let headers: String = request.headers.iter().map(|(_, value)| value.as_str()).collect();
        let all = format!("{} {headers} {}", request.url, body(request));
        for secret in SECRETS {
            assert!(!all.contains(secret), "{case}: {all}");
        }
    }
}

/// Returns a change of one member of the authorization server's description.
fn member(name: &'static str, value: Value) -> impl Fn(&HttpRequest) -> Option<(u16, Value)> {
    move |request| {
        let mut metadata = metadata();
        metadata[name] = value.clone();
        (request.url == SERVER_METADATA).then_some((200, metadata))
    }
}

/// Returns a change of the description of the resource.
fn resource(
    resource: &'static str,
    server: &'static str,
) -> impl Fn(&HttpRequest) -> Option<(u16, Value)> {
    move |request| {
        let metadata = json!({ "resource": resource, "authorization_servers": [server] });
        (request.url == RESOURCE_METADATA).then_some((200, metadata))
    }
}

/// Answers requests to an address with a redirect to another host.
fn redirect(address: &'static str, status: u16) -> impl Fn(&HttpRequest) -> Option<(u16, Value)> {
    move |request| {
        let to = json!({ "location": "https://evil.example/taken" });
        (request.url == address).then_some((status, to))
    }
}

#[tokio::test]
async fn nobody_gets_a_token_to_another_host() {
    const HERE: &str = "https://auth.example";
    type Change = Box<dyn Fn(&HttpRequest) -> Option<(u16, Value)> + Send + Sync>;
    #[rustfmt::skip]
    let cases: Vec<(&str, &str, Change, &str)> = vec![
        ("metadata of another resource", "", Box::new(resource("https://evil.example/mcp", HERE)), "of another resource"),
        ("a name that begins alike",     "", Box::new(resource("https://mcp.example.evil/mcp", HERE)), "of another resource"),
        ("a path that begins alike",     "", Box::new(resource("https://mcp.example/mc", HERE)), "of another resource"),
        ("another port",                 "", Box::new(resource("https://mcp.example:444/mcp", HERE)), "of another resource"),
        ("the whole origin",             "", Box::new(resource("https://mcp.example", HERE)), "does not say so"),
        ("the path of another one",      "", Box::new(resource("https://mcp.example/other", HERE)), "of another resource"),
        ("a fragment",                   "", Box::new(resource("https://mcp.example/mcp#a", HERE)), "of another resource"),
        ("plain HTTP",                   "", Box::new(resource(SERVER, "http://auth.example")), "expected `https`"),
        ("this machine",                 "", Box::new(resource(SERVER, "http://localhost:9")), "is at this machine"),
        ("this machine, with TLS",       "", Box::new(resource(SERVER, "https://127.0.0.1:9")), "is at this machine"),
        ("another issuer",               "", Box::new(member("issuer", json!("https://evil.example"))), "says that it is another"),
        ("token endpoint on HTTP",       "", Box::new(member("token_endpoint", json!("http://auth.example/token"))), "token endpoint"),
        ("token endpoint here",          "", Box::new(member("token_endpoint", json!("http://[::1]/token"))), "is at this machine"),
        ("a page that is a script",      "", Box::new(member("authorization_endpoint", json!("javascript:alert(1)"))), "authorization endpoint"),
        ("registration on HTTP",         "", Box::new(member("registration_endpoint", json!("http://auth.example/r"))), "registration endpoint"),
        ("no PKCE",                      "", Box::new(member("code_challenge_methods_supported", json!(["plain"]))), "PKCE"),
        ("an authorization server near", "", Box::new(resource(SERVER, "https://192.168.0.1")), "is at a private network"),
        ("metadata inside the network",  "Bearer resource_metadata=\"http://169.254.169.254/\"", Box::new(|_| None), "expected `https`"),
        ("a user in an address",         "Bearer resource_metadata=\"https://mcp.example@evil.example/\"", Box::new(|_| None), "contains a user name"),
        ("a token that is redirected",   "", Box::new(redirect("https://auth.example/token", 307)), "status 307"),
        ("a client that is redirected",  "", Box::new(redirect("https://auth.example/register", 308)), "status 308"),
        ("metadata that is redirected",  "", Box::new(redirect(SERVER_METADATA, 302)), "does not say how to log in"),
    ];
    for (case, header, change, want) in cases {
        let world = world(change);
        let (access, _) = access_of(&world, &options(&willing()));
        let error = access.answer(&BearerChallenge::parse(header), None).await.unwrap_err();
        assert!(error.contains(want), "{case}: {error}");
        assert_eq!(access.token().await, Ok(None), "{case}");
        let seen = world.seen();
        check(&seen, case);
        assert!(!seen.iter().any(|it| it.url.contains("evil.example")), "{case}: {seen:?}");
        assert!(!seen.iter().any(|it| it.url.starts_with("http://")), "{case}: {seen:?}");
    }
}

#[tokio::test]
async fn a_page_in_place_of_a_description_is_none_and_where_the_server_names_it_an_error() {
    let page = || Some((200, json!("<html>")));
    // A host that has a page for each address: the description is at the next one, and the authorization server's too.
    let spread = world(move |request| match request.url.as_str() {
        RESOURCE_METADATA | SERVER_METADATA => page(),
        "https://mcp.example/.well-known/oauth-protected-resource" => {
            let servers = ["https://auth.example"];
            Some((200, json!({ "resource": SERVER, "authorization_servers": servers })))
        }
        "https://auth.example/.well-known/openid-configuration" => Some((200, metadata())),
        _ => None,
    });
    let (access, _) = access_of(&spread, &options(&willing()));
    access.answer(&BearerChallenge::default(), None).await.unwrap();
    assert_eq!(spread.forms().len(), 1);
    let named = format!("Bearer resource_metadata=\"{RESOURCE_METADATA}?key=s3cret\"");
    for (header, address, what) in [
        (&*named, RESOURCE_METADATA, "the description of a resource"),
        ("", SERVER_METADATA, "the description of the authorization server"),
        ("", "https://auth.example/register", "the registration of a client"),
        ("", "https://auth.example/token", "a token"),
    ] {
        let world = world(move |request| {
            let is_it = request.url.split('?').next() == Some(address);
            let is_other = what.contains("authorization") && request.url.contains("openid");
            if is_it || is_other { page() } else { None }
        });
        let (access, _) = access_of(&world, &options(&willing()));
        let error = access.answer(&BearerChallenge::parse(header), None).await.unwrap_err();
        assert!(error.contains(what) && error.contains("that are not"), "{error}");
        let host = address.split("/.well-known").next().unwrap();
        assert!(error.contains(host) && !error.contains("s3cret"), "{error}");
    }
}

#[tokio::test]
async fn a_resource_that_holds_the_server_counts_when_its_own_address_says_so() {
    const ROOT: &str = "https://mcp.example/.well-known/oauth-protected-resource";
    const ORIGIN: &str = "https://mcp.example";
    // What the root says: of the origin, of something else, and of an authorization server of its own.
    for (said, server, want) in [
        (Some(ORIGIN), "https://auth.example", Ok(ORIGIN)),
        (Some("https://mcp.example/other"), "https://auth.example", Err("does not say so")),
        (None, "https://auth.example", Err("does not say so")),
        (Some(ORIGIN), "https://mcp.example/gone", Err("does not say how to log in")),
    ] {
        let world = world(move |request| {
            if request.url == ROOT {
                let metadata = json!({ "resource": said, "authorization_servers": [server] });
                return Some((200, metadata));
            }
            // The path of one server says that it speaks for all of them.
            resource(ORIGIN, "https://auth.example")(request)
        });
        let person = willing();
        let (access, _) = access_of(&world, &options(&person));
        let answered = access.answer(&BearerChallenge::default(), None).await;
        match want {
            Ok(name) => {
                answered.unwrap();
                let page = person.pages.lock().unwrap()[0].clone();
                assert_eq!(super::login::query(&page, "resource"), name);
            }
            Err(problem) => {
                let error = answered.unwrap_err();
                assert!(error.contains(problem), "{error}");
                assert!(world.forms().is_empty() && person.pages.lock().unwrap().is_empty());
            }
        }
    }
    // Found at the root, and of the root, it needs no other word.
    let world = world(|request| {
        let is_own = request.url == RESOURCE_METADATA;
        let metadata =
            json!({ "resource": ORIGIN, "authorization_servers": ["https://auth.example"] });
        is_own.then_some((404, Value::Null)).or((request.url == ROOT).then_some((200, metadata)))
    });
    let (access, _) = access_of(&world, &options(&willing()));
    access.answer(&BearerChallenge::default(), None).await.unwrap();
    assert_eq!(world.seen().iter().filter(|it| it.url == ROOT).count(), 1);
}

#[tokio::test]
async fn entries_of_one_address_share_a_login_only_with_the_same_client() {
    let plain = || McpRemote::new(SERVER.to_owned());
    let with = |change: fn(&mut McpRemote)| {
        let mut remote = plain();
        change(&mut remote);
        remote
    };
    #[rustfmt::skip]
    let cases: [(McpRemote, bool); 7] = [
        (plain(),                                                                  true),
        (with(|it| it.headers.push(("x-key".to_owned(), "k".to_owned().into()))), true),
        (with(|it| it.oauth.client_id = Some("other".to_owned())),                 false),
        (with(|it| it.oauth.scopes = vec!["admin".to_owned()]),                    false),
        (with(|it| it.oauth.client_metadata_url = Some("https://me/id".to_owned())), false),
        (with(|it| it.oauth.issuer = Some("https://auth.example".to_owned())),     false),
        (with(|it| it.url.push_str("?tenant=2")),                                  false),
    ];
    let (world, watch) = (world(|_| None), Arc::new(RemoteWatch::new(SecretRedactor::default())));
    let options = options(&willing());
    let (first, _) = access_of(&world, &options);
    first.answer(&BearerChallenge::default(), None).await.unwrap();
    for (remote, is_shared) in cases {
        let other = access(&remote, &options, &watch, &world);
        let token = other.token().await.unwrap();
        assert_eq!(token.as_deref(), is_shared.then_some("access-1"), "{remote:?}");
        if !is_shared {
            // Its own login is found again by its own entry, and takes the other's place nowhere.
            other.answer(&BearerChallenge::default(), None).await.unwrap();
            let own = other.token().await.unwrap();
            let again = access(&remote, &options, &watch, &world);
            assert_eq!(again.token().await.unwrap(), own, "{remote:?}");
        }
    }
    assert_eq!(access_of(&world, &options).0.token().await.unwrap().as_deref(), Some("access-1"));
}

#[tokio::test]
async fn tokens_of_one_authorization_server_are_not_sent_to_the_next() {
    let has_moved = Arc::new(Mutex::new(false));
    let moved = Arc::clone(&has_moved);
    let world = world(move |request| {
        let next = || {
            let mut text = metadata().to_string();
            text = text.replace("auth.example", "next.example");
            serde_json::from_str(&text).unwrap()
        };
        match request.url.as_str() {
            RESOURCE_METADATA if *moved.lock().unwrap() => {
                resource(SERVER, "https://next.example")(request)
            }
            "https://next.example/.well-known/oauth-authorization-server" => Some((200, next())),
            "https://next.example/register" => Some((201, json!({ "client_id": "client-2" }))),
            "https://next.example/token" => {
                Some((200, json!({ "access_token": "other", "token_type": "Bearer" })))
            }
            _ => None,
        }
    });
    let person = willing();
    let (access, _) = access_of(&world, &options(&person));
    access.answer(&BearerChallenge::default(), None).await.unwrap();
    *has_moved.lock().unwrap() = true;
    access.answer(&BearerChallenge::default(), Some("access-1")).await.unwrap();
    assert_eq!(access.token().await, Ok(Some("other".to_owned())));
    assert_eq!(person.pages.lock().unwrap()[1].host_str(), Some("next.example"));
    let seen = world.seen();
    let to_next = seen.iter().filter(|it| it.url.starts_with("https://next.example/"));
    assert!(to_next.clone().count() > 2);
    assert!(
        to_next.clone().all(|it| !body(it).contains("refresh-1") && !body(it).contains("client-1"))
    );
}

#[tokio::test]
async fn a_token_is_not_renewed_at_an_address_that_cannot_be_trusted() {
    let store = MemoryTokens::new();
    let grant = json!({
        "issuer": "https://auth.example",
        "token_endpoint": "http://auth.example/token",
        "resource": SERVER,
        "client": { "id": "client-1", "secret": null, "proof": "none", "redirect": null },
        "access_token": "access-1",
        "refresh_token": "refresh-1",
        "expires_at": 1,
        "scopes": [],
    });
    store.save(SERVER, Some(grant.to_string().into())).await.unwrap();
    let world = world(|_| None);
    let (access, _) = access_of(&world, &McpOptions::default().token_store(store));
    assert_eq!(access.token().await, Ok(None));
    assert!(world.seen().is_empty());
}

#[tokio::test]
async fn no_token_is_sent_over_plain_http() {
    for url in ["http://mcp.example/mcp", "http://10.0.0.5/mcp"] {
        let (world, person) = (world(|_| None), willing());
        let options = logged_in(url).await.logins(person.clone());
        let watch = Arc::new(RemoteWatch::new(SecretRedactor::default()));
        let remote = McpRemote::new(url.to_owned());
        let access = access(&remote, &options, &watch, &world);
        assert_eq!(access.token().await, Ok(None));
        let error = access.answer(&BearerChallenge::default(), None).await.unwrap_err();
        assert_eq!(error, "it needs a login, and is reached over plain HTTP; use `https`");
        assert!(world.seen().is_empty() && person.pages.lock().unwrap().is_empty());
    }
}

/// Returns the options of a user who is logged in to the server at this address.
async fn logged_in(url: &str) -> McpOptions {
    let grant = json!({
        "issuer": "https://auth.example",
        "token_endpoint": "https://auth.example/token",
        "resource": url,
        "client": { "id": "client-1", "secret": null, "proof": "none", "redirect": null },
        "access_token": "access-1",
        "refresh_token": null,
        "expires_at": null,
        "scopes": [],
    });
    let store = MemoryTokens::new();
    store.save(url, Some(grant.to_string().into())).await.unwrap();
    McpOptions::default().token_store(store)
}

#[tokio::test]
async fn a_redirect_takes_neither_headers_nor_tokens_to_another_origin() {
    for status in [301, 302, 303, 307, 308] {
        let evil = Server::start(|seen| seen.legacy(done)).await;
        let to = evil.url("/mcp");
        let is_moved = Arc::new(Mutex::new(false));
        let moved = Arc::clone(&is_moved);
        let server = Server::start(move |seen| {
            if *moved.lock().unwrap() {
                return Reply::status(status).header("location", to.clone());
            }
            seen.legacy(done)
        })
        .await;
        let url = server.url("/mcp");
        let members = json!({ "url": url, "headers": { "X-Key": "${KEY}" } });
        let servers = connect_with(members.clone(), logged_in(&url).await).await.unwrap();
        let tool = tool(&servers).await;
        *is_moved.lock().unwrap() = true;
        let error = tool.execute(ToolContext::default(), json!({}).into()).await.unwrap_err();
        assert!(error.to_string().contains(&status.to_string()), "{error}");
        assert!(connect_with(members, logged_in(&url).await).await.is_err());
        servers.close().await;
        assert!(evil.seen().is_empty(), "{status}: {:?}", evil.seen());
        let all = server.seen();
        assert!(
            all.iter().all(|it| it.header("authorization") == Some("Bearer access-1")),
            "{all:?}"
        );
    }
}

#[tokio::test]
async fn a_redirect_within_the_origin_is_followed_when_it_keeps_the_request() {
    for (status, is_followed) in
        [(307, true), (308, true), (301, false), (302, false), (303, false)]
    {
        let server = Server::start(move |seen| {
            if seen.target == "/mcp" {
                return Reply::status(status).header("location", "/mcp/");
            }
            seen.legacy(done)
        })
        .await;
        let url = server.url("/mcp");
        let members = json!({ "url": url, "headers": { "X-Key": "${KEY}" } });
        let servers = connect_with(members, logged_in(&url).await).await;
        assert_eq!(servers.is_ok(), is_followed, "{status}: {servers:?}");
        let Ok(servers) = servers else { continue };
        assert_eq!(call(&servers).await.unwrap(), "done");
        let all = server.seen();
        let beyond: Vec<_> = all.iter().filter(|it| it.target == "/mcp/").collect();
        assert!(beyond.iter().all(|it| it.header("authorization") == Some("Bearer access-1")));
    }
}

#[tokio::test]
async fn a_header_of_the_file_that_says_who_asks_is_the_only_one() {
    let server = Server::start(|seen| seen.legacy(done)).await;
    let url = server.url("/mcp");
    let members = json!({ "url": url, "headers": { "authorization": "Bearer ${KEY}" } });
    let servers = connect_with(members, logged_in(&url).await).await.unwrap();
    assert_eq!(call(&servers).await.unwrap(), "done");
    let all = server.seen();
    assert!(
        all.iter().all(|it| it.header("authorization") == Some("Bearer s3cret-key")),
        "{all:?}"
    );
}
