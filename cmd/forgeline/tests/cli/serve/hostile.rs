//! Hostile connections with the real program.

use std::io::Read as _;

use super::{http::Connection, started::Started};

/// Whether the service still answers others.
fn answers(serve: &Started) -> bool {
    serve.get("/health").status == 200
}

#[test]
fn heads_that_are_no_heads_are_refused() {
    let serve = Started::demo();
    let many = (0..10_000).map(|at| format!("x-{at}: a\r\n")).collect::<Vec<_>>().concat();
    let long = format!("x: {}\r\n", "a".repeat(1 << 20));
    for (head, want) in [
        (format!("GET /v1/agents HTTP/1.1\r\nhost: localhost\r\n{many}\r\n"), "431"),
        (format!("GET /v1/agents HTTP/1.1\r\nhost: localhost\r\n{long}\r\n"), "431"),
        ("GET /v1/agents HTTP/1.1\r\nhost: localhost\r\ncontent-length: -1\r\n\r\n".into(), "400"),
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
fn a_thousand_connections_of_one_client_do_not_keep_others_out() {
    let serve = Started::demo();
    let mut idle: Vec<Connection> = Vec::new();
    for _ in 0..300 {
        let mut connection = serve.connect().unwrap();
        connection.write(b"POST /v1/runs HTTP/1.1\r\nhost: localhost\r\ncontent-le").unwrap();
        idle.push(connection);
    }
    assert!(answers(&serve));
    drop(idle);
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
    let run = serve.begin("What is 6*7?");
    assert!(serve.answer(&run).contains("42"));
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
