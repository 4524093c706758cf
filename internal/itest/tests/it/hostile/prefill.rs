//! Servers that read a long prompt: nothing is asked again while they say that they do, and no limit of the whole
//! is stretched by what they say.

use std::{sync::Arc, time::Duration};

use forgeline::{
    llm::{ProviderError, Request, TimeoutKind, Timeouts, transport::Transport},
    types::ErrorCode,
};

use super::{
    SECOND, WIRES, Wire, begun,
    scenario::{Scenario, one, play, several, times, whole},
    server::{Answer, Body, End, Server, ask_for, ok},
};

/// How often a piece comes again that never ends.
const EVER: usize = 1 << 24;
/// The pace of the reports.
const PACE: Duration = Duration::from_secs(4);

/// A report of a server that is alive: of its progress where the protocol has one, else a comment.
fn report(wire: &Wire) -> String {
    if wire.name == "openai" {
        let progress = r#"{"total":900,"cache":0,"processed":4,"time_ms":2}"#;
        return format!("data: {{\"choices\":[],\"prompt_progress\":{progress}}}\n\n");
    }
    wire.comment.to_owned()
}

/// A body of `count` reports, and then this.
fn behind_reports(wire: &Wire, count: usize, rest: &str) -> Body {
    let mut body = Body::new(rest);
    body.pieces.splice(0..0, std::iter::repeat_n(report(wire).into(), count));
    body.every(PACE)
}

fn scenarios() -> Vec<Scenario> {
    // Reports of progress are a sign of life, comments are no content.
    let patient = times().content(Duration::ZERO);
    let rows = vec![
        one("an answer behind its progress", |wire| ok(behind_reports(wire, 24, &whole(wire))))
            .takes(100..=100),
        one("progress for ever", |wire| {
            ok(Body::new(report(wire)).again(report(wire), EVER).every(PACE))
        })
        .late(TimeoutKind::Total)
        .nothing()
        .takes(200..=200),
        one("progress, then silence", |wire| {
            ok(behind_reports(wire, 3, &report(wire)).end(End::Stalls))
        })
        .late(TimeoutKind::Idle)
        .nothing()
        .takes(23..=23),
        // No part of the answer has arrived, so a failed request is repeated.
        several("progress, then a break", |wire| {
            vec![
                ok(behind_reports(wire, 3, &report(wire)).end(End::Breaks)),
                ok(Body::new(whole(wire))),
            ]
        })
        .asks(2)
        .takes(16..=16),
        several("progress, then an early end", |wire| {
            vec![ok(behind_reports(wire, 3, &report(wire))), ok(Body::new(whole(wire)))]
        })
        .asks(2)
        .takes(16..=16),
        several("progress for ever behind a failure", |wire| {
            let forever = Body::new(report(wire)).again(report(wire), EVER).every(PACE);
            vec![
                Answer::Status(503, vec![("retry-after", "30".to_owned())], Body::new("")),
                ok(forever),
            ]
        })
        .late(TimeoutKind::Total)
        .nothing()
        .asks(2)
        .takes(200..=200),
        one("progress behind a word, for ever", |wire| {
            ok(Body::new(begun(wire)).again(report(wire), EVER).every(PACE))
        })
        .late(TimeoutKind::Total)
        .takes(200..=200),
        one("progress behind a word, then a break", |wire| {
            let body = format!("{}{}", begun(wire), report(wire));
            ok(Body::new(body).end(End::Breaks))
        })
        .fails(ErrorCode::Connect),
    ];
    rows.into_iter().map(|row| row.times(patient)).collect()
}

// Found: V18
#[tokio::test(start_paused = true)]
async fn nothing_is_asked_again_while_progress_comes_and_the_total_is_not_stretched() {
    assert_eq!(play(&scenarios()).await, 8);
}

/// A long prompt: 25,600 bytes and some are a hundred seconds more.
const PROMPT: usize = 25_600;

/// Asks a server at this address with a long prompt.
async fn met(wire: &Wire, url: &str, body: Body) -> (String, Option<ProviderError>, u64) {
    let transport: Arc<dyn Transport> = Server::new([ok(body)]);
    let provider = wire.provider(url, &move |mut setup| {
        setup.transport = Some(Arc::clone(&transport));
        setup.timeouts =
            Timeouts::NONE.first_byte(5 * SECOND).idle(7 * SECOND).content(20 * SECOND);
        setup
    });
    let outcome = ask_for(&*provider, Request::prompt("x".repeat(PROMPT))).await;
    (outcome.text, outcome.error, outcome.took.as_secs())
}

// Found: V18
#[tokio::test(start_paused = true)]
async fn a_server_on_this_machine_is_waited_for_by_the_size_of_the_prompt_until_it_answers() {
    type Sent = fn(&Wire) -> Body;
    let late = |body: Body, seconds: u32| body.every(seconds * SECOND);
    let early: Sent = |wire| Body::new(wire.comment).end(End::Stalls);
    let stalls: Sent = |wire| Body::new(begun(wire)).end(End::Stalls);
    for wire in WIRES {
        let name = wire.name;
        // The head, then the whole answer after a minute and a half.
        let body = || late(Body::new(whole(wire)), 90);
        let (text, error, took) = met(wire, "http://127.0.0.1:1", body()).await;
        assert_eq!((text.as_str(), error.is_none(), took), ("kept", true, 90), "{name}: {error:?}");
        let (text, error, took) = met(wire, "http://h", body()).await;
        assert_late(error.as_ref(), TimeoutKind::FirstByte, name);
        assert_eq!((text.as_str(), took), ("", 5), "{name}");
        // A sign of life first.
        let mut body = late(Body::new(wire.comment), 90);
        body.pieces.push(whole(wire).into());
        let (text, error, _) = met(wire, "http://localhost", body).await;
        assert_eq!((text.as_str(), error.is_none()), ("kept", true), "{name}: {error:?}");
        // It has bounds, and once the answer has begun it is over.
        for (body, seconds) in [(early, 107..=120), (stalls, 7..=7)] {
            let (_, error, took) = met(wire, "http://127.0.0.1:1", body(wire)).await;
            assert_late(error.as_ref(), TimeoutKind::Idle, name);
            assert!(seconds.contains(&took), "{name}: {took}");
        }
    }
}

fn assert_late(error: Option<&ProviderError>, want: TimeoutKind, name: &str) {
    let is_late = matches!(error, Some(ProviderError::Timeout { which, .. }) if *which == want);
    assert!(is_late, "{name}: {error:?}");
}
