//! Tokens and what was said are nowhere in the service but in the conversation: not in logs of any level, errors, metrics or pages.

use std::{future::IntoFuture as _, net::SocketAddr, sync::Mutex};

use forgeline::{
    agent::{
        Agent, Caller,
        tools::{ToolContext, ToolEffects, tool_fn},
    },
    llm::Request,
    server::{Service, Tokens, router},
    store::{SqliteStore, Stores},
    testing::{ScriptedProvider, ScriptedTurn},
};
use reqwest::Client;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::{
    secrets::Logs,
    service_process::{client, folder},
};

const TOKEN: &str = "token-planted-4be0";
const WRONG: &str = "token-planted-wrong";

/// What users, models and tools say.
const SAID: [&str; 4] =
    ["prompt-planted-1a", "answer-planted-2b", "result-planted-3c", "argument-planted-4d"];

/// A client, an address, and all that may be seen of it by others.
struct Seen {
    client: Client,
    address: String,
    shown: Mutex<String>,
}

impl Seen {
    async fn ask(&self, method: &str, path: &str, token: &str, body: &str) -> (u16, String) {
        let request =
            self.client.request(method.parse().unwrap(), format!("{}{path}", self.address));
        let request = request.header("authorization", format!("Bearer {token}"));
        let request = request.header("content-type", "application/json").body(body.to_owned());
        let answer = request.send().await.unwrap();
        let (status, headers) = (answer.status().as_u16(), format!("{:?}", answer.headers()));
        let text = String::from_utf8(answer.bytes().await.unwrap().to_vec()).unwrap();
        self.shown.lock().unwrap().push_str(&headers);
        (status, text)
    }

    /// Requests the operator's endpoints, or says what went wrong.
    async fn page(&self, method: &str, path: &str, token: &str, body: &str) -> u16 {
        let (status, text) = self.ask(method, path, token, body).await;
        self.shown.lock().unwrap().push_str(&text);
        status
    }
}

fn agent() -> Agent {
    let look = tool_fn("look", "Looks.", |_: ToolContext, _: Value| async { SAID[2] });
    let provider = ScriptedProvider::from_fn(|request: &Request| {
        if request.messages.iter().any(|it| it.tool_results().next().is_some()) {
            return ScriptedTurn::new().text(SAID[1]);
        }
        ScriptedTurn::new().thinking(SAID[1]).call("look", json!({ "for": SAID[3] }))
    });
    let agent = Agent::builder(provider).tool(look.effects(ToolEffects::Irreversible));
    agent.build().unwrap()
}

/// Answers of all kinds, to those who are known and who are not: method, path, token, body and status.
const ANSWERS: &[(&str, &str, &str, &str, u16)] = &[
    ("GET", "/v1/agents", WRONG, "", 401),
    ("POST", "/v1/runs", WRONG, "{}", 401),
    ("POST", "/v1/runs", TOKEN, "{\"input\":\"prompt-planted-1a", 400),
    (
        "POST",
        "/v1/runs",
        TOKEN,
        "{\"input\":\"prompt-planted-1a\",\"system\":\"prompt-planted-1a\"}",
        400,
    ),
    (
        "POST",
        "/v1/runs",
        TOKEN,
        "{\"input\":[{\"type\":\"thinking\",\"text\":\"prompt-planted-1a\"}]}",
        400,
    ),
    (
        "POST",
        "/api/chat",
        TOKEN,
        "{\"messages\":[{\"role\":\"assistant\",\"content\":\"prompt-planted-1a\"}]}",
        400,
    ),
    (
        "POST",
        "/agui",
        TOKEN,
        "{\"messages\":[{\"role\":\"user\",\"content\":\"prompt-planted-1a\"}]}",
        400,
    ),
    ("POST", "/v1/runs", TOKEN, "\"prompt-planted-1a\"", 400),
    ("POST", "/v1/runs", TOKEN, "{\"input\":{\"prompt\":\"prompt-planted-1a\"}}", 400),
    ("POST", "/v1/runs/nope/approvals", TOKEN, "{\"approval_id\":[\"prompt-planted-1a\"]}", 400),
    (
        "POST",
        "/agui",
        TOKEN,
        // Of a name that is long, the start alone is asked to the one who sent it.
        "{\"threadId\":\"t\",\"messages\":[{\"role\":\"user\",\"content\":\"Go.\"}],\"tools\":[{\"name\":\"a-name-that-is-far-too-long-for-a-tool-of-any-provider--------------prompt-planted-1a\"}]}",
        400,
    ),
    ("POST", "/v1/runs/nope/inputs", TOKEN, "{\"input\":\"prompt-planted-1a\"}", 404),
    ("GET", "/nope", TOKEN, "prompt-planted-1a", 404),
    ("PUT", "/v1/runs", TOKEN, "prompt-planted-1a", 405),
    ("GET", "/metrics", TOKEN, "", 200),
    ("GET", "/ready", TOKEN, "", 200),
    ("GET", "/dev/latency", TOKEN, "", 200),
    ("GET", "/health", "", "", 200),
    ("GET", "/v1/agents", TOKEN, "", 200),
    ("GET", "/v1/tools", TOKEN, "", 200),
    ("GET", "/", "", "", 200),
];

#[tokio::test]
async fn tokens_and_what_was_said_are_in_no_log_error_metric_or_page() {
    let (logs, folder) = (Logs::default(), folder("planted"));
    let logged = tracing::subscriber::set_default(logs.clone());
    let store = SqliteStore::open(folder.join("service.db")).await.unwrap();
    let caller = Caller::new("ann").scope("team-a").permission("service.observe");
    let tokens = Tokens::new().token(TOKEN, caller);
    let service = Service::builder().agent("main", agent()).identify(tokens).dev(true);
    let service = service.stores(Stores::of(store.clone())).build().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let app = router(service.clone()).into_make_service_with_connect_info::<SocketAddr>();
    let serving = tokio::spawn(axum::serve(listener, app).into_future());
    let seen = Seen { client: client(), address, shown: Mutex::default() };

    for ends in ["grant", "reject", "cancel"] {
        let body = json!({ "input": SAID[0], "metadata": { "a": SAID[0] } }).to_string();
        let (status, begun) = seen.ask("POST", "/v1/runs", TOKEN, &body).await;
        assert_eq!(status, 202, "{begun}");
        let run: Value = serde_json::from_str(&begun).unwrap();
        let run = format!("/v1/runs/{}", run["run_id"].as_str().unwrap());
        let id = loop {
            let (_, events) = seen.ask("GET", &format!("{run}/stream?offset=-1"), TOKEN, "").await;
            if let Some((_, rest)) = events.split_once("\"approval_id\":\"") {
                break rest.split('"').next().unwrap().to_owned();
            }
            tokio::task::yield_now().await;
        };
        if ends == "cancel" {
            seen.ask("POST", &format!("{run}/cancel"), TOKEN, "{}").await;
        } else {
            let body =
                json!({ "approval_id": id, "decision": ends, "reason": SAID[0] }).to_string();
            assert_eq!(seen.ask("POST", &format!("{run}/approvals"), TOKEN, &body).await.0, 200);
        }
        let (_, events) = seen.ask("GET", &format!("{run}/events"), TOKEN, "").await;
        assert!(events.contains(SAID[0]) || events.contains(SAID[3]), "{events}");
    }
    for &(method, path, token, body, want) in ANSWERS {
        assert_eq!(seen.page(method, path, token, body).await, want, "{method} {path}");
    }
    service.shutdown(std::time::Duration::from_secs(5)).await;
    serving.abort();
    store.close_file().await;
    drop(logged);

    let (logs, shown) = (logs.0.lock().unwrap().clone(), seen.shown.lock().unwrap().clone());
    let debug =
        format!("{service:?} {store:?} {:?}", Tokens::new().token(TOKEN, Caller::new("ann")));
    for (what, text) in [("logs", &logs), ("answers", &shown), ("debug", &debug)] {
        assert!(!text.is_empty(), "{what}");
        for planted in [&[TOKEN, WRONG][..], &SAID].concat() {
            let at = text.find(planted);
            let around = at.map(|at| text.get(at.saturating_sub(200)..at + 20).unwrap_or(planted));
            assert_eq!(around, None, "{planted} is in the {what}");
        }
    }
    assert!(logs.contains("a run has ended") && logs.contains("answered"), "it is looked at");
    std::fs::remove_dir_all(&folder).unwrap();
}
