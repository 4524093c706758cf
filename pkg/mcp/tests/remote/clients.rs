//! Clients of authorization servers: whose secret goes where, and which registration is used again.

use std::sync::Mutex;

use futures_core::future::BoxFuture;
use futures_util::FutureExt as _;
use url::Url;

use super::{
    login::{
        RESOURCE_METADATA, SERVER, World, access, access_of, body, issued, metadata, options,
        query, willing, world,
    },
    *,
};
use crate::{
    McpLogin, McpLoginError, McpLogins, McpRemote, oauth::bearer_challenge::BearerChallenge,
    output::remote_watch::RemoteWatch,
};
use forgeline_llm::private::SecretRedactor;

/// Returns a world in which the server names this authorization server.
fn named(issuer: &'static str) -> Arc<World> {
    world(move |request| {
        let described = || metadata().to_string().replace("https://auth.example", issuer);
        match request.url.strip_prefix(issuer) {
            _ if request.url == RESOURCE_METADATA => {
                Some((200, json!({ "resource": SERVER, "authorization_servers": [issuer] })))
            }
            Some("/.well-known/oauth-authorization-server") => {
                Some((200, serde_json::from_str(&described()).unwrap()))
            }
            Some("/token") => Some((200, issued(1, 3_600))),
            _ => None,
        }
    })
}

#[tokio::test]
async fn the_secret_of_a_client_goes_only_to_the_server_s_own_host_or_to_the_named_issuer() {
    #[rustfmt::skip]
    let rows = [
        // The issuer in the settings, the one that the server names, and whether it may get the secret.
        (None,                                  "https://mcp.example",      true),
        (None,                                  "https://auth.example",     false),
        (None,                                  "https://auth.mcp.example", false),
        (None,                                  "https://mcp.example.evil", false),
        (Some("https://auth.example"),          "https://auth.example",     true),
        (Some("https://auth.example/"),         "https://auth.example",     true),
        (Some("https://auth.example"),          "https://mcp.example",      false),
        (Some("https://auth.example"),          "https://next.example",     false),
        (Some("https://auth.example.evil"),     "https://auth.example",     false),
    ];
    for (own, issuer, may_have) in rows {
        for is_for_itself in [false, true] {
            let case = format!("{own:?}, {issuer}, {is_for_itself}");
            let world = named(issuer);
            let mut remote = McpRemote::new(SERVER.to_owned());
            remote.oauth.client_id = Some("own".to_owned());
            remote.oauth.client_secret = Some("s3cret-word".to_owned().into());
            remote.oauth.issuer = own.map(str::to_owned);
            remote.oauth.is_for_itself = is_for_itself;
            let person = willing();
            let watch = Arc::new(RemoteWatch::new(SecretRedactor::default()));
            let access = access(&remote, &options(&person), &watch, &world);
            let answered = access.answer(&BearerChallenge::default(), None).await;
            let seen = world.seen();
            let proofs: Vec<String> = seen
                .iter()
                .filter(|it| it.headers.iter().any(|(name, _)| *name == "authorization"))
                .map(|it| it.url.to_string())
                .collect();
            assert!(seen.iter().all(|it| !body(it).contains("s3cret-word")), "{case}");
            if may_have {
                answered.unwrap();
                assert_eq!(proofs, [format!("{issuer}/token")], "{case}");
            } else {
                let error = answered.unwrap_err();
                assert!(error.contains("may not get `oauth.clientSecret`"), "{case}: {error}");
                assert!(proofs.is_empty() && world.forms().is_empty(), "{case}: {seen:?}");
                assert!(person.pages.lock().unwrap().is_empty(), "{case}: no person is asked");
            }
        }
    }
}

/// A person whose answers arrive at this port.
#[derive(Clone)]
struct AtPort(u16, Arc<Mutex<Vec<Url>>>);

impl McpLogins for AtPort {
    fn begin(&self, _server: &str) -> BoxFuture<'static, Result<Box<dyn McpLogin>, McpLoginError>> {
        let login: Box<dyn McpLogin> = Box::new(self.clone());
        async { Ok(login) }.boxed()
    }
}

impl McpLogin for AtPort {
    fn redirect_uri(&self) -> String {
        format!("http://127.0.0.1:{}/callback", self.0)
    }

    fn answer(self: Box<Self>, page: &str) -> BoxFuture<'static, Result<String, McpLoginError>> {
        let page: Url = page.parse().unwrap();
        let answer = format!("{}?code=code-1&state={}", self.redirect_uri(), query(&page, "state"));
        self.1.lock().unwrap().push(page);
        async { Ok(answer) }.boxed()
    }
}

#[tokio::test]
async fn a_client_that_is_registered_with_another_redirect_address_is_not_used_again() {
    let world = world(|request| {
        if request.url.ends_with("/register") {
            let asked: Value = serde_json::from_str(&body(request)).unwrap();
            let redirect = asked["redirect_uris"][0].as_str().unwrap();
            return Some((201, json!({ "client_id": format!("of {redirect}") })));
        }
        // Nothing can be renewed: a person logs in each time.
        let is_renewal = body(request).contains("grant_type=refresh_token");
        is_renewal.then(|| (400, json!({ "error": "invalid_grant" })))
    });
    let store = MemoryTokens::new();
    let mut registrations = Vec::new();
    for (at, port) in [7_001, 7_001, 7_002, 7_002, 7_001].into_iter().enumerate() {
        let pages = Arc::default();
        let person = AtPort(port, Arc::clone(&pages));
        let options = McpOptions::default().token_store(store.clone()).logins(person);
        let (access, _) = access_of(&world, &options);
        let sent = access.token().await.unwrap();
        assert_eq!(sent.is_some(), at > 0);
        access.answer(&BearerChallenge::default(), sent.as_deref()).await.unwrap();
        let page = pages.lock().unwrap().remove(0);
        let redirect = format!("http://127.0.0.1:{port}/callback");
        assert_eq!(query(&page, "redirect_uri"), redirect);
        assert_eq!(query(&page, "client_id"), format!("of {redirect}"), "login {at}");
        let count = world.seen().iter().filter(|it| it.url.ends_with("/register")).count();
        registrations.push(count);
    }
    assert_eq!(registrations, [1, 1, 2, 2, 3]);
}
