//! Requests that wait for their turn.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures_util::{FutureExt as _, StreamExt as _};
use tokio::time::Instant;

use super::*;
use crate::{
    Provider, ProviderError, Request, StatusError, StreamChunk, TimeoutKind,
    scripted::{ScriptedProvider, ScriptedTurn},
};
use forgeline_types::{AgentError, AgentEvent, ErrorCode, RetryEvent};

fn says(text: &'static str) -> ScriptedProvider {
    ScriptedProvider::from_fn(move |_: &Request| ScriptedTurn::new().text(text))
}

fn prompts(count: usize) -> impl Iterator<Item = Request> + Send {
    (0..count).map(|at| Request::prompt(at.to_string()))
}

#[tokio::test(start_paused = true)]
async fn requests_begin_as_often_as_allowed_and_each_is_answered_once() {
    let limited = Limited::new(says("ok")).per_second(10);
    let start = Instant::now();
    let answers: Vec<_> = limited.complete_all(prompts(31)).collect().await;
    assert_eq!(start.elapsed().as_millis(), 3_000);
    let mut numbers: Vec<_> = answers.iter().map(|(at, _)| *at).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (0..31).collect::<Vec<_>>());
    assert!(answers.iter().all(|(_, answer)| answer.as_ref().is_ok_and(|it| it.text == "ok")));
    // Time that was not used is not saved up.
    tokio::time::advance(Duration::from_mins(1)).await;
    let start = Instant::now();
    limited.complete_all(prompts(3)).collect::<Vec<_>>().await;
    assert_eq!(start.elapsed().as_millis(), 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn requests_at_once_are_bounded_on_several_threads() {
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (own, peak) = (Arc::clone(&now), Arc::clone(&most));
    let provider = ScriptedProvider::from_fn(move |_: &Request| {
        peak.fetch_max(own.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        ScriptedTurn::new().text("one").text("two")
    });
    let limited = Limited::new(provider).concurrent(3);
    let reads = (0..200).map(|_| {
        let (limited, now) = (limited.clone(), Arc::clone(&now));
        tokio::spawn(async move {
            let mut chunks = limited.stream_completion(Request::prompt("x")).await.unwrap();
            tokio::task::yield_now().await;
            let count = chunks.by_ref().count().await;
            now.fetch_sub(1, Ordering::SeqCst);
            drop(chunks);
            count
        })
    });
    for read in reads.collect::<Vec<_>>() {
        assert!(read.await.unwrap() >= 2);
    }
    // A request ends for the limit before this test counts its end.
    assert!((1..=6).contains(&most.load(Ordering::SeqCst)), "{most:?}");
}

#[tokio::test(start_paused = true)]
async fn a_place_is_free_once_a_stream_has_ended_or_a_request_is_dropped() {
    let hangs = ScriptedProvider::from_fn(|_: &Request| ScriptedTurn::new().text("one").hang());
    let limited = Limited::new(hangs).concurrent(1);
    let mut first = limited.stream_completion(Request::prompt("x")).await.unwrap();
    first.next().await.unwrap().unwrap();
    // Waits; nothing is sent.
    let mut waiting = limited.stream_completion(Request::prompt("y"));
    assert!((&mut waiting).now_or_never().is_none());
    drop(waiting);
    let mut second = limited.stream_completion(Request::prompt("z"));
    assert!((&mut second).now_or_never().is_none());
    drop(first);
    assert!(second.await.is_ok());

    let limited = Limited::new(says("ok")).concurrent(1);
    let mut ended = limited.stream_completion(Request::prompt("x")).await.unwrap();
    while ended.next().await.is_some() {}
    assert!(limited.complete(Request::prompt("y")).await.is_ok(), "the stream is still held");
}

#[tokio::test(start_paused = true)]
async fn all_wait_when_the_server_asks_one_to() {
    let slow = |kind| {
        let mut error = StatusError::new(429, kind, "slow down");
        error.retry_after = Some(Duration::from_secs(7));
        ProviderError::Status(Box::new(error))
    };
    let told = AgentEvent::Retry(
        RetryEvent::new(1, 3, AgentError::new(ErrorCode::RateLimited, "slow down")).delay_ms(7_000),
    );
    let tells = ScriptedTurn::new().chunk(StreamChunk::events(vec![told])).text("ok");
    for first in [
        ScriptedTurn::refuse(slow(ErrorCode::RateLimited)),
        ScriptedTurn::new().fail(slow(ErrorCode::RateLimited)),
        tells,
    ] {
        let mut first = Some(first);
        let provider = ScriptedProvider::from_fn(move |_: &Request| {
            first.take().unwrap_or_else(|| ScriptedTurn::new().text("ok"))
        });
        let limited = Limited::new(provider).concurrent(2);
        let other = limited.clone();
        let _first = limited.complete(Request::prompt("x")).await;
        let start = Instant::now();
        assert!(other.complete(Request::prompt("y")).await.is_ok());
        assert_eq!(start.elapsed().as_secs(), 7);
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_that_waits_too_long_fails_and_says_for_what() {
    let hangs = ScriptedProvider::from_fn(|_: &Request| ScriptedTurn::new().hang());
    let limited = Limited::new(hangs.clone()).concurrent(1).max_wait(Duration::from_secs(5));
    let _held = limited.stream_completion(Request::prompt("x")).await.unwrap();
    let error = limited.stream_completion(Request::prompt("y")).await.err().unwrap();
    assert!(matches!(error, ProviderError::Timeout { which: TimeoutKind::Turn, .. }), "{error}");
    assert!(error.to_string().contains("its turn"), "{error}");
    assert_eq!(hangs.requests().len(), 1);
}
