//! Timeouts and cancellation.

use std::{task::Poll, time::Duration};

use futures_util::StreamExt as _;

use crate::{
    llm::{Provider as _, ProviderError, TimeoutKind, Timeouts},
    testing::conformance::{
        Answer,
        seen::Run,
        server::{Reply, Server, Step},
        suite::{Rows, Suite, Verdict, absent, hold, prompt},
    },
};

const FIRST: Duration = Duration::from_secs(11);
const IDLE: Duration = Duration::from_secs(7);
const TOTAL: Duration = Duration::from_secs(61);

fn timeouts() -> Timeouts {
    Timeouts::NONE.first_byte(FIRST).idle(IDLE).total(TOTAL)
}

/// Fails unless the run ended with this timeout, at this time.
fn timed_out(run: &Run, want: TimeoutKind, at: Duration) -> Verdict {
    let is_told = matches!(run.error, Some(ProviderError::Timeout { which, .. }) if which == want);
    hold(is_told, || format!("it ends with {} instead of a timeout", run.error_line()))?;
    let slack = Duration::from_millis(50);
    hold((at..=at + slack).contains(&run.end), || format!("it took {:?}, not {at:?}", run.end))
}

pub(super) async fn first_byte(suite: &Suite<'_>) -> Verdict {
    let mut rows = Rows::default();
    for (row, reply) in [("no head", Reply::Silent), ("no body", Reply::steps(vec![Step::Hang]))] {
        let trial = suite.trial(|setup| setup.timeouts = timeouts())?;
        let run = trial.ask(reply).await;
        rows.add(row, timed_out(&run, TimeoutKind::FirstByte, FIRST));
    }
    rows.verdict()
}

pub(super) async fn idle(suite: &Suite<'_>) -> Verdict {
    let frames = suite.plain(&Answer::text(["Amber"]).cut())?;
    let trial = suite.trial(|setup| setup.timeouts = timeouts())?;
    let steps = frames.into_iter().map(Step::Bytes).chain([Step::Hang]);
    let run = trial.ask(Reply::steps(steps.collect())).await;
    timed_out(&run, TimeoutKind::Idle, IDLE)?;
    let text = run.seen().text();
    hold(text == "Amber", || format!("of what had arrived, {text:?} is kept"))
}

pub(super) async fn total(suite: &Suite<'_>) -> Verdict {
    let words = vec!["Amber "; 40];
    let frames = suite.plain(&Answer::text(words).cut())?;
    let trial = suite.trial(|setup| setup.timeouts = timeouts())?;
    let paced = frames.into_iter().flat_map(|frame| [Step::Bytes(frame), Step::Wait(IDLE / 2)]);
    let run = trial.ask(Reply::steps(paced.collect())).await;
    timed_out(&run, TimeoutKind::Total, TOTAL)?;
    hold(run.seen().text().starts_with("Amber Amber"), || "what had arrived is lost".to_owned())
}

pub(super) async fn comments(suite: &Suite<'_>) -> Verdict {
    let comment = suite.subject.comment().ok_or_else(|| absent("the protocol has no comments"))?;
    let frames = suite.plain(&Answer::text(["Amber"]))?;
    let trial =
        suite.trial(|setup| setup.timeouts = Timeouts::NONE.first_byte(FIRST).idle(IDLE))?;
    let silence = (0..10).flat_map(|_| [Step::Bytes(comment.clone()), Step::Wait(IDLE / 2)]);
    let steps = silence.chain(frames.into_iter().map(Step::Bytes));
    let run = trial.ask(Reply::steps(steps.collect())).await;
    hold(run.error.is_none(), || format!("it ends with {}", run.error_line()))?;
    let text = run.seen().text();
    hold(text == "Amber", || format!("the answer is {text:?}"))
}

pub(super) async fn drop_stream(suite: &Suite<'_>) -> Verdict {
    let frames = suite.plain(&Answer::text(["Amber"]).cut())?;
    let trial = suite.trial(|_| ())?;
    trial.reply(Reply::steps(frames.into_iter().map(Step::Bytes).chain([Step::Hang]).collect()));
    let stream = trial.provider.stream_completion(prompt()).await;
    let Ok(mut stream) = stream else {
        return hold(false, || "the request fails".to_owned());
    };
    while let Some(Ok(chunk)) = stream.next().await {
        if chunk.content == "Amber" {
            break;
        }
    }
    hold(trial.server.open() == 1, || "the exchange is over before its end".to_owned())?;
    drop(stream);
    closed(&trial.server).await
}

pub(super) async fn drop_future(suite: &Suite<'_>) -> Verdict {
    let trial = suite.trial(|_| ())?;
    trial.reply(Reply::Silent);
    let mut future = trial.provider.stream_completion(prompt());
    let open = || trial.server.open() == 1;
    // A provider may need a few turns before its request is sent.
    for _ in 0..20 {
        std::future::poll_fn(|context| Poll::Ready(future.as_mut().poll(context).is_ready())).await;
        if open() {
            break;
        }
        tokio::task::yield_now().await;
    }
    hold(open(), || "the request is not sent".to_owned())?;
    drop(future);
    closed(&trial.server).await
}

async fn closed(server: &Server) -> Verdict {
    for _ in 0..20 {
        tokio::task::yield_now().await;
    }
    let open = server.open();
    hold(open == 0, || format!("{open} exchanges are still open"))
}
