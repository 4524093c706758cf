//! Timeouts and cancellation.

use std::{task::Poll, time::Duration};

use futures_util::StreamExt as _;

use crate::conformance::{
    harness::{Answer, BodyStep, CheckSuite, RequestRun, ScriptedServer, ServerReply, prompt},
    verdict::{CheckVerdict, VerdictRows, absent, hold},
};
use forgeline_llm::{Provider as _, ProviderError, TimeoutKind, Timeouts};

const FIRST: Duration = Duration::from_secs(11);
const IDLE: Duration = Duration::from_secs(7);
const TOTAL: Duration = Duration::from_secs(61);

fn timeouts() -> Timeouts {
    Timeouts::NONE.first_byte(FIRST).idle(IDLE).total(TOTAL)
}

/// Fails unless the run ended with this timeout, at this time.
fn timed_out(run: &RequestRun, want: TimeoutKind, at: Duration) -> CheckVerdict {
    let is_told = matches!(run.error, Some(ProviderError::Timeout { which, .. }) if which == want);
    hold(is_told, || format!("it ends with {} instead of a timeout", run.error_line()))?;
    let slack = Duration::from_millis(50);
    hold((at..=at + slack).contains(&run.end), || format!("it took {:?}, not {at:?}", run.end))
}

pub(super) async fn first_byte(suite: &CheckSuite<'_>) -> CheckVerdict {
    let mut rows = VerdictRows::default();
    for (row, reply) in
        [("no head", ServerReply::Silent), ("no body", ServerReply::steps(vec![BodyStep::Hang]))]
    {
        let trial = suite.trial(|setup| setup.timeouts = timeouts())?;
        let run = trial.ask(reply).await;
        rows.add(row, timed_out(&run, TimeoutKind::FirstByte, FIRST));
    }
    rows.verdict()
}

pub(super) async fn idle(suite: &CheckSuite<'_>) -> CheckVerdict {
    let frames = suite.plain(&Answer::text(["Amber"]).cut())?;
    let trial = suite.trial(|setup| setup.timeouts = timeouts())?;
    let steps = frames.into_iter().map(BodyStep::Bytes).chain([BodyStep::Hang]);
    let run = trial.ask(ServerReply::steps(steps.collect())).await;
    timed_out(&run, TimeoutKind::Idle, IDLE)?;
    let text = run.seen().text();
    hold(text == "Amber", || format!("of what had arrived, {text:?} is kept"))
}

pub(super) async fn total(suite: &CheckSuite<'_>) -> CheckVerdict {
    let words = vec!["Amber "; 40];
    let frames = suite.plain(&Answer::text(words).cut())?;
    let trial = suite.trial(|setup| setup.timeouts = timeouts())?;
    let paced =
        frames.into_iter().flat_map(|frame| [BodyStep::Bytes(frame), BodyStep::Wait(IDLE / 2)]);
    let run = trial.ask(ServerReply::steps(paced.collect())).await;
    timed_out(&run, TimeoutKind::Total, TOTAL)?;
    hold(run.seen().text().starts_with("Amber Amber"), || "what had arrived is lost".to_owned())
}

pub(super) async fn comments(suite: &CheckSuite<'_>) -> CheckVerdict {
    let comment = suite.subject.comment().ok_or_else(|| absent("the protocol has no comments"))?;
    let frames = suite.plain(&Answer::text(["Amber"]))?;
    let trial =
        suite.trial(|setup| setup.timeouts = Timeouts::NONE.first_byte(FIRST).idle(IDLE))?;
    let silence =
        (0..10).flat_map(|_| [BodyStep::Bytes(comment.clone()), BodyStep::Wait(IDLE / 2)]);
    let steps = silence.chain(frames.into_iter().map(BodyStep::Bytes));
    let run = trial.ask(ServerReply::steps(steps.collect())).await;
    hold(run.error.is_none(), || format!("it ends with {}", run.error_line()))?;
    let text = run.seen().text();
    hold(text == "Amber", || format!("the answer is {text:?}"))
}

pub(super) async fn drop_stream(suite: &CheckSuite<'_>) -> CheckVerdict {
    let frames = suite.plain(&Answer::text(["Amber"]).cut())?;
    let trial = suite.trial(|_| ())?;
    trial.reply(ServerReply::steps(
        frames.into_iter().map(BodyStep::Bytes).chain([BodyStep::Hang]).collect(),
    ));
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

pub(super) async fn drop_future(suite: &CheckSuite<'_>) -> CheckVerdict {
    let trial = suite.trial(|_| ())?;
    trial.reply(ServerReply::Silent);
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

async fn closed(server: &ScriptedServer) -> CheckVerdict {
    for _ in 0..20 {
        tokio::task::yield_now().await;
    }
    let open = server.open();
    hold(open == 0, || format!("{open} exchanges are still open"))
}
