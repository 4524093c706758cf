//! Retries.

use std::time::Duration;

use bytes::Bytes;

use super::failures::STATUSES;
use crate::conformance::{
    harness::{Answer, BodyStep, CheckSuite, ProviderTrial, ServerReply, prompt},
    verdict::{CheckMiss, CheckVerdict, VerdictRows, hold},
};
use forgeline_llm::{ProviderError, RetryPolicy};
use forgeline_types::ErrorCode;

const WAIT: Duration = Duration::from_millis(400);

fn policy(attempts: u32) -> RetryPolicy {
    RetryPolicy::default().max_attempts(attempts).initial_delay(WAIT).jitter(false)
}

/// Builds a provider with this number of attempts, and a server that fails first and then answers.
fn failing(
    suite: &CheckSuite<'_>,
    attempts: u32,
    failures: &[ServerReply],
) -> Result<ProviderTrial, CheckMiss> {
    let trial = suite.trial(|setup| setup.retry = policy(attempts))?;
    for reply in failures {
        trial.reply(reply.clone());
    }
    trial.reply(ServerReply::pieces(suite.plain(&Answer::text(["Amber"]))?));
    Ok(trial)
}

fn failure(suite: &CheckSuite<'_>, status: u16, kind: ErrorCode) -> ServerReply {
    ServerReply::new(status, suite.subject.error_body(kind, "no birches today"))
}

pub(super) async fn decision(suite: &CheckSuite<'_>) -> CheckVerdict {
    let mut rows = VerdictRows::default();
    let mut cases: Vec<(String, ServerReply, bool)> = vec![
        ("no connection".to_owned(), ServerReply::Gone, true),
        ("broken before anything".to_owned(), ServerReply::steps(vec![BodyStep::Break]), true),
        ("empty body".to_owned(), ServerReply::pieces([]), true),
        (
            "a web page".to_owned(),
            ServerReply::new(200, Bytes::from_static(b"<html></html>")),
            false,
        ),
    ];
    for (status, kinds, passes) in STATUSES {
        let kind = kinds.first().copied().unwrap_or(ErrorCode::Status);
        cases.push((status.to_string(), failure(suite, status, kind), passes));
    }
    let told = failure(suite, 500, ErrorCode::Status).header("x-should-retry", "false");
    cases.push(("500 with x-should-retry: false".to_owned(), told, false));
    for (row, reply, passes) in cases {
        let trial = failing(suite, 3, &[reply])?;
        let run = trial.run(prompt()).await;
        let (count, want) = (trial.server.count(), if passes { 2 } else { 1 });
        let verdict = hold(count == want, || format!("{count} requests were sent, not {want}"))
            .and(hold(run.error.is_none() == passes, || {
                format!("it ends with {}", run.error_line())
            }));
        rows.add(&row, verdict);
    }
    rows.verdict()
}

pub(super) async fn retry_after(suite: &CheckSuite<'_>) -> CheckVerdict {
    let mut rows = VerdictRows::default();
    let cases = [
        (429, "retry-after", "7", 7000),
        (503, "retry-after", "2", 2000),
        (429, "retry-after-ms", "1500", 1500),
    ];
    for (status, name, value, wait) in cases {
        let reply = failure(suite, status, ErrorCode::RateLimited).header(name, value);
        let trial = failing(suite, 2, &[reply])?;
        let run = trial.run(prompt()).await;
        let times: Vec<_> = trial.server.asked().iter().map(|asked| asked.at).collect();
        let gap = match times[..] {
            [first, second] => second.duration_since(first).as_millis(),
            _ => 0,
        };
        let verdict = hold(run.error.is_none(), || format!("it ends with {}", run.error_line()))
            // The runtime's clock has a resolution of a millisecond.
            .and(hold((wait..=wait + 5).contains(&gap), || format!("the wait was {gap} ms")));
        rows.add(&format!("{status} with {name}: {value}"), verdict);
    }
    let reply = failure(suite, 429, ErrorCode::RateLimited).header("retry-after", "86400");
    let trial = failing(suite, 2, &[reply])?;
    let run = trial.run(prompt()).await;
    let waited = run.end.as_secs();
    let says = run.error.as_ref().and_then(ProviderError::retry_after).map(|wait| wait.as_secs());
    let verdict =
        hold(trial.server.count() == 1 && waited < 86400, || format!("it waits {waited} s"))
            .and(hold(says == Some(86400), || format!("the error says to wait {says:?} s")));
    rows.add("429 with a wait of a day", verdict);
    rows.verdict()
}

pub(super) async fn visible(suite: &CheckSuite<'_>) -> CheckVerdict {
    let reply = failure(suite, 503, ErrorCode::Overloaded);
    let trial = failing(suite, 3, &[reply.clone(), reply.clone()])?;
    let run = trial.run(prompt()).await;
    let seen = run.seen();
    hold(seen.retries == 2, || format!("{} retries were reported instead of 2", seen.retries))?;
    hold(seen.text() == "Amber", || format!("the answer is {:?}", seen.text()))?;
    let waited = run.end;
    hold(waited >= 3 * WAIT, || format!("the waits were {waited:?}, not {WAIT:?} and twice that"))?;
    let trial = failing(suite, 2, &[reply.clone(), reply])?;
    let run = trial.run(prompt()).await;
    let is_told = matches!(&run.error, Some(error @ ProviderError::RetriesExhausted { attempts: 2, .. })
        if error.code() == ErrorCode::Overloaded);
    hold(is_told, || format!("after two attempts it ends with {}", run.error_line()))
}

pub(super) async fn after_delta(suite: &CheckSuite<'_>) -> CheckVerdict {
    let text = Answer::text(["Amber"]);
    let mut rows = VerdictRows::default();
    let cut = suite.plain(&text.clone().cut())?;
    let broken = cut.iter().cloned().map(BodyStep::Bytes).chain([BodyStep::Break]);
    let mut cases = vec![
        ("cut", ServerReply::pieces(cut.clone())),
        ("broken", ServerReply::steps(broken.collect())),
    ];
    let more = [
        ("an error", text.error("overloaded_error", "Overloaded")),
        ("cut in a call", super::calls::two_calls().cut()),
        ("cut in thinking", Answer::thinking(&["Hm"], None).cut()),
    ];
    for (row, answer) in more {
        cases
            .extend(suite.subject.answer(&answer).map(|frames| (row, ServerReply::pieces(frames))));
    }
    for (row, reply) in cases {
        let trial = failing(suite, 3, &[reply])?;
        let run = trial.run(prompt()).await;
        let verdict = hold(trial.server.count() == 1, || "it was tried again".to_owned())
            .and(hold(run.error.is_some(), || "it ends without an error".to_owned()));
        rows.add(row, verdict);
    }
    rows.verdict()
}

pub(super) async fn quota(suite: &CheckSuite<'_>) -> CheckVerdict {
    let message = "You exceeded your current quota, please check your plan and billing details.";
    let body = suite.subject.error_body(ErrorCode::QuotaExhausted, message);
    let trial = failing(suite, 3, &[ServerReply::new(429, body)])?;
    let run = trial.run(prompt()).await;
    let kind = run.error.as_ref().map(ProviderError::code);
    hold(trial.server.count() == 1, || "it was tried again".to_owned())?;
    hold(kind == Some(ErrorCode::QuotaExhausted), || format!("it ends with {}", run.error_line()))
}
