//! Secrecy of the key.

use std::{error::Error as _, fmt::Write as _};

use bytes::Bytes;

use super::abilities::answering;
use crate::conformance::{
    harness::{Answer, CheckSuite, KEY, RequestRun, ServerReply, prompt},
    verdict::{CheckVerdict, VerdictRows, hold},
};
use forgeline_llm::{ProviderError, RetryPolicy};
use forgeline_types::ErrorCode;

pub(super) async fn in_its_place(suite: &CheckSuite<'_>) -> CheckVerdict {
    let trial = answering(suite)?;
    let run = trial.run(prompt()).await;
    hold(run.error.is_none(), || format!("the request ends with {}", run.error_line()))?;
    let asked = trial.server.asked();
    let Some(asked) = asked.first() else {
        return hold(false, || "nothing is sent".to_owned());
    };
    let is_sent = asked.http.headers.iter().any(|(_, value)| value.contains(KEY));
    hold(is_sent, || "the key is in no header".to_owned())?;
    hold(!asked.http.url.contains(KEY), || "the key is in the address".to_owned())?;
    let body = asked.body();
    let is_in_body = body.windows(KEY.len()).any(|window| window == KEY.as_bytes());
    hold(!is_in_body, || "the key is in the body".to_owned())?;
    hold(!all_of(&run).contains(KEY), || "the key is in a chunk".to_owned())?;
    hold(!format!("{:?}", trial.provider).contains(KEY), || {
        "Debug of the provider shows the key".to_owned()
    })
}

/// Formats everything that a caller can print about a run.
fn all_of(run: &RequestRun) -> String {
    let mut shown = format!("{run:?}");
    if let Some(error) = &run.error {
        let agent_error = error.to_agent_error();
        // Writing to a string does not fail.
        write!(shown, "{error} {agent_error:?}").unwrap_or_default();
        let mut cause = error.source();
        while let Some(error) = cause {
            write!(shown, "{error} {error:?}").unwrap_or_default();
            cause = error.source();
        }
    }
    shown
}

pub(super) async fn not_shown(suite: &CheckSuite<'_>) -> CheckVerdict {
    let said = format!("Incorrect API key provided: {KEY}.");
    let body = |kind| suite.subject.error_body(kind, &said);
    let page = Bytes::from(format!("<html><title>{said}</title>{said}</html>"));
    let elsewhere = format!("https://{KEY}.elsewhere.test/{KEY}?key={KEY}");
    let mut cases = vec![
        ("in an error's body", ServerReply::new(401, body(ErrorCode::Auth))),
        ("in an error that is retried", ServerReply::new(503, body(ErrorCode::Overloaded))),
        ("in an error's page", ServerReply::new(403, page.clone())),
        (
            "in a request id",
            ServerReply::new(500, body(ErrorCode::Status)).header("x-request-id", KEY),
        ),
        ("in a redirect", ServerReply::new(302, Bytes::new()).header("location", &elsewhere)),
        ("in a page", ServerReply::new(200, page)),
        ("in plain words", ServerReply::new(200, Bytes::from(said.clone()))),
        ("in an error behind 200", ServerReply::new(200, body(ErrorCode::Status))),
    ];
    let failed = Answer::text(["Amber"]).error("invalid_api_key", &said);
    cases
        .extend(suite.subject.answer(&failed).map(|it| ("in the stream", ServerReply::pieces(it))));
    let at_once = Answer::empty().error("server_error", &said);
    cases.extend(
        suite.subject.answer(&at_once).map(|it| ("in a first error", ServerReply::pieces(it))),
    );
    let mut rows = VerdictRows::default();
    for (row, reply) in cases {
        let trial = suite.trial(|setup| setup.retry = RetryPolicy::default().max_attempts(2))?;
        trial.reply(reply.clone());
        trial.reply(reply);
        let run = trial.run(prompt()).await;
        let code = run.error.as_ref().map(ProviderError::code);
        rows.add(row, hold(code.is_some(), || "it ends without an error".to_owned()));
        let shown = all_of(&run);
        rows.add(row, hold(!shown.contains(KEY), || format!("it is shown: {shown}")));
    }
    rows.verdict()
}
