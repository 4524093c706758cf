//! Heads: nobody, silence, statuses, and what is after an error status.

use std::time::Duration;

use forgeline::{llm::TimeoutKind, types::ErrorCode};

use super::{
    SECOND,
    scenario::{Scenario, one, play, several, times, whole},
    server::{Answer, Body, End, ok},
};

fn status(number: u16, body: &str) -> Answer {
    Answer::Status(number, Vec::new(), Body::new(body))
}

fn with(number: u16, name: &'static str, value: impl Into<String>, body: Body) -> Answer {
    Answer::Status(number, vec![(name, value.into())], body)
}

/// What an error status means, and how often it is asked for.
#[rustfmt::skip]
const STATUSES: &[(u16, ErrorCode, usize)] = &[
    (100, ErrorCode::Status,           1), (103, ErrorCode::Status,         1),
    (300, ErrorCode::InvalidRequest,   1), (304, ErrorCode::InvalidRequest, 1),
    (400, ErrorCode::InvalidRequest,   1), (401, ErrorCode::Auth,           1),
    (402, ErrorCode::QuotaExhausted,   1), (403, ErrorCode::Auth,           1),
    (404, ErrorCode::InvalidRequest,   1), (405, ErrorCode::InvalidRequest, 1),
    (407, ErrorCode::InvalidRequest,   1), (408, ErrorCode::Status,         3),
    (409, ErrorCode::Status,           3), (410, ErrorCode::InvalidRequest, 1),
    (413, ErrorCode::ContextExceeded,  1), (415, ErrorCode::InvalidRequest, 1),
    (421, ErrorCode::InvalidRequest,   1), (422, ErrorCode::InvalidRequest, 1),
    (426, ErrorCode::InvalidRequest,   1), (429, ErrorCode::RateLimited,    3),
    (431, ErrorCode::InvalidRequest,   1), (451, ErrorCode::InvalidRequest, 1),
    (499, ErrorCode::InvalidRequest,   1), (500, ErrorCode::Status,         3),
    (501, ErrorCode::Status,           3), (502, ErrorCode::Status,         3),
    (503, ErrorCode::Overloaded,       3), (504, ErrorCode::Status,         3),
    (520, ErrorCode::Status,           3), (529, ErrorCode::Overloaded,     3),
    (599, ErrorCode::Status,           3), (999, ErrorCode::Status,         3),
];

fn scenarios() -> Vec<Scenario> {
    let mut table = vec![
        several("nobody", |_| vec![Answer::Refuses; 3])
            .fails(ErrorCode::Connect)
            .nothing()
            .asks(3)
            .takes(1..=1),
        several("nobody, then an answer", |wire| vec![Answer::Refuses, ok(Body::new(whole(wire)))])
            .asks(2),
        several("breaks before the head", |_| vec![Answer::Resets; 3])
            .fails(ErrorCode::Connect)
            .nothing()
            .asks(3)
            .takes(1..=1),
        several("breaks, then an answer", |wire| vec![Answer::Resets, ok(Body::new(whole(wire)))])
            .asks(2),
        several("no connection in time", |_| vec![Answer::Unreachable(4 * SECOND); 3])
            .fails(ErrorCode::Timeout)
            .nothing()
            .asks(3)
            .takes(13..=13),
        several("no connection in time, then silence", |_| {
            vec![Answer::Unreachable(4 * SECOND), Answer::Silent]
        })
        .late(TimeoutKind::FirstByte)
        .nothing()
        .asks(2)
        .takes(9..=9),
        one("no head", |_| Answer::Silent).late(TimeoutKind::FirstByte).nothing().takes(5..=5),
        one("no head in its own time", |_| Answer::Silent)
            .times(times().headers(3 * SECOND))
            .late(TimeoutKind::Headers)
            .nothing()
            .takes(3..=3),
        one("a head in time, but no body", |_| {
            Answer::Late(2 * SECOND, Body::new("").end(End::Stalls))
        })
        .times(times().headers(3 * SECOND))
        .late(TimeoutKind::FirstByte)
        .nothing()
        .takes(5..=5),
        one("a late head and an answer", |wire| Answer::Late(4 * SECOND, Body::new(whole(wire))))
            .takes(4..=4),
        one("a head that is too late", |wire| Answer::Late(6 * SECOND, Body::new(whole(wire))))
            .late(TimeoutKind::FirstByte)
            .nothing()
            .takes(5..=5),
        one("an answer with another good status", |wire| status(203, &whole(wire))),
        one("an answer of a part", |wire| status(206, &whole(wire))),
        several("no content", |_| vec![status(204, ""); 3])
            .fails(ErrorCode::EndedEarly)
            .nothing()
            .asks(3)
            .takes(1..=1),
        several("accepted, with nothing", |_| vec![status(202, ""); 3])
            .fails(ErrorCode::EndedEarly)
            .nothing()
            .asks(3)
            .takes(1..=1),
        one("a redirect to nowhere", |_| status(302, ""))
            .fails(ErrorCode::InvalidRequest)
            .nothing(),
        one("a redirect to a long place", |_| {
            with(307, "location", "x".repeat(1 << 20), Body::new(""))
        })
        .fails(ErrorCode::InvalidRequest)
        .nothing()
        .says("a redirect to xxx"),
        one("a redirect with a secret", |_| {
            with(
                308,
                "location",
                format!("https://h/{}?k=1", super::super::wires::KEY),
                Body::new(""),
            )
        })
        .fails(ErrorCode::InvalidRequest)
        .nothing(),
        one("a long request id", |_| {
            with(400, "x-request-id", "i".repeat(1 << 20), Body::new("no"))
        })
        .fails(ErrorCode::InvalidRequest)
        .nothing(),
        one("many headers", |_| {
            let headers = (0..10_000).map(|_| ("x-request-id", "i".repeat(99))).collect();
            Answer::Status(400, headers, Body::new("no"))
        })
        .fails(ErrorCode::InvalidRequest)
        .nothing(),
        one("headers of nonsense", |wire| {
            let names = ["content-type", "content-length", "content-encoding", "retry-after", ""];
            let headers = names.map(|name| (name, "\u{0}\u{feff}\r\n".to_owned())).into();
            Answer::Status(200, headers, Body::new(whole(wire)))
        }),
        one("a body that is said to be compressed and is not", |wire| {
            with(200, "content-encoding", "gzip", Body::new(whole(wire)))
        }),
        one("a compressed body", |_| {
            with(
                200,
                "content-encoding",
                "gzip",
                Body::new(b"\x1f\x8b\x08\0\0\0\0\0\0\x03\x4b\x04\0\n"),
            )
        })
        .fails(ErrorCode::Decode)
        .nothing()
        .says("compressed"),
        one("a page for an answer", |_| {
            with(200, "content-type", "text/html", Body::new("<html>Sign in"))
        })
        .fails(ErrorCode::Decode)
        .nothing()
        .says("a web page"),
    ];
    for &(number, code, asks) in STATUSES {
        let takes = if asks == 3 { 1..=1 } else { 0..=0 };
        let name = format!("a status of {number}");
        table.push(
            several(name, move |_| vec![status(number, ""); asks])
                .fails(code)
                .nothing()
                .asks(asks)
                .takes(takes),
        );
    }
    table.extend(error_bodies());
    table
}

/// Bodies of error statuses.
fn error_bodies() -> Vec<Scenario> {
    let deep = |word: &str| format!("{}{word}", "[".repeat(100_000));
    let long = format!("{{\"error\":{{\"message\":\"{}\"}}}}", "x".repeat(1 << 20));
    let bad = |name: &str, body: Vec<u8>| {
        one(format!("an error whose body is {name}"), move |_| {
            Answer::Status(400, Vec::new(), Body::new(&body))
        })
        .fails(ErrorCode::InvalidRequest)
        .nothing()
    };
    let text = |body: &str| body.as_bytes().to_vec();
    let mut table = vec![
        bad("null", text("null")),
        bad("a number", text("5")),
        bad("a text", text("\"no such model\"")).says("no such model"),
        bad("an empty list", text("[]")),
        bad("a page", text("<html><body>Bad gateway</body></html>")).says("a web page"),
        bad("marked", text("\u{feff}{\"error\":{\"message\":\"no such model\"}}"))
            .says("no such model"),
        bad("a list", text("[{\"error\":{\"message\":\"no such model\"}}]")).says("no such model"),
        bad("deep", deep("").into_bytes()),
        bad("deep words", deep("no").into_bytes()),
        bad("long", long.into_bytes()).says("xxx"),
        bad("NULs", vec![0; 4096]),
        bad("not UTF-8", vec![0xff; 4096]),
        bad(
            "of the wrong types",
            text("{\"error\":[{},5],\"message\":{},\"detail\":5,\"code\":[]}"),
        ),
        bad("half a value", text("{\"error\":{\"message\":\"no such mo")).says("no such mo"),
        bad(
            "an event",
            text("event: error\ndata: {\"error\":{\"message\":\"no such model\"}}\n\n"),
        )
        .says("no such model"),
    ];
    let kept = || Body::new("you may not");
    let mut slow = |name: &str, body: Body| {
        let body = move |_: &super::Wire| Answer::Status(403, Vec::new(), body.clone());
        table.push(
            one(format!("an error whose body {name}"), body)
                .fails(ErrorCode::Auth)
                .nothing()
                .takes(2..=2),
        );
    };
    slow("stalls", kept().end(End::Stalls));
    slow("never begins", Body::new("").end(End::Stalls));
    slow("drips", kept().again("x", 100_000).every(Duration::from_millis(300)));
    table.push(
        one("an error whose body has no end", move |_| {
            Answer::Status(403, Vec::new(), kept().again("x".repeat(1000), 1 << 20))
        })
        .fails(ErrorCode::Auth)
        .nothing()
        .max_bytes(64 << 10),
    );
    table.push(
        one("an error whose body breaks", move |_| {
            Answer::Status(403, Vec::new(), kept().end(End::Breaks))
        })
        .fails(ErrorCode::Auth)
        .nothing()
        .says("you may not"),
    );
    table.push(
        one("an error whose body has its own time", move |_| {
            Answer::Status(403, Vec::new(), kept().end(End::Stalls))
        })
        .times(times().error_body(Duration::from_secs(4)))
        .fails(ErrorCode::Auth)
        .nothing()
        .takes(4..=4)
        .says("you may not"),
    );
    table
}

// Found: R3, R4
#[tokio::test(start_paused = true)]
async fn whatever_the_head_is_the_answer_is_typed_and_in_time() {
    assert!(play(&scenarios()).await >= 75);
}
