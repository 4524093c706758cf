//! The checks, in the order of the report.

mod abilities;
mod calls;
mod content;
mod endings;
mod failures;
mod health;
mod requests;
mod retries;
mod secrets;
mod structured;
mod waits;

use futures_core::future::LocalBoxFuture;

use super::{harness::CheckSuite, verdict::CheckVerdict};

/// One check.
pub(super) struct SuiteCheck {
    pub(super) name: &'static str,
    pub(super) reason: &'static str,
    pub(super) run: for<'s> fn(&'s CheckSuite<'s>) -> LocalBoxFuture<'s, CheckVerdict>,
}

macro_rules! checks {
    ($($name:literal, $run:path, $reason:literal;)*) => {
        &[$(SuiteCheck { name: $name, reason: $reason, run: |suite| Box::pin($run(suite)) }),*]
    };
}

/// Every check.
#[rustfmt::skip]
pub(super) const CHECKS: &[SuiteCheck] = checks! {
    "text-streams",       content::text_streams,        "a delta is seen when it arrives, and no byte is changed";
    "any-cut",            content::any_cut,             "the answer is the same wherever the network cuts the bytes";
    "thinking",           content::thinking,            "reasoning is typed and kept apart from the answer";
    "refusal",            content::refusal,             "a refusal is not an answer";
    "unknown-events",     content::unknown_events,      "unknown events and fields do not change the answer";
    "parallel-calls",     calls::parallel_calls,        "each call gets its own arguments, byte by byte";
    "call-without-arguments", calls::without_arguments, "a call without arguments is complete";
    "finish-reasons",     endings::finish_reasons,      "the stop reason is given in one vocabulary and in the vendor's";
    "usage",              endings::usage,               "the usage counts all billed tokens, including cache and reasoning";
    "missing-end",        endings::missing_end,         "a truncated answer is never taken for a complete one, and its text is kept";
    "broken-connection",  endings::broken_connection,   "the text before the break is kept";
    "in-stream-error",    endings::in_stream_error,     "an error behind status 200 is an error, with the vendor's words";
    "not-an-answer",      failures::not_an_answer,      "pages, empty bodies and errors behind status 200 are typed errors";
    "content-type",       failures::content_type,       "a wrong content type does not matter";
    "redirect",           failures::redirect,           "a redirect is not followed: it would carry the key elsewhere";
    "statuses",           failures::statuses,           "each error status is a kind of failure, with the vendor's message";
    "retry-decision",     retries::decision,            "transient failures are retried, and no others";
    "retry-after",        retries::retry_after,         "the delay that a server asks for is kept";
    "retry-visible",      retries::visible,             "the caller sees each retry, and the number of attempts";
    "no-retry-after-delta", retries::after_delta,       "nothing is retried once text was delivered";
    "no-retry-on-quota",  retries::quota,               "an exhausted quota is not retried";
    "first-byte-timeout", waits::first_byte,            "a server that never answers is a timeout";
    "idle-timeout",       waits::idle,                  "a server that falls silent is a timeout";
    "total-timeout",      waits::total,                 "an answer that never ends is a timeout";
    "comments-are-life",  waits::comments,              "comments show that the server is alive, and extend the wait";
    "drop-stream",        waits::drop_stream,           "dropping the stream ends the exchange";
    "drop-future",        waits::drop_future,           "dropping the future ends the request";
    "missing-abilities",  abilities::missing,           "a missing capability is an error before anything is sent";
    "declared-abilities", abilities::declared,          "the declared capabilities of the model are sent";
    "same-bytes",         requests::same_bytes,         "the same request is the same bytes, so prompt caches hold";
    "append-only",        requests::append_only,        "a longer conversation begins with the same bytes";
    "signature-returns",  requests::signature_returns,  "signatures of reasoning are sent back unchanged";
    "foreign-signature",  requests::foreign_signature,  "another vendor's signatures are not sent";
    "results-return",     requests::results_return,     "calls and their results are sent back";
    "with-model",         requests::with_model,         "the same provider serves another model";
    "structured-output",  structured::native,           "the schema reaches the server and the value comes back";
    "structured-faults",  structured::faults,           "an answer that does not match the schema is a typed error";
    "health",             health::health,               "a wrong key and an unreachable server are found in bounded time";
    "key-in-its-place",   secrets::in_its_place,        "the key is in a header and nowhere else";
    "key-not-shown",      secrets::not_shown,           "the key is in no output, even when the server repeats it";
};
