//! The ends of answers.

use bytes::Bytes;

use crate::conformance::{
    harness::{Answer, AnswerUsage, BodyStep, CheckSuite, RequestRun, ServerReply},
    verdict::{CheckVerdict, VerdictRows, hold},
};
use forgeline_llm::ProviderError;
use forgeline_types::{ErrorCode, FinishReason};

pub(super) async fn finish_reasons(suite: &CheckSuite<'_>) -> CheckVerdict {
    let mut rows = VerdictRows::default();
    let reasons = [
        FinishReason::Stop,
        FinishReason::Length,
        FinishReason::ToolCalls,
        FinishReason::ContentFilter,
        FinishReason::Refusal,
        FinishReason::Pause,
        FinishReason::ContextExceeded,
    ];
    for reason in reasons {
        let has_calls = reason == FinishReason::ToolCalls;
        let answer = if has_calls { super::calls::two_calls() } else { Answer::text(["Amber"]) };
        let row = reason.as_str().to_owned();
        rows.add(&row, finish_reason(suite, answer, reason).await);
    }
    rows.verdict()
}

async fn finish_reason(
    suite: &CheckSuite<'_>,
    answer: Answer,
    reason: FinishReason,
) -> CheckVerdict {
    let frames = suite.frames(&answer.finish(reason.clone()), "such reason")?;
    let run = suite.ask(ServerReply::pieces(frames)).await?;
    hold(run.error.is_none(), || format!("it ends with {}", run.error_line()))?;
    let seen = run.seen();
    hold(seen.finished, || "no chunk says that the answer is whole".to_owned())?;
    hold(seen.finish_reason.as_ref() == Some(&reason), || {
        format!("the reason is {:?}", seen.finish_reason)
    })?;
    hold(seen.finish_reason_raw.is_some(), || "the vendor's own word is missing".to_owned())
}

pub(super) async fn usage(suite: &CheckSuite<'_>) -> CheckVerdict {
    let plain = AnswerUsage {
        input: 120,
        output: 45,
        cache_read: None,
        cache_write: None,
        reasoning: None,
    };
    let mut rows = VerdictRows::default();
    let cases = [
        ("plain", plain),
        ("with cache reads", AnswerUsage { cache_read: Some(30), ..plain }),
        ("with cache writes", AnswerUsage { cache_write: Some(20), ..plain }),
        ("with reasoning", AnswerUsage { reasoning: Some(15), ..plain }),
    ];
    for (name, usage) in cases {
        rows.add(name, used(suite, usage).await);
    }
    rows.verdict()
}

async fn used(suite: &CheckSuite<'_>, usage: AnswerUsage) -> CheckVerdict {
    let frames = suite.frames(&Answer::text(["Amber"]).usage(usage), "such counts")?;
    let run = suite.ask(ServerReply::pieces(frames)).await?;
    let seen = run.seen();
    let reported = seen.usage;
    let counts = [
        ("input", reported.input_tokens, Some(usage.input)),
        ("output", reported.output_tokens, Some(usage.output)),
        ("cache read", reported.cache_read_tokens, usage.cache_read),
        ("cache write", reported.cache_write_tokens, usage.cache_write),
        ("reasoning", reported.reasoning_tokens, usage.reasoning),
    ];
    for (name, reported, want) in counts {
        // A vendor may report that nothing was cached.
        hold(reported == want || (want.is_none() && reported == Some(0)), || {
            format!("{name} tokens are {reported:?} instead of {want:?}")
        })?;
    }
    hold(seen.usage_raw.is_some(), || "the vendor's own object is missing".to_owned())
}

pub(super) async fn missing_end(suite: &CheckSuite<'_>) -> CheckVerdict {
    let frames = suite.plain(&Answer::text(["Amber", " birch"]).cut())?;
    let run = suite.ask(ServerReply::pieces(frames)).await?;
    ended_early(&run)?;
    let text = run.seen().text();
    hold(text == "Amber birch", || format!("of what had arrived, {text:?} is kept"))?;
    let mut rows = VerdictRows::default();
    let answers = [Answer::text(["Amber", " birch"]), super::calls::two_calls()];
    for answer in answers {
        let Some(frames) = suite.subject.answer(&answer) else { continue };
        let body = Bytes::from(frames.concat());
        let trial = suite.trial(|_| ())?;
        for at in 0..body.len() {
            let run = trial.ask(ServerReply::pieces([body.slice(..at)])).await;
            // The end marker may precede the last byte; nothing else makes the answer complete.
            let verdict = if run.seen().finished { Ok(()) } else { ended_early(&run) };
            rows.add(&format!("cut at byte {at} of {}", body.len()), verdict);
        }
    }
    rows.verdict()
}

fn ended_early(run: &RequestRun) -> CheckVerdict {
    let is_early = matches!(run.error, Some(ProviderError::EndedEarly { .. }));
    hold(is_early, || format!("it ends with {} instead of EndedEarly", run.error_line()))?;
    hold(!run.seen().finished, || "a chunk says that the answer is whole".to_owned())
}

pub(super) async fn broken_connection(suite: &CheckSuite<'_>) -> CheckVerdict {
    let frames = suite.plain(&Answer::text(["Amber", " birch"]).cut())?;
    let steps = frames.into_iter().map(BodyStep::Bytes).chain([BodyStep::Break]);
    let run = suite.ask(ServerReply::steps(steps.collect())).await?;
    let code = run.error.as_ref().map(ProviderError::code);
    hold(code == Some(ErrorCode::Connect), || format!("it ends with {}", run.error_line()))?;
    let text = run.seen().text();
    hold(text == "Amber birch", || format!("of what had arrived, {text:?} is kept"))
}

pub(super) async fn in_stream_error(suite: &CheckSuite<'_>) -> CheckVerdict {
    const MESSAGE: &str = "the model ran out of birches";
    let mut rows = VerdictRows::default();
    let begun = Answer::text(["Amber", " birch"]);
    for (row, answer, want) in
        [("behind text", begun, "Amber birch"), ("at once", Answer::empty(), "")]
    {
        rows.add(row, failed(suite, &answer.error("server_error", MESSAGE), MESSAGE, want).await);
    }
    rows.verdict()
}

async fn failed(
    suite: &CheckSuite<'_>,
    answer: &Answer,
    message: &str,
    want: &str,
) -> CheckVerdict {
    let frames = suite.frames(answer, "errors inside a stream")?;
    let run = suite.ask(ServerReply::pieces(frames)).await?;
    let Some(ProviderError::InStream { message: reported, raw, .. }) = &run.error else {
        return hold(false, || format!("it ends with {}", run.error_line()));
    };
    hold(reported.contains(message), || format!("its message is {reported:?}"))?;
    let has_raw = raw.as_ref().is_some_and(|raw| raw.as_str().contains(message));
    hold(has_raw, || format!("the vendor's error object is {raw:?}"))?;
    let text = run.seen().text();
    hold(text == want, || format!("of what had arrived, {text:?} is kept"))
}
