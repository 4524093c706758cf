//! Remote servers that behave, and remote servers that do not.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};
use tokio::time::Instant;

use self::server::{Reply, Seen, Server};
use crate::{McpConfig, McpError, McpOptions, McpServers, MemoryTokens};
use forgeline_agent::tools::{Tool, ToolContext, ToolError};

mod clients;
mod files;
mod login;
mod other_hosts;
mod renewals;
mod server;
mod streams;
mod whole;

/// Returns the servers of one server's members.
async fn connect(members: Value) -> Result<McpServers, McpError> {
    let options = McpOptions::default().token_store(MemoryTokens::new());
    connect_with(members, options).await
}

async fn connect_with(members: Value, options: McpOptions) -> Result<McpServers, McpError> {
    let mut members = members;
    members["required"] = json!(true);
    let text = json!({ "mcpServers": { "s": members } }).to_string();
    let key = |name: &str| (name == "KEY").then(|| "s3cret-key".to_owned());
    McpServers::connect_with(McpConfig::parse_with(&text, &key).unwrap(), options).await
}

async fn tool(servers: &McpServers) -> Arc<dyn Tool> {
    servers.list().await.unwrap().remove(0)
}

async fn call(servers: &McpServers) -> Result<String, ToolError> {
    let tool = tool(servers).await;
    let output = tool.execute(ToolContext::default(), json!({}).into()).await?;
    Ok(output.content)
}

fn text(text: &str) -> Value {
    json!({ "content": [{ "type": "text", "text": text }] })
}

fn done(seen: &Seen) -> Reply {
    seen.result(&text("done"))
}

#[tokio::test]
async fn headers_and_session_go_with_each_request_and_the_session_ends_with_the_servers() {
    let server = Server::start(|seen| seen.legacy(done)).await;
    let members = json!({ "url": server.url("/mcp?token=t0p"), "headers": { "X-Key": "${KEY}" } });
    let servers = connect(members).await.unwrap();
    assert_eq!(call(&servers).await.unwrap(), "done");
    servers.close().await;
    let all = server.seen();
    assert!(all.iter().all(|seen| seen.target == "/mcp?token=t0p"));
    assert!(all.iter().all(|seen| seen.header("x-key") == Some("s3cret-key")), "{all:?}");
    let methods: Vec<_> = all.iter().map(|seen| seen.json()["method"].clone()).collect();
    let greeted = methods.iter().position(|it| it == "notifications/initialized").unwrap();
    let behind = &all[greeted..];
    assert!(behind.iter().all(|seen| seen.header("mcp-session-id") == Some("session-1")));
    assert_eq!(all.last().unwrap().method, "DELETE");
}

#[tokio::test]
async fn a_server_of_the_newest_version_keeps_no_session() {
    let server = Server::start(|seen| {
        let complete = |mut result: Value| {
            result["resultType"] = json!("complete");
            seen.result(&result)
        };
        match seen.json()["method"].as_str() {
            Some("server/discover") => complete(json!({
                "supportedVersions": ["2026-07-28"],
                "capabilities": { "tools": {} },
                "serverInfo": { "name": "small", "version": "1" },
                "ttlMs": 0,
                "cacheScope": "private",
            })),
            Some("tools/list") => complete(json!({
                "tools": [{ "name": "f", "inputSchema": { "type": "object" } }],
                "ttlMs": 0,
                "cacheScope": "private",
            })),
            Some("tools/call") => complete(text("done")),
            _ => Reply::status(405),
        }
    })
    .await;
    // A stall of the machine lengthens one of three.
    let mut took = Vec::new();
    for _ in 0..3 {
        let servers = connect(json!({ "url": server.url("/mcp") })).await.unwrap();
        assert_eq!(call(&servers).await.unwrap(), "done");
        let began = Instant::now();
        servers.close().await;
        took.push(began.elapsed());
        if took.iter().any(|it| it.as_millis() < 500) {
            break;
        }
    }
    assert!(took.iter().any(|it| it.as_millis() < 500), "nothing is waited for: {took:?}");
    let all = server.seen();
    assert!(
        all.iter().all(|seen| seen.method == "POST" && seen.header("mcp-session-id").is_none())
    );
    assert_eq!(all.last().unwrap().header("mcp-method"), Some("tools/call"));
}

#[tokio::test]
async fn a_dead_server_is_an_error_that_names_it() {
    let server = Server::start(|seen| seen.legacy(done)).await;
    let members = json!({ "url": server.url("/mcp?token=t0p-t0p") });
    let servers = connect(members.clone()).await.unwrap();
    let tool = tool(&servers).await;
    drop(server);
    let error =
        tool.execute(ToolContext::default(), json!({}).into()).await.unwrap_err().to_string();
    assert!(error.starts_with("the MCP server `s` failed: it cannot be reached"), "{error}");
    let error = connect(members).await.unwrap_err().to_string();
    assert!(error.starts_with("the MCP server `s` failed: it cannot be reached"), "{error}");
    assert!(!error.contains("t0p"), "{error}");
}

#[tokio::test]
async fn a_server_that_forgot_the_session_is_used_in_a_new_one_by_the_same_run() {
    // What the protocol asks for, and what some servers say instead.
    let words = r#"{"jsonrpc":"2.0","error":{"code":-32000,"message":"no session"},"id":null}"#;
    for (forgotten, words) in [(404, ""), (400, ""), (400, words)] {
        let starts = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&starts);
        let server = Server::start(move |seen| {
            let session = format!("session-{}", count.load(Ordering::SeqCst));
            match seen.header("mcp-session-id") {
                Some(other) if other != session => {
                    Reply::status(forgotten).header("content-type", "application/json").body(words)
                }
                _ => seen.legacy_in(&session, done),
            }
        })
        .await;
        let servers = connect(json!({ "url": server.url("/mcp") })).await.unwrap();
        assert_eq!(call(&servers).await.unwrap(), "done");
        starts.fetch_add(1, Ordering::SeqCst);
        assert_eq!(call(&servers).await.unwrap(), "done", "{forgotten} {words}");
    }
    let broken = Server::start(|seen| match seen.json()["method"].as_str() {
        Some("tools/list") => Reply::status(500).body("it broke"),
        _ => seen.legacy(done),
    })
    .await;
    let error = connect(json!({ "url": broken.url("/mcp") })).await.unwrap_err();
    assert!(matches!(error, McpError::Failed { .. }), "{error}");
    let lists = broken.seen().iter().filter(|it| it.json()["method"] == "tools/list").count();
    assert_eq!(lists, 1, "a new session is not begun twice");
}

#[tokio::test]
async fn a_page_of_an_error_is_shortened_and_has_no_secrets() {
    let server = Server::start(|seen| {
        let said = format!("key {} and more {}", seen.header("x-key").unwrap(), "x".repeat(9_000));
        seen.legacy(|_| Reply::status(418).body(said))
    })
    .await;
    let members = json!({ "url": server.url("/mcp"), "headers": { "X-Key": "${KEY}" } });
    let servers = connect(members).await.unwrap();
    let error = call(&servers).await.unwrap_err().to_string();
    assert!(error.contains("418") && error.contains("[key]"), "{error}");
    assert!(!error.contains("s3cret-key") && error.len() < 700, "{error}");
}
