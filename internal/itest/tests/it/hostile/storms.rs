//! Storms: errors one after another, and servers that say how long to wait.

use std::time::Duration;

use forgeline::{
    llm::{RetryPolicy, TimeoutKind},
    types::ErrorCode,
};

use super::{
    SECOND, begun,
    scenario::{Scenario, one, play, several, times, whole},
    server::{Answer, Body, End, ok},
};

fn status(number: u16) -> Answer {
    Answer::Status(number, Vec::new(), Body::new("busy"))
}

fn asking(number: u16, name: &'static str, value: &str) -> Answer {
    Answer::Status(number, vec![(name, value.to_owned())], Body::new("busy"))
}

/// A server that asks to wait once, and then answers.
fn waits(name: &'static str, value: &'static str, seconds: u64) -> Scenario {
    several(format!("{name}: {value}"), move |wire| {
        vec![asking(429, name, value), ok(Body::new(whole(wire)))]
    })
    .asks(2)
    .takes(seconds..=seconds)
}

/// A server that asks for more time than anybody has.
fn too_long(name: &'static str, value: &'static str) -> Scenario {
    one(format!("{name}: {value}, which is too long"), move |_| asking(429, name, value))
        .fails(ErrorCode::RateLimited)
        .nothing()
}

fn scenarios() -> Vec<Scenario> {
    let early = "Sun, 06 Nov 1994 08:49:37 GMT";
    let mut table = vec![
        waits("retry-after", "0", 0),
        waits("retry-after", "1", 1),
        waits("retry-after", "60", 60),
        waits("retry-after", " 7 ", 7),
        waits("retry-after", "1.5", 1),
        waits("retry-after", early, 0),
        waits("retry-after-ms", "2500", 2),
        waits("retry-after-ms", "0", 0),
        waits("retry-after", "-1", 0),
        waits("retry-after", "NaN", 0),
        waits("retry-after", "soon", 0),
        waits("retry-after", "", 0),
        waits("retry-after", "1e300", 0),
        waits("retry-after", "inf", 0),
        waits("retry-after", "18446744073709551615", 0),
        waits("retry-after", "5, 7", 0),
        waits("retry-after", "Thu, 00 Jan 1970 00:00:00 GMT", 0),
        too_long("retry-after", "61"),
        too_long("retry-after", "86400"),
        too_long("retry-after", "9999999999999"),
        too_long("retry-after", "Fri, 31 Dec 9999 23:59:59 GMT"),
        too_long("retry-after-ms", "60001"),
    ];
    // More waits than the exchange has time for: the one that ends too late is not begun.
    table.push(
        several("waits beyond the total", |_| vec![asking(503, "retry-after", "59"); 2])
            .times(times().total(100 * SECOND))
            .late(TimeoutKind::Total)
            .nothing()
            .asks(2)
            .takes(59..=59),
    );
    table.push(
        one("no time for a retry", |_| asking(503, "retry-after", "59"))
            .times(times().total(30 * SECOND))
            .late(TimeoutKind::Total)
            .nothing(),
    );
    for number in [408, 409, 429, 500, 502, 503, 504, 529] {
        table.push(
            several(format!("{number} twice, then an answer"), move |wire| {
                vec![status(number), status(number), ok(Body::new(whole(wire)))]
            })
            .asks(3)
            .takes(1..=1),
        );
    }
    table.extend([
        several("a storm of all kinds", |_| vec![status(500), Answer::Refuses, status(429)])
            .fails(ErrorCode::RateLimited)
            .nothing()
            .asks(3)
            .takes(1..=1),
        several("a storm that a wrong key ends", |_| vec![status(500), status(401)])
            .fails(ErrorCode::Auth)
            .nothing()
            .asks(2),
        several("a storm that silence ends", |_| vec![status(500), Answer::Silent])
            .late(TimeoutKind::FirstByte)
            .nothing()
            .asks(2)
            .takes(5..=5),
        several("a storm that a page ends", |_| vec![status(500), ok(Body::new("<html>"))])
            .fails(ErrorCode::Decode)
            .nothing()
            .asks(2),
        one("a used-up quota", |_| {
            let said = r#"{"error":{"code":"insufficient_quota","message":"no more"}}"#;
            Answer::Status(429, Vec::new(), Body::new(said))
        })
        .fails(ErrorCode::QuotaExhausted)
        .nothing(),
        one("an error that is not to be retried", |_| asking(500, "x-should-retry", "false"))
            .fails(ErrorCode::Status)
            .nothing(),
        several("a refusal that is to be retried", |wire| {
            vec![asking(400, "x-should-retry", "true"), ok(Body::new(whole(wire)))]
        })
        .asks(2),
        several("an answer that breaks before its first word", |wire| {
            let broken = ok(Body::new(wire.begin).end(End::Breaks));
            vec![broken.clone(), broken, ok(Body::new(whole(wire)))]
        })
        .asks(3)
        .takes(1..=1),
        several("an answer that ends before its first word", |wire| {
            vec![ok(Body::new(wire.begin)), ok(Body::new(whole(wire)))]
        })
        .asks(2),
        several("an error behind its first word, after a retry", |wire| {
            vec![status(503), ok(Body::new(begun(wire)).end(End::Breaks))]
        })
        .fails(ErrorCode::Connect)
        .asks(2),
        several("a stall behind its first word, after a retry", |wire| {
            vec![status(503), ok(Body::new(begun(wire)).end(End::Stalls))]
        })
        .late(TimeoutKind::Idle)
        .asks(2)
        .takes(7..=7),
        several("a call, then a break", |wire| {
            let call = wire.call("1", "c", "f", "{}");
            vec![ok(Body::new(format!("{}{call}", wire.begin)).end(End::Breaks))]
        })
        .fails(ErrorCode::Connect)
        .nothing(),
        several("ten attempts", |_| vec![status(500); 10])
            .retry(RetryPolicy::default().jitter(false).max_attempts(10))
            .fails(ErrorCode::Status)
            .nothing()
            .asks(10)
            .takes(100..=200),
        several("more attempts than there is time for", |_| vec![status(500); 24])
            .retry(
                RetryPolicy::default()
                    .jitter(false)
                    .max_attempts(u32::MAX)
                    .max_delay(Duration::from_secs(10)),
            )
            .late(TimeoutKind::Total)
            .nothing()
            .asks(24)
            .takes(195..=196),
        one("no attempt but the first", |_| status(500))
            .retry(RetryPolicy::NONE)
            .fails(ErrorCode::Status)
            .nothing(),
    ]);
    table
}

// Found: R3, R12
#[tokio::test(start_paused = true)]
async fn a_storm_costs_no_more_requests_and_time_than_it_may() {
    assert!(play(&scenarios()).await >= 40);
}
