//! Servers that do what no server should: a typed error in time, bounded memory, nothing delivered is
//! lost, nothing is asked twice.

#![allow(
    clippy::too_many_lines,
    clippy::wildcard_enum_match_arm,
    reason = "a table is as long as it has rows; a check looks at the kinds that it is about"
)]

mod bodies;
mod contents;
mod heads;
mod lists;
mod memory;
mod prefill;
mod recordings;
mod runs;
mod scenario;
mod server;
mod sockets;
mod storms;
mod structured;

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use bytes::Bytes;
use forgeline::{
    llm::{
        ProviderError, RetryPolicy, TimeoutKind, Timeouts, sse::SseLimits, transport::Transport,
    },
    types::ErrorCode,
};
use server::{Answer, Body, End, Server, ask, met, met_within, ok};

use super::wires::{WIRES, Wire};

const SECOND: Duration = Duration::from_secs(1);

/// A first delta, after which whatever follows.
fn begun(wire: &Wire) -> String {
    format!("{}{}", wire.begin, wire.delta("kept"))
}

// Covers: T-11
#[tokio::test(start_paused = true)]
async fn every_wait_ends_in_the_configured_time_with_its_own_error() {
    let timeouts = Timeouts::NONE.first_byte(5 * SECOND).idle(7 * SECOND).total(60 * SECOND);
    for wire in WIRES {
        let begun = begun(wire);
        let slow = Body::new(&begun).again(b" ", 10_000).every(SECOND);
        let comments = Body::new(wire.comment).again(wire.comment, 10_000).every(SECOND);
        let trickle = Body::bytewise(begun.repeat(8).as_bytes());
        let endless = Body::new(&begun).again(wire.delta("more"), 1 << 20);
        #[rustfmt::skip]
        let cases = [
            ("no head",            Answer::Silent,                           TimeoutKind::FirstByte, 5),
            ("no body",            ok(Body::new("").end(End::Stalls)),        TimeoutKind::FirstByte, 5),
            ("stalls",             ok(Body::new(&begun).end(End::Stalls)),    TimeoutKind::Idle,      7),
            ("a byte a second",    ok(trickle.every(SECOND).end(End::Stalls)), TimeoutKind::Total,   60),
            ("blanks for ever",    ok(slow),                                 TimeoutKind::Total,     60),
            ("comments for ever",  ok(comments),                             TimeoutKind::Total,     60),
            ("words for ever",     ok(endless.every(Duration::from_millis(10))), TimeoutKind::Total, 60),
        ];
        for (case, answer, want, seconds) in cases {
            let name = format!("{}, {case}", wire.name);
            let server = Server::new([answer]);
            let outcome = met(wire, &server, timeouts).await;
            let error = outcome.error.unwrap_or_else(|| panic!("{name}: no error"));
            assert!(
                matches!(error, ProviderError::Timeout { which, .. } if which == want),
                "{name}: {error:?}"
            );
            // Timers of the runtime are as fine as a millisecond.
            let late = outcome.took.saturating_sub(Duration::from_secs(seconds));
            assert!(
                outcome.took >= Duration::from_secs(seconds) && late < SECOND,
                "{name}: {:?}",
                outcome.took
            );
            assert_eq!(server.asked(), 1, "{name}: a wait that took too long is not begun again");
            let text = outcome.text.as_str();
            match case {
                "stalls" | "blanks for ever" | "words for ever" => {
                    assert!(text.starts_with("kept"), "{name}: {text}");
                }
                // How far it comes depends on how much the protocol writes around a word.
                "a byte a second" => {}
                _ => assert_eq!(text, "", "{name}"),
            }
        }
    }
}

/// R3: the status is known, so the wait for its words is short, and what there is of them is kept.
// Found: R3
#[tokio::test(start_paused = true)]
async fn r3_a_stalled_error_body_takes_two_seconds() {
    for wire in WIRES {
        for (case, words, seconds) in [("silent", "", 2), ("stalls", "you may not", 2)] {
            let name = format!("{}, {case}", wire.name);
            let body = Body::new(words).end(End::Stalls);
            let server = Server::new([Answer::Status(403, Vec::new(), body)]);
            let outcome = met(wire, &server, Timeouts::default()).await;
            let error = outcome.error.unwrap();
            assert_eq!(error.code(), ErrorCode::Auth, "{name}: {error:?}");
            assert!(error.to_string().contains(words), "{name}: {error}");
            let late = outcome.took.saturating_sub(seconds * SECOND);
            assert!(
                outcome.took >= seconds * SECOND && late < SECOND,
                "{name}: {:?}",
                outcome.took
            );
            assert_eq!(server.asked(), 1, "{name}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn after_the_first_delta_nothing_is_asked_again_and_before_it_three_times() {
    for wire in WIRES {
        let cases = [
            ("breaks", Body::new(begun(wire)).end(End::Breaks), ErrorCode::Connect),
            ("ends early", Body::new(begun(wire)), ErrorCode::EndedEarly),
        ];
        for (case, body, code) in cases {
            let name = format!("{}, {case}", wire.name);
            let server = Server::new([ok(body.clone())]);
            let outcome = met(wire, &server, Timeouts::NONE).await;
            assert_eq!(outcome.error.unwrap().code(), code, "{name}");
            assert_eq!(
                (outcome.text.as_str(), server.asked(), outcome.retries),
                ("kept", 1, 0),
                "{name}"
            );

            let blank =
                Body { pieces: vec![Bytes::copy_from_slice(wire.begin.as_bytes())], ..body };
            let server = Server::new([Answer::Refuses, ok(blank.clone()), ok(blank)]);
            let outcome = met(wire, &server, Timeouts::NONE).await;
            let error = outcome.error.unwrap();
            assert!(
                matches!(error, ProviderError::RetriesExhausted { attempts: 3, .. }),
                "{name}: {error:?}"
            );
            assert_eq!((error.code(), server.asked(), outcome.retries), (code, 3, 2), "{name}");
            assert_eq!(outcome.took, Duration::from_millis(1500), "{name}");
        }
        let whole = format!("{}{}", begun(wire), wire.end);
        let busy = Answer::Status(503, Vec::new(), Body::new("busy"));
        let server = Server::new([Answer::Refuses, busy, ok(Body::new(&whole))]);
        let outcome = met(wire, &server, Timeouts::NONE).await;
        assert_eq!((outcome.text.as_str(), outcome.retries), ("kept", 2), "{}", wire.name);
        assert!(outcome.error.is_none(), "{}: {:?}", wire.name, outcome.error);
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_no_answer_is_said_to_be_none() {
    let page = "<!doctype html>\n<html><head><title>Sign in</title></head></html>";
    let refusal = "{\"error\":{\"message\":\"no such model\",\"type\":\"invalid_request_error\"}}";
    for wire in WIRES {
        let typed = |kind: &str| vec![("content-type", kind.to_owned())];
        let location = vec![("location", "https://elsewhere/v1?token=t".to_owned())];
        #[rustfmt::skip]
        let cases = [
            ("a page",          ok(Body::new(page)),                                       ErrorCode::Decode,         "a web page"),
            ("a page, named",   Answer::Status(200, typed("text/html"), Body::new(page)),  ErrorCode::Decode,         "a web page"),
            ("a redirect",      Answer::Status(307, location, Body::new("")),              ErrorCode::InvalidRequest, "https://elsewhere/v1;"),
            ("a page as error", Answer::Status(404, typed("text/html"), Body::new(page)),  ErrorCode::InvalidRequest, "Sign in"),
            ("nothing",         ok(Body::new("")),                                         ErrorCode::EndedEarly,     "ended early"),
            ("an error as 200", ok(Body::new(refusal)),                                    ErrorCode::InvalidRequest, "no such model"),
            ("binary",          ok(Body::new("\u{0}\u{1}PNG")),                            ErrorCode::Decode,         "starts with"),
        ];
        for (case, answer, code, says) in cases {
            let name = format!("{}, {case}", wire.name);
            let server = Server::new([answer]);
            let transport: Arc<dyn Transport> = Arc::clone(&server) as _;
            let provider = wire.provider("http://h", &move |mut setup| {
                setup.transport = Some(Arc::clone(&transport));
                setup.retry = RetryPolicy::NONE;
                setup
            });
            let outcome = ask(&*provider).await;
            let error = outcome.error.unwrap_or_else(|| panic!("{name}: no error"));
            assert_eq!(error.code(), code, "{name}: {error:?}");
            assert!(error.to_string().contains(says), "{name}: {error}");
            assert!(!error.to_string().contains("token=t"), "{name}: {error}");
        }
        // What the head says does not matter when the body is an answer.
        let whole = format!("{}{}", begun(wire), wire.end);
        for kind in ["text/html", "application/json", "text/plain; charset=latin1"] {
            let server = Server::new([Answer::Status(200, typed(kind), Body::new(&whole))]);
            let outcome = met(wire, &server, Timeouts::NONE).await;
            assert_eq!(
                (outcome.text.as_str(), outcome.error.is_none()),
                ("kept", true),
                "{}, {kind}",
                wire.name
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_hundred_megabytes_in_one_event_are_not_kept() {
    const PIECE: usize = 16 << 10;
    for wire in WIRES {
        let delta = wire.delta("TEXT");
        let (head, _) = delta.split_once("TEXT").unwrap();
        let body =
            Body::new(format!("{}{head}", begun(wire))).again([b'x'; PIECE], (100 << 20) / PIECE);
        let server = Server::new([ok(body)]);
        let outcome = met(wire, &server, Timeouts::NONE).await;
        let error = outcome.error.unwrap();
        let ProviderError::Decode { offset, .. } = error else {
            panic!("{}: {error:?}", wire.name)
        };
        assert!(offset >= begun(wire).len() as u64, "{}: {offset}", wire.name);
        assert_eq!((outcome.text.as_str(), server.asked()), ("kept", 1), "{}", wire.name);
        // What was not asked for was not kept either; the limit is 8 MiB.
        let read = server.bytes.load(Ordering::Relaxed);
        assert!(read <= (8 << 20) + (1 << 20), "{}: {read} bytes were read", wire.name);
    }
}

#[tokio::test]
async fn a_server_that_always_has_more_to_say_ends_in_time() {
    const MANY: usize = 1 << 23;
    let timeouts = Timeouts::NONE.total(Duration::from_millis(250));
    // A fast machine reads more than an answer may have before its time is over.
    let limits = SseLimits::default().max_response_bytes(usize::MAX);
    for wire in WIRES {
        for piece in [wire.delta("more"), wire.comment.to_owned()] {
            let body = Body::new(begun(wire)).again(&piece, MANY);
            let server = Server::new([ok(body)]);
            let outcome = met_within(limits, wire, &server, timeouts).await;
            let name = format!("{}, {piece}", wire.name);
            let error = outcome.error.unwrap_or_else(|| panic!("{name}: no error"));
            let total = TimeoutKind::Total;
            assert!(
                matches!(error, ProviderError::Timeout { which, .. } if which == total),
                "{name}: {error:?}"
            );
            // A busy machine may read nothing in that time.
            let text = outcome.text;
            assert!(text.is_empty() || text.starts_with("kept"), "{name}");
            assert!(server.bytes.load(Ordering::Relaxed) < MANY * piece.len(), "{name}");
        }
    }
}

#[tokio::test]
async fn a_body_without_end_is_cut_at_the_limit_and_a_whole_answer_stays_whole() {
    const MOST: usize = 64 << 10;
    let limits = SseLimits::default().max_response_bytes(MOST);
    for wire in WIRES {
        let met = async |start: &str, piece: &str| {
            let server = Server::new([ok(Body::new(start).again(piece, MOST))]);
            let outcome = met_within(limits, wire, &server, Timeouts::default()).await;
            (outcome, server.bytes.load(Ordering::Relaxed))
        };
        let (outcome, read) = met(&begun(wire), &wire.delta("more")).await;
        let error = outcome.error.unwrap_or_else(|| panic!("{}: no error", wire.name));
        let is_limit = matches!(&error, ProviderError::Decode { offset, reason, .. }
            if *offset == MOST as u64 && reason.contains("max_response_bytes"));
        assert!(is_limit, "{}: {error:?}", wire.name);
        assert!(outcome.text.starts_with("keptmore"), "{}", wire.name);
        assert!(read < MOST + 1024, "{}: {read} bytes were read", wire.name);

        let whole = format!("{}{}", begun(wire), wire.end);
        let (outcome, read) = met(&whole, "\n").await;
        assert!(outcome.error.is_none(), "{}: {:?}", wire.name, outcome.error);
        assert_eq!(outcome.text, "kept", "{}", wire.name);
        assert!(read < MOST + 1024, "{}: {read} bytes were read", wire.name);
    }
}
