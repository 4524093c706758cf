//! Lists of models, which a health check reads: nothing of them is waited for or kept beyond its limit.

use std::sync::{Arc, atomic::Ordering};

use forgeline::{llm::transport::Transport, types::ErrorCode};
use tokio::time::Instant;

use super::{
    SECOND, WIRES,
    server::{Answer, Body, End, Server, ok},
};

/// What a server answers, the error that it means, and how many seconds it takes.
type Row = (&'static str, Answer, Option<ErrorCode>, u64);

fn rows() -> Vec<Row> {
    let list = r#"{"object":"list","data":[{"id":"m"}]}"#;
    let status = |number, body: &str| Answer::Status(number, Vec::new(), Body::new(body));
    let decode = Some(ErrorCode::Decode);
    let timeout = Some(ErrorCode::Timeout);
    vec![
        ("a list", ok(Body::new(list)), None, 0),
        ("a marked list", ok(Body::new(format!("\u{feff}{list}\n"))), None, 0),
        ("a list, byte by byte", ok(Body::bytewise(list.as_bytes())), None, 0),
        ("no such list", status(404, ""), None, 0),
        ("nothing of that kind", status(501, "<html>"), None, 0),
        ("nobody", Answer::Refuses, Some(ErrorCode::Connect), 0),
        ("silence", Answer::Silent, timeout, 10),
        ("a stall", ok(Body::new(list).end(End::Stalls)), timeout, 10),
        ("a drip", ok(Body::new("[").again(" ", 1 << 20).every(SECOND)), timeout, 10),
        ("no end", ok(Body::new("[").again(" ".repeat(1 << 10), 1 << 20)), decode, 0),
        ("half a list", ok(Body::new(list.trim_end_matches('}'))), decode, 0),
        ("a page", ok(Body::new("<html>")), decode, 0),
        ("nothing", ok(Body::new("")), decode, 0),
        ("null", ok(Body::new("null")), decode, 0),
        ("wrong types", ok(Body::new(r#"{"data":{"id":[]},"models":7}"#)), decode, 0),
        ("odd members", ok(Body::new(r#"{"data":[null,7,{"id":7},{"id":"m"}]}"#)), None, 0),
        ("a deep list", ok(Body::new("[".repeat(100_000))), decode, 0),
        ("a wrong key", status(401, "no"), Some(ErrorCode::Auth), 0),
        ("a busy server", status(503, "busy"), Some(ErrorCode::Overloaded), 0),
        (
            "an error that stalls",
            Answer::Status(500, Vec::new(), Body::new("no").end(End::Stalls)),
            Some(ErrorCode::Status),
            2,
        ),
    ]
}

// Found: R4, R6, R12
#[tokio::test(start_paused = true)]
async fn a_list_of_models_is_waited_for_and_kept_in_bounds() {
    for wire in WIRES {
        for (name, answer, want, seconds) in rows() {
            let name = format!("{}: {name}", wire.name);
            let server = Server::new([answer]);
            let transport: Arc<dyn Transport> = Arc::clone(&server) as _;
            let provider = wire.provider("http://h", &move |mut setup| {
                setup.transport = Some(Arc::clone(&transport));
                setup
            });
            let start = Instant::now();
            let found = provider.health().await.map_err(|error| error.code()).err();
            assert_eq!(found, want, "{name}");
            assert_eq!(start.elapsed().as_secs(), seconds, "{name}");
            assert!(server.bytes.load(Ordering::Relaxed) <= 5 << 20, "{name}");
        }
    }
}
