use std::{
    future::poll_fn,
    pin::pin,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use futures_core::Stream;
use futures_util::{StreamExt as _, stream, task::noop_waker_ref};
use tokio::{
    sync::mpsc,
    task::coop::poll_proceed,
    time::{Instant, sleep, timeout},
};

use super::{BodyChunks, BodyDeadline, chunks::AFTER_ERROR};
use crate::{
    ContentTyper, ProviderError, TimeoutKind, Timeouts, decode::BodyDecoding, openai::OpenAiDecoder,
};
use forgeline_parser::{ThinkingDialect, ToolDialect};

/// Returns the error of a body of `events` and then silence, and the time until then.
async fn silence_after(events: &'static str) -> (ProviderError, Duration) {
    let start = Instant::now();
    let bytes = stream::iter([Ok(Bytes::from_static(events.as_bytes()))]);
    let body = bytes.chain(stream::pending());
    let typer = ContentTyper::new(&ThinkingDialect::NONE, &ToolDialect::NONE);
    let waits = Timeouts::default().idle(Duration::from_mins(2));
    let decoding = BodyDecoding::new(OpenAiDecoder::default(), typer, usize::MAX);
    let chunks = BodyChunks::new(body, decoding, waits, start, None);
    let last = chunks.collect::<Vec<_>>().await.pop().unwrap();
    (last.unwrap_err(), start.elapsed())
}

/// Reads a body of `begin`, then `ping` every half second for ever.
async fn pinged(
    begin: &'static str,
    ping: &'static str,
    timeouts: Timeouts,
) -> (Result<String, ProviderError>, Duration) {
    let start = Instant::now();
    let pings = stream::repeat(()).then(move |()| async move {
        tokio::time::sleep(Duration::from_millis(500)).await;
        Ok(Bytes::from_static(ping.as_bytes()))
    });
    let body = stream::iter([Ok(Bytes::from_static(begin.as_bytes()))]).chain(pings);
    let typer = ContentTyper::new(&ThinkingDialect::NONE, &ToolDialect::NONE);
    let decoding = BodyDecoding::new(OpenAiDecoder::default(), typer, usize::MAX);
    let mut chunks = BodyChunks::new(Box::pin(body), decoding, timeouts, start, None);
    let mut text = String::new();
    while let Some(chunk) = chunks.next().await {
        match chunk {
            Ok(chunk) => text.push_str(&chunk.content),
            Err(error) => return (Err(error), start.elapsed()),
        }
    }
    (Ok(text), start.elapsed())
}

const HI: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"}}]}\n\n";

// Found: R4
#[tokio::test(start_paused = true)]
async fn r4_a_finished_answer_ends_after_two_seconds_whatever_follows() {
    let finish =
        "data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"},\"finish_reason\":\"stop\"}]}\n\n";
    for ping in [": ping\n\n", "\n", "data: {\"choices\":[]}\n\n"] {
        let (text, after) = pinged(finish, ping, Timeouts::default()).await;
        assert_eq!(text.unwrap(), "Hi", "{ping:?}");
        let grace = Timeouts::NONE.after_finish;
        assert!((grace..grace * 2).contains(&after), "{ping:?}: {after:?}");
    }
}

// Found: R4
#[tokio::test(start_paused = true)]
async fn r4_what_is_not_content_does_not_hold_a_run() {
    let timeouts = Timeouts::default().content(Duration::from_secs(30));
    for (begin, ping) in [(HI, ": ping\n\n"), (": hello\n\n", "\n"), (HI, "data: {}\n\n")] {
        let (text, after) = pinged(begin, ping, timeouts).await;
        let error = text.unwrap_err();
        assert!(
            matches!(error, ProviderError::Timeout { which: TimeoutKind::Content, .. }),
            "{ping:?}: {error:?}"
        );
        assert!((30..32).contains(&after.as_secs()), "{ping:?}: {after:?}");
    }
}

// Found: S10
#[tokio::test(start_paused = true)]
async fn once_the_server_reports_an_error_the_rest_may_take_a_second() {
    let (error, after) = silence_after("data: {\"choices\":[]}\n\n").await;
    assert!(matches!(error, ProviderError::Timeout { which: TimeoutKind::Idle, .. }), "{error:?}");
    assert!(after >= Duration::from_mins(2), "{after:?}");
    let (error, after) = silence_after("data: {\"error\":{\"message\":\"x\"}}\n\n").await;
    assert!(matches!(error, ProviderError::InStream { .. }), "{error:?}");
    assert!((AFTER_ERROR..AFTER_ERROR * 2).contains(&after), "{after:?}");
}

/// Reads a body of which another task sends the begin, and then `more` every 300 ms for five seconds; each
/// poll is done by `poll`. Returns the limit that passed, and when.
async fn late(
    more: &'static str,
    timeouts: Timeouts,
    total: Duration,
    mut poll: impl FnMut(&mut dyn FnMut(&mut Context<'_>) -> bool, &mut Context<'_>) -> bool,
) -> (Option<TimeoutKind>, Duration) {
    let start = Instant::now();
    let (sender, mut reads) = mpsc::channel(1);
    tokio::spawn(async move {
        for read in [HI].into_iter().chain(std::iter::repeat_n(more, 16)) {
            sender.send(Ok(Bytes::from_static(read.as_bytes()))).await.ok();
            sleep(Duration::from_millis(300)).await;
        }
        sender.closed().await;
    });
    let body = stream::poll_fn(move |context| reads.poll_recv(context));
    let typer = ContentTyper::new(&ThinkingDialect::NONE, &ToolDialect::NONE);
    let decoding = BodyDecoding::new(OpenAiDecoder::default(), typer, usize::MAX);
    let total = BodyDeadline::new(start, TimeoutKind::Total, total);
    let mut chunks = pin!(BodyChunks::new(body, decoding, timeouts, start, total));
    let mut passed = None;
    let reading = poll_fn(|context| {
        let mut once = |context: &mut Context<'_>| loop {
            match chunks.as_mut().poll_next(context) {
                Poll::Ready(Some(Err(ProviderError::Timeout { which, .. }))) => {
                    passed = Some(which);
                    return true;
                }
                Poll::Ready(Some(Ok(_))) => {}
                Poll::Ready(end) => panic!("{end:?}"),
                Poll::Pending => return false,
            }
        };
        if poll(&mut once, context) { Poll::Ready(()) } else { Poll::Pending }
    });
    let is_woken = timeout(Duration::from_hours(2), reading).await.is_ok();
    assert!(is_woken, "the timer woke nobody");
    (passed, start.elapsed())
}

/// The limits, and which passes when (ms) once reads came every 300 ms for 4.8 s.
const LATE: [(&str, u64, u64, u64, TimeoutKind, u64); 5] = [
    (HI, 2_000, 60_000, 60_000, TimeoutKind::Idle, 6_800),
    (HI, 60_000, 3_000, 60_000, TimeoutKind::Content, 7_800),
    (": ping\n\n", 60_000, 3_000, 60_000, TimeoutKind::Content, 3_000),
    (HI, 60_000, 60_000, 10_000, TimeoutKind::Total, 10_000),
    (HI, 2_000, 60_000, 3_000, TimeoutKind::Total, 3_000),
];

async fn all_late(
    why: &str,
    mut poll: impl FnMut(&mut dyn FnMut(&mut Context<'_>) -> bool, &mut Context<'_>) -> bool,
) {
    for (more, idle, content, total, which, at) in LATE {
        let [idle, content, total] = [idle, content, total].map(Duration::from_millis);
        // The first timer is early: that of the first byte.
        let limits = Timeouts::NONE.first_byte(Duration::from_secs(1)).idle(idle).content(content);
        let (passed, after) = late(more, limits, total, &mut poll).await;
        assert_eq!(passed, Some(which), "{why}: {idle:?} {content:?} {total:?}");
        let at = Duration::from_millis(at);
        assert!(
            (at..at + Duration::from_millis(10)).contains(&after),
            "{why}: {which:?} {after:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_deadline_passes_on_time_whichever_task_polled_last() {
    all_late("one task", |once, context| once(context)).await;
    all_late("two tasks", |once, context| {
        once(&mut Context::from_waker(noop_waker_ref())) || once(context)
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_deadline_passes_on_time_however_little_budget_the_task_has() {
    // With none left in every poll, no task would go on.
    for (spent, phase) in (120..=130).flat_map(|spent| [(spent, 0), (spent, 1)]) {
        let mut polls = 0;
        all_late(&format!("{spent} spent"), move |once, context| {
            polls += 1;
            let mut nobody = Context::from_waker(noop_waker_ref());
            for _ in 0..if polls % 2 == phase { spent } else { 0 } {
                if let Poll::Ready(budget) = poll_proceed(&mut nobody) {
                    budget.made_progress();
                }
            }
            once(context)
        })
        .await;
    }
}
