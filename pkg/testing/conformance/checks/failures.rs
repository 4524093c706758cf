//! Invalid responses of servers.

use bytes::Bytes;

use crate::conformance::{
    harness::{Answer, CheckSuite, RequestRun, ServerReply},
    verdict::{CheckVerdict, VerdictRows, hold},
};
use forgeline_llm::ProviderError;
use forgeline_types::ErrorCode;

const PAGE: &str = "<!DOCTYPE html><html><head><title>Welcome</title></head><body>Hi</body></html>";

fn is_kind(run: &RequestRun, kinds: &[ErrorCode]) -> CheckVerdict {
    let kind = run.error.as_ref().map(ProviderError::code);
    hold(kind.is_some_and(|kind| kinds.contains(&kind)), || {
        format!("it ends with {} instead of one of {kinds:?}", run.error_line())
    })?;
    hold(!run.seen().finished, || "a chunk says that the answer is whole".to_owned())
}

pub(super) async fn not_an_answer(suite: &CheckSuite<'_>) -> CheckVerdict {
    let mut rows = VerdictRows::default();
    let page = ServerReply::new(200, Bytes::from_static(PAGE.as_bytes()));
    let run = suite.ask(page.header("content-type", "text/html")).await?;
    rows.add("a web page", is_kind(&run, &[ErrorCode::Decode]));
    let run = suite.ask(ServerReply::pieces([])).await?;
    rows.add("an empty body", is_kind(&run, &[ErrorCode::EndedEarly]));
    let run = suite.ask(ServerReply::new(200, Bytes::from_static(b"\r\n\r\n"))).await?;
    rows.add("a blank body", is_kind(&run, &[ErrorCode::EndedEarly]));
    let run = suite.ask(ServerReply::new(200, Bytes::from_static(b"Hello there\n"))).await?;
    rows.add("plain words", is_kind(&run, &[ErrorCode::Decode, ErrorCode::EndedEarly]));
    let message = "no birches today";
    let body = suite.subject.error_body(ErrorCode::Status, message);
    let run =
        suite.ask(ServerReply::new(200, body).header("content-type", "application/json")).await?;
    let is_told = matches!(&run.error, Some(ProviderError::InStream { message: told, .. })
        if told.contains(message));
    let verdict = hold(is_told, || format!("it ends with {}", run.error_line()));
    rows.add("an error's body", verdict);
    rows.verdict()
}

pub(super) async fn content_type(suite: &CheckSuite<'_>) -> CheckVerdict {
    let frames = suite.plain(&Answer::text(["Amber", " birch"]))?;
    let mut rows = VerdictRows::default();
    for kind in ["text/html", "application/octet-stream", "application/json", ""] {
        let run =
            suite.ask(ServerReply::pieces(frames.clone()).header("content-type", kind)).await?;
        let verdict = match &run.error {
            // The part that arrived may be read or rejected, but not mistaken for something else.
            Some(error) => hold(error.code() == ErrorCode::Decode, || run.error_line()),
            None => hold(run.seen().text() == "Amber birch", || format!("{:?}", run.seen())),
        };
        rows.add(kind, verdict);
    }
    rows.verdict()
}

pub(super) async fn redirect(suite: &CheckSuite<'_>) -> CheckVerdict {
    let mut rows = VerdictRows::default();
    for status in [301, 302, 307, 308] {
        let trial = suite.trial(|_| ())?;
        let reply =
            ServerReply::new(status, Bytes::new()).header("location", "https://elsewhere.test/v9");
        let run = trial.ask(reply).await;
        let is_told = matches!(&run.error, Some(ProviderError::Status(error))
            if error.status == status && error.message.contains("elsewhere.test"));
        let verdict = hold(trial.server.count() == 1, || "it is followed".to_owned())
            .and(hold(is_told, || format!("it ends with {}", run.error_line())));
        rows.add(&status.to_string(), verdict);
    }
    rows.verdict()
}

/// Error statuses, the kinds that they may have, and whether they are transient.
pub(super) const STATUSES: [(u16, &[ErrorCode], bool); 14] = {
    use ErrorCode as E;
    [
        (400, &[E::InvalidRequest], false),
        (401, &[E::Auth], false),
        (403, &[E::Auth], false),
        (404, &[E::InvalidRequest], false),
        (408, &[E::Status, E::Timeout], true),
        (409, &[E::Status], true),
        (413, &[E::InvalidRequest, E::ContextExceeded], false),
        (422, &[E::InvalidRequest], false),
        (429, &[E::RateLimited], true),
        (500, &[E::Status], true),
        (502, &[E::Status, E::Overloaded], true),
        (503, &[E::Overloaded], true),
        (504, &[E::Status, E::Overloaded, E::Timeout], true),
        (529, &[E::Overloaded], true),
    ]
};

pub(super) async fn statuses(suite: &CheckSuite<'_>) -> CheckVerdict {
    let mut rows = VerdictRows::default();
    let message = "no birches today";
    for (status, kinds, passes) in STATUSES {
        let kind = kinds.first().copied().unwrap_or(ErrorCode::Status);
        let body = suite.subject.error_body(kind, message);
        let page = Bytes::from_static(PAGE.as_bytes());
        for (form, body, told) in
            [("", body, message), (" with a page", page, ""), (" bare", Bytes::new(), "")]
        {
            let run = suite.ask(ServerReply::new(status, body)).await?;
            let row = format!("{status}{form}");
            rows.add(&row, is_status(&run, status, kinds, passes, told));
        }
    }
    rows.verdict()
}

fn is_status(
    run: &RequestRun,
    status: u16,
    kinds: &[ErrorCode],
    passes: bool,
    told: &str,
) -> CheckVerdict {
    is_kind(run, kinds)?;
    let Some(error @ ProviderError::Status(details)) = &run.error else {
        return hold(false, || format!("it ends with {}", run.error_line()));
    };
    hold(details.status == status, || format!("its status is {}", details.status))?;
    hold(details.message.contains(told), || format!("its message is {:?}", details.message))?;
    hold(error.is_retryable() == passes, || format!("is_retryable is {}", error.is_retryable()))
}
