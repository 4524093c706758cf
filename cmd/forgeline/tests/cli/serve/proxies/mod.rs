//! The service behind nginx and Caddy, as the docs set them up.

mod program;

use std::{sync::Arc, time::Instant};

use forgeline_testkit::{
    console::browser,
    say,
    server::{ScriptedServer, Step},
};
use serde_json::json;
use tokio::{sync::Notify, task::block_in_place};

use self::program::{Kind, Proxy};
use super::{
    http::{Answer, Connection},
    started::{Started, host},
};
use crate::{
    flags::file,
    flood::{AT_ONCE, SOON},
    process::run,
    run::delta,
};

/// The path that the docs give the service.
const PREFIX: &str = "/assistant";

/// Words of an answer, each of which the model says when the one before was read.
const WORDS: [&str; 4] = ["amber", "birch", "cedar", "dune"];

/// What a caller may say of itself that a proxy is to say, and what servers with a login pass on.
const SPOOFED: [&str; 9] = [
    "x-forwarded-for: 127.0.0.1",
    "x-real-ip: 127.0.0.1",
    "forwarded: for=127.0.0.1;host=localhost",
    "x-forwarded-host: localhost",
    "x-forwarded-user: ann",
    "x-forwarded-email: ann",
    "remote-user: ann",
    "x-user: ann",
    "authorization: Basic YW5uOmFubg==",
];

/// A proxy before a service, for each that is installed.
fn proxies(serve: &Started) -> Vec<(Kind, Proxy)> {
    let kinds = Kind::ALL.into_iter().filter(|kind| kind.is_installed());
    kinds.map(|kind| (kind, Proxy::start(kind, host(&serve.link)))).collect()
}

/// A model whose answer waits before each word but the first.
async fn paced() -> (ScriptedServer, Arc<Notify>) {
    let gate = Arc::new(Notify::new());
    let mut steps = vec![Step::stream()];
    for (at, word) in WORDS.into_iter().enumerate() {
        if at > 0 {
            steps.push(Step::Wait(Arc::clone(&gate)));
        }
        steps.push(delta(&json!({ "content": format!("{word} ") }), None));
    }
    let done = [delta(&json!({}), Some("stop")), Step::chunk("data: [DONE]\n\n"), Step::End];
    steps.extend(done);
    (ScriptedServer::start(vec![steps]).await, gate)
}

/// A reader of a stream behind a proxy.
struct Reader {
    name: &'static str,
    connection: Connection,
    seen: String,
}

impl Reader {
    fn open(
        proxy: &Proxy,
        name: &'static str,
        method: &str,
        path: &str,
        (more, body): (&str, &str),
    ) -> Self {
        let mut connection = proxy.connect().within(AT_ONCE);
        let more = format!("accept-encoding: gzip, zstd, br\r\n{more}");
        connection.ask(method, &format!("{PREFIX}{path}"), &more, body);
        let head = connection.head();
        assert_eq!(head.status, 200, "{name}: {head:?}");
        let coding = head.header("content-encoding").unwrap_or("identity");
        assert_eq!(coding, "identity", "{name}: {head:?}");
        Self { name, connection, seen: String::new() }
    }

    /// Reads until this was sent; a stream that is held back fails by the time limit of its connection.
    fn until(&mut self, words: &str) {
        while !self.seen.contains(words) {
            let chunk = self.connection.chunk();
            let chunk =
                chunk.unwrap_or_else(|| panic!("{}: no {words} in {}", self.name, self.seen));
            self.seen.push_str(&chunk);
        }
    }

    fn ids(&self) -> Vec<usize> {
        // The last frame may not have come whole.
        let whole = self.seen.rsplit_once("\n\n").map_or("", |(whole, _)| whole);
        let ids = whole.lines().filter_map(|line| line.strip_prefix("id: "));
        ids.map(|id| id.parse().unwrap()).collect()
    }
}

// Rows: N-66
#[tokio::test(flavor = "multi_thread")]
async fn each_stream_comes_event_by_event_and_a_cut_reader_goes_on() {
    for kind in Kind::ALL.into_iter().filter(|kind| kind.is_installed()) {
        let (model, gate) = paced().await;
        let url = model.url();
        block_in_place(|| {
            let tokens = Tokens::create("streams");
            let model = ["--provider", "openai", "--base-url", &url, "--model", "m"];
            let serve = Started::with(&[&model[..], &["--tokens", &tokens.file]].concat());
            let proxy = Proxy::start(kind, host(&serve.link));
            check_streams(&proxy, &gate, &tokens.ann);
        });
        say(format!("the service behind {}: 6 streams, event by event", kind.program()));
    }
}

fn check_streams(proxy: &Proxy, gate: &Notify, ann: &str) {
    let none = "";
    let json = format!("{ann}content-type: application/json\r\n");
    let said = json!({ "id": "u1", "role": "user", "content": "Count." });
    let asked = json!({ "threadId": "c", "runId": "r", "state": {}, "tools": [], "context": [], "messages": [said] });
    let mut agui = Reader::open(proxy, "AG-UI", "POST", "/agui", (&json, &asked.to_string()));
    agui.until("RUN_STARTED");
    let run = agui.seen.split("\"runId\":\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    let open = |name, path: &str| Reader::open(proxy, name, "GET", path, (ann, none));
    let events = format!("/v1/runs/{run}/events");
    let mut readers = [
        agui,
        open("the events of the run", &events),
        open("the events of the scope", "/v1/events?after=0.0"),
        open("the chat", "/api/chat/c/stream"),
        open("the durable stream", &format!("/v1/runs/{run}/stream?live=sse&offset=-1")),
        open(
            "the durable stream of AG-UI",
            &format!("/v1/runs/{run}/stream?as=ag-ui&live=sse&offset=-1"),
        ),
    ];
    let mut ids: Vec<usize> = Vec::new();
    for (at, word) in WORDS.into_iter().enumerate() {
        // The next word is not said yet.
        for reader in &mut readers {
            reader.until(word);
        }
        let next = WORDS.get(at + 1).copied();
        for reader in &readers {
            assert!(next.is_none_or(|next| !reader.seen.contains(next)), "{}", reader.name);
        }
        if next.is_some() {
            ids.extend(readers[1].ids());
            let last = format!("{ann}last-event-id: {}\r\n", ids.last().unwrap());
            readers[1] =
                Reader::open(proxy, "the events after a cut", "GET", &events, (&last, none));
            gate.notify_one();
        }
    }
    readers[1].until("event: run_end\n");
    readers[1].until("\n\n");
    ids.extend(readers[1].ids());
    // The frame whose word was seen may have been cut, and then comes again whole.
    assert_eq!(ids, (0..ids.len()).collect::<Vec<_>>());
    readers[0].until("RUN_FINISHED");
    let (path, last) =
        (format!("{PREFIX}{events}"), format!("{ann}last-event-id: {}\r\n", ids.len() - 1));
    let late = || {
        let mut late = proxy.connect();
        late.ask("GET", &path, &last, none);
        late.head().status
    };
    // The log is closed a moment after its last event.
    let (begun, mut status) = (Instant::now(), late());
    while status == 200 && begun.elapsed() < SOON {
        status = late();
    }
    assert_eq!(status, 204);
}

/// A file with the tokens of two people of one team, and the headers with which they ask.
struct Tokens {
    file: String,
    ann: String,
    bob: String,
}

impl Tokens {
    fn create(name: &str) -> Self {
        let file = file(&format!("proxies-{name}.tokens"), b"");
        let header = |who: &str| {
            let made = run(&["token", who, "--scope", "team", "--file", &file], b"");
            format!("authorization: Bearer {}\r\n", made.stdout.trim())
        };
        let (ann, bob) = (header("ann"), header("bob"));
        Self { file, ann, bob }
    }
}

/// Sends a request below the path of the service, with these headers besides.
fn ask(proxy: &Proxy, method: &str, path: &str, more: &str) -> Answer {
    let mut connection = proxy.connect();
    connection.ask(method, &format!("{PREFIX}{path}"), more, "");
    connection.answer()
}

// Rows: N-61
#[test]
fn without_tokens_nobody_gets_in_but_by_the_token_of_the_start() {
    let serve = Started::exactly(&["--provider", "demo"]);
    let (_, token) = serve.link.split_once("#token=").unwrap();
    let own = format!("authorization: Bearer {token}\r\n");
    for (kind, proxy) in proxies(&serve) {
        for path in
            ["/v1/agents", "/v1/conversations", "/v1/events", "/metrics", "/api/chat/history"]
        {
            for said in SPOOFED.iter().map(|said| format!("{said}\r\n")).chain([String::new()]) {
                let answer = ask(&proxy, "GET", path, &said);
                assert_eq!(answer.status, 401, "{kind:?} {path} {said}: {answer:?}");
            }
        }
        let answer = ask(&proxy, "GET", "/v1/agents", &own);
        assert_eq!(answer.status, 200, "{kind:?}: {answer:?}");
        for (path, status) in [("/health", 200), ("/ready", 200)] {
            assert_eq!(ask(&proxy, "GET", path, "").status, status, "{kind:?} {path}");
        }
    }
}

// Rows: N-61
#[test]
fn without_a_login_a_proxy_that_names_itself_is_refused_whatever_its_caller_says() {
    let serve = Started::exactly(&["--provider", "demo", "--no-auth"]);
    for (kind, proxy) in proxies(&serve) {
        for said in SPOOFED.iter().map(|said| format!("{said}\r\n")).chain([String::new()]) {
            let answer = ask(&proxy, "GET", "/v1/agents", &said);
            assert_eq!(answer.status, 403, "{kind:?} {said}: {answer:?}");
            assert!(
                ["wrong_peer", "wrong_host"].contains(&answer.json()["code"].as_str().unwrap())
            );
        }
    }
}

#[test]
fn what_a_request_says_of_its_sender_makes_it_no_other_caller() {
    let tokens = Tokens::create("callers");
    let serve = Started::with(&["--provider", "demo", "--tokens", &tokens.file]);
    for (kind, proxy) in proxies(&serve) {
        let mut connection = proxy.connect();
        let json = format!("{}content-type: application/json\r\n", tokens.ann);
        let input = json!({ "input": "What is 6 * 7?" }).to_string();
        connection.ask("POST", &format!("{PREFIX}/v1/runs"), &json, &input);
        let begun = connection.answer().json();
        let run = format!("/v1/runs/{}", begun["run_id"].as_str().unwrap());
        let conversation =
            format!("/v1/conversations/{}", begun["conversation_id"].as_str().unwrap());
        for path in [&run, &format!("{run}/events"), &conversation] {
            for said in SPOOFED.into_iter().filter(|said| !said.starts_with("authorization")) {
                let answer = ask(&proxy, "GET", path, &format!("{}{said}\r\n", tokens.bob));
                assert_eq!(answer.status, 404, "{kind:?} {path} {said}: {answer:?}");
                let own = ask(&proxy, "GET", path, &format!("{}{said}\r\n", tokens.ann));
                assert_eq!(own.status, 200, "{kind:?} {path} {said}: {own:?}");
            }
        }
    }
}

// Rows: N-64
#[test]
fn the_console_loads_below_a_path() {
    let serve = Started::exactly(&["--provider", "demo"]);
    let (_, token) = serve.link.split_once("#token=").unwrap();
    for (kind, proxy) in proxies(&serve) {
        let short = ask(&proxy, "GET", "", "");
        let place = short.header("location").unwrap_or_default();
        assert!(place.ends_with("/assistant/"), "{kind:?}: {short:?}");
        let Some(mut command) = browser() else { continue };
        let pictures = concat!(env!("CARGO_TARGET_TMPDIR"), "/proxies");
        command.env("CONSOLE_PATH", format!("{}/#token={token}", PREFIX.trim_start_matches('/')));
        let command = command.arg(format!("http://{}", proxy.host)).args([pictures, "behind"]);
        let output = command.output().unwrap();
        let lines = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(
            output.status.success(),
            "{kind:?}: {lines}{}",
            String::from_utf8_lossy(&output.stderr)
        );
        say(format!("the service behind {}: the console in a browser", kind.program()));
    }
}
