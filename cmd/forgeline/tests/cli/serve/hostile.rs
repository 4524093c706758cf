//! Hostile connections with the real program.

use std::{
    io::Read as _,
    time::{Duration, Instant},
};

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use serde_json::json;

use super::{http::Connection, started::Started};
use crate::flood::{AT_ONCE, SOON};

/// Whether the service still answers others.
fn answers(serve: &Started) -> bool {
    serve.get("/health").status == 200
}

#[test]
fn invalid_http_heads_are_refused() {
    let serve = Started::demo();
    let many = (0..10_000).map(|at| format!("x-{at}: a\r\n")).collect::<Vec<_>>().concat();
    let long = format!("x: {}\r\n", "a".repeat(1 << 20));
    for (head, want) in [
        (format!("GET /v1/agents HTTP/1.1\r\nhost: localhost\r\n{many}\r\n"), "431"),
        (format!("GET /v1/agents HTTP/1.1\r\nhost: localhost\r\n{long}\r\n"), "431"),
        ("GET /v1/agents HTTP/1.1\r\nhost: localhost\r\ncontent-length: -1\r\n\r\n".into(), "400"),
        (
            "POST /v1/runs HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\nexpect: 100-continue\r\ncontent-length: 943718400\r\n\r\n".into(),
            "413",
        ),
        ("\x16\x03\x01\x02\x00\x01\x00\r\n\r\n".into(), "400"),
        ("GET /v1/agents HTTP/1.1\r\n\r\n".into(), "403"),
        ("GET /v1/agents HTTP/1.1\r\nhost: evil.example\r\n\r\n".into(), "403"),
    ] {
        let mut connection = serve.connect().unwrap();
        // It may be refused before all of it is written.
        drop(connection.write(head.as_bytes()));
        let status = connection.first_line();
        assert!(status.contains(want), "{want}: {status:?}");
        assert!(answers(&serve));
    }
}

#[test]
fn unreadable_head_is_refused_with_a_problem_body() {
    let serve = Started::demo();
    let fields =
        |count: usize| (0..count).map(|at| format!("x-{at}: a\r\n")).collect::<Vec<_>>().concat();
    let long = |bytes: usize| format!("x: {}\r\n", "a".repeat(bytes));
    let address = format!("GET /{} HTTP/1.1\r\n", "a".repeat(70_000));
    let agents = "GET /v1/agents HTTP/1.1\r\n";
    for (begin, fields, status, code) in [
        (agents, fields(101), 431, "head_too_large"),
        (agents, fields(10_000), 431, "head_too_large"),
        (agents, long(40 << 10), 431, "head_too_large"),
        (agents, long(65 << 10), 431, "head_too_large"),
        (agents, long(1 << 20), 431, "head_too_large"),
        (&address, String::new(), 431, "head_too_large"),
        (agents, "no header\r\n".into(), 400, "bad_request"),
        ("GET\r\n", String::new(), 400, "bad_request"),
    ] {
        let head = format!("{begin}host: localhost\r\n{fields}\r\n");
        for kept in [false, true] {
            let mut connection = serve.connect().unwrap();
            if kept {
                assert_eq!(connection.send("GET", "/health", None).status, 200);
            }
            connection.write(head.as_bytes()).unwrap();
            let answer = connection.answer();
            let bytes = head.len();
            assert_eq!(answer.status, status, "{bytes} bytes: {}", answer.head);
            assert_eq!(answer.header("content-type"), Some("application/problem+json"));
            let problem = answer.json();
            assert_eq!((&problem["code"], &problem["status"]), (&json!(code), &json!(status)));
            assert!(problem["detail"].as_str().unwrap().len() > 20, "{problem}");
            assert!(answers(&serve));
        }
    }
}

#[test]
fn the_head_of_an_answer_that_says_nothing_yet_is_there_at_once() {
    let serve = Started::demo();
    let mut connection = serve.connect().unwrap();
    connection.ask("GET", "/v1/events", "accept: text/event-stream\r\n", "");
    // The events of a browser open with it; nothing else comes for 15 s.
    let begun = Instant::now();
    let head = connection.head();
    assert_eq!((head.status, head.header("content-type")), (200, Some("text/event-stream")));
    assert!(begun.elapsed() < AT_ONCE, "{:?}", begun.elapsed());
}

/// Lets this process have as many files open as it may.
fn allow_many() {
    const NEEDED: u64 = 4_096;
    let (_, most) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    assert!(most >= NEEDED, "the test needs {NEEDED} open files, and the system allows {most}");
    setrlimit(Resource::RLIMIT_NOFILE, most.min(NEEDED), most).unwrap();
}

#[test]
fn a_thousand_connections_of_one_client_do_not_keep_others_out() {
    allow_many();
    let serve = Started::demo();
    let waits = serve.begin("Use ask_user: \"Which colour?\"");
    serve.until(&waits, "client_tool_request");
    // Those that say nothing, half of a head, and that read what goes on, all at once.
    let mut held: Vec<Connection> = Vec::new();
    for at in 0..1_000 {
        let mut connection = serve.connect().unwrap();
        match at % 3 {
            0 => {}
            1 => connection
                .write(b"POST /v1/runs HTTP/1.1\r\nhost: localhost\r\ncontent-le")
                .unwrap(),
            _ => connection.ask("GET", &format!("/v1/runs/{waits}/events"), "", ""),
        }
        held.push(connection);
    }
    for reader in held.iter_mut().skip(2).step_by(3) {
        assert_eq!(reader.head().status, 200);
    }
    // 333 read, and this one; the service hears a moment later of the one that was dropped.
    let (begun, want) = (Instant::now(), "forgeline_connections 334\n");
    let mut metrics = serve.get("/metrics").body;
    while !metrics.contains(want) && begun.elapsed() < SOON {
        metrics = serve.get("/metrics").body;
    }
    assert!(metrics.contains(want), "{metrics}");
    // Less than the 30 s after which heads that do not come are given up.
    let begun = Instant::now();
    let run = serve.begin("What is 6*7?");
    assert!(serve.answer(&run).contains("42"));
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    assert_eq!(held.len(), 1_000);
    drop(held);
    for _ in 0..1_000 {
        drop(serve.connect().unwrap());
    }
    assert!(answers(&serve));
}

#[test]
fn an_upload_that_is_cut_leaves_the_service_as_it_was() {
    let serve = Started::demo();
    for _ in 0..50 {
        let mut connection = serve.connect().unwrap();
        let head = "POST /v1/runs HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: 1000000\r\n\r\n{";
        connection.write(head.as_bytes()).unwrap();
    }
    // What they held is there again: the scope has 16 long bodies at a time.
    let long = json!({ "input": format!("What is 6*7? {}", " ".repeat(100_000)) });
    let begun = Instant::now();
    let mut answer = serve.post("/v1/runs", &long);
    while answer.status == 429 && begun.elapsed() < SOON {
        answer = serve.post("/v1/runs", &long);
    }
    assert_eq!(answer.status, 202, "{answer:?}");
    assert!(serve.answer(answer.json()["run_id"].as_str().unwrap()).contains("42"));
}

#[test]
fn a_reader_that_takes_nothing_does_not_slow_others() {
    let serve = Started::demo();
    let run = serve.begin("What is 6*7?");
    let _stuck = serve.open(&format!("/v1/runs/{run}/events"));
    assert!(serve.answer(&run).contains("42"));
    let mut cut = serve.open(&format!("/v1/runs/{run}/events"));
    let mut some = [0; 10];
    cut.raw().read_exact(&mut some).unwrap();
    drop(cut);
    assert!(answers(&serve));
}
