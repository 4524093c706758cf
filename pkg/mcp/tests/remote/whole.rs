//! A login from the first refusal to the next process, over sockets.

use std::{fmt::Write as _, sync::Mutex};

use tracing::{
    Event, Metadata, Subscriber,
    field::{Field, Visit},
    span,
};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use super::*;
use crate::{FileTokens, LoopbackLogins};

/// A server with its own authorization server. Its first token can be revoked.
async fn guarded() -> Server {
    let is_revoked = Mutex::new(false);
    let takes = move |seen: &Seen| {
        let mut is_revoked = is_revoked.lock().unwrap();
        *is_revoked |= seen.target == "/mcp" && seen.method == "REVOKE";
        let token = seen.header("authorization").and_then(|it| it.strip_prefix("Bearer t0ken-"));
        token.is_some_and(|token| !*is_revoked || token != "1")
    };
    let logins = Mutex::new(0);
    Server::start(move |seen| {
        let here = format!("http://{}", seen.header("host").unwrap());
        let address = |path: &str| json!(format!("{here}{path}"));
        let (path, query) = seen.target.split_once('?').unwrap_or((&seen.target, ""));
        match path {
            "/mcp" if takes(seen) => seen.legacy(done),
            "/mcp" => Reply::status(401).header("www-authenticate", "Bearer scope=\"all\""),
            "/.well-known/oauth-protected-resource/mcp" => Reply::json(&json!({
                "resource": address("/mcp"),
                "authorization_servers": [here],
            })),
            "/.well-known/oauth-authorization-server" => Reply::json(&json!({
                "issuer": here,
                "authorization_endpoint": address("/page"),
                "token_endpoint": address("/token"),
                "registration_endpoint": address("/clients"),
                "code_challenge_methods_supported": ["S256"],
            })),
            "/clients" => Reply::json(&json!({ "client_id": "client-1" })),
            "/page" => {
                let part = |name| query.split('&').find_map(|it| it.strip_prefix(name)).unwrap();
                let to = part("redirect_uri=").replace("%3A", ":").replace("%2F", "/");
                Reply::status(302)
                    .header("location", format!("{to}?code=c0de&state={}", part("state=")))
            }
            "/token" => {
                let mut logins = logins.lock().unwrap();
                *logins += 1;
                let token = format!("t0ken-{logins}");
                Reply::json(&json!({ "access_token": token, "token_type": "Bearer" }))
            }
            _ => Reply::status(404),
        }
    })
    .await
}

/// Takes the first token back.
async fn revoke(server: &Server) {
    let at = server.url("");
    let mut stream = TcpStream::connect(at.strip_prefix("http://").unwrap()).await.unwrap();
    stream.write_all(b"REVOKE /mcp HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    stream.read_to_end(&mut Vec::new()).await.unwrap();
}

/// Opens a page as a browser does, and follows where it leads.
async fn browse(mut page: String) {
    while !page.is_empty() {
        let rest = page.strip_prefix("http://").unwrap();
        let (host, path) = rest.split_once('/').unwrap();
        let mut stream = TcpStream::connect(host).await.unwrap();
        let request = format!("GET /{path} HTTP/1.1\r\nhost: {host}\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        let to = answer.lines().find_map(|line| line.strip_prefix("location: "));
        page = to.unwrap_or_default().to_owned();
    }
}

#[tokio::test]
async fn a_person_logs_in_once_and_the_next_process_needs_no_login() {
    let logs = Logs::default();
    // All tasks of this test are on its thread.
    crate::tests::subscriber::ask_each_time();
    let _logged = tracing::subscriber::set_default(logs.clone());
    let server = guarded().await;
    let folder = std::env::temp_dir().join(format!("forgeline-mcp-login-{}", std::process::id()));
    std::fs::remove_dir_all(&folder).ok();
    let members = json!({ "url": server.url("/mcp") });
    let options = McpOptions::default().token_store(FileTokens::new(&folder));
    let error = connect_with(members.clone(), options.clone()).await.unwrap_err().to_string();
    assert_eq!(
        error,
        "the MCP server `s` denies access: it needs a login, and there is no person to ask for one; check its login or token"
    );
    let logins = LoopbackLogins::new(|_, page| {
        tokio::spawn(browse(page.to_owned()));
    });
    let servers = connect_with(members.clone(), options.clone().logins(logins)).await.unwrap();
    assert_eq!(call(&servers).await.unwrap(), "done");
    drop(servers);
    let servers = connect_with(members, options).await.unwrap();
    assert_eq!(call(&servers).await.unwrap(), "done");
    let shown = format!("{servers:?}");
    assert!(!shown.contains("t0ken-"), "{shown}");
    let pages = server.seen().iter().filter(|seen| seen.target.starts_with("/page")).count();
    assert_eq!(pages, 1);
    let logs = logs.0.lock().unwrap().clone();
    assert!(logs.contains("rmcp"), "something is logged");
    for secret in ["t0ken-", "c0de", "code_verifier"] {
        assert!(!logs.contains(secret), "{secret}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[tokio::test]
async fn a_token_that_the_server_takes_back_is_a_new_login_in_the_middle_of_a_session() {
    let server = guarded().await;
    let logins = LoopbackLogins::new(|_, page| {
        tokio::spawn(browse(page.to_owned()));
    });
    let options = McpOptions::default().token_store(MemoryTokens::new()).logins(logins);
    let servers = connect_with(json!({ "url": server.url("/mcp") }), options).await.unwrap();
    assert_eq!(call(&servers).await.unwrap(), "done");
    revoke(&server).await;
    assert_eq!(call(&servers).await.unwrap(), "done");
    let calls = server.seen().into_iter().filter(|seen| seen.json()["method"] == "tools/call");
    let tokens: Vec<_> =
        calls.map(|seen| seen.header("authorization").unwrap_or_default().to_owned()).collect();
    assert_eq!(tokens, ["Bearer t0ken-1", "Bearer t0ken-2"]);
}

/// Everything that any crate logs.
#[derive(Clone, Default)]
struct Logs(Arc<Mutex<String>>);

impl Visit for Logs {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        write!(self.0.lock().unwrap(), " {field}={value:?}").unwrap();
    }
}

impl Subscriber for Logs {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, attributes: &span::Attributes<'_>) -> span::Id {
        attributes.record(&mut self.clone());
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, values: &span::Record<'_>) {
        values.record(&mut self.clone());
    }

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &Event<'_>) {
        write!(self.0.lock().unwrap(), "\n{}", event.metadata().target()).unwrap();
        event.record(&mut self.clone());
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}
