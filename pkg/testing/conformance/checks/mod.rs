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
    "any-cut",            content::any_cut,             "the network cuts where it likes; the answer is the same";
    "thinking",           content::thinking,            "reasoning is typed and kept apart from the answer";
    "refusal",            content::refusal,             "a refusal is not an answer";
    "unknown-events",     content::unknown_events,      "vendors add events and fields; the answer does not change";
    "parallel-calls",     calls::parallel_calls,        "each call gets its own arguments, byte by byte";
    "call-without-arguments", calls::without_arguments, "a call without arguments is a whole call";
    "finish-reasons",     endings::finish_reasons,      "why the model stopped is told in one vocabulary and in the vendor's";
    "usage",              endings::usage,               "tokens are what is paid for: cache and reasoning too";
    "missing-end",        endings::missing_end,         "a cut answer is never taken for a whole one, and what came is kept";
    "broken-connection",  endings::broken_connection,   "what came before the break is kept";
    "in-stream-error",    endings::in_stream_error,     "an error behind status 200 is an error, with the vendor's words";
    "not-an-answer",      failures::not_an_answer,      "pages, empty bodies and errors behind status 200 are typed errors";
    "content-type",       failures::content_type,       "a server that names a wrong type does no harm";
    "redirect",           failures::redirect,           "a redirect is not followed: it would carry the key elsewhere";
    "statuses",           failures::statuses,           "each error status is a kind of failure, with the vendor's message";
    "retry-decision",     retries::decision,            "what passes by itself is tried again, the rest is not";
    "retry-after",        retries::retry_after,         "a server that names a time is obeyed";
    "retry-visible",      retries::visible,             "the caller sees each retry, and how often it was tried";
    "no-retry-after-delta", retries::after_delta,       "what was delivered cannot be taken back";
    "no-retry-on-quota",  retries::quota,               "a used-up quota does not come back in a second";
    "first-byte-timeout", waits::first_byte,            "a server that never answers is given up in time";
    "idle-timeout",       waits::idle,                  "a server that falls silent is given up in time";
    "total-timeout",      waits::total,                 "a server that trickles for ever is given up in time";
    "comments-are-life",  waits::comments,              "a server that says that it works is waited for";
    "drop-stream",        waits::drop_stream,           "dropping the stream ends the exchange";
    "drop-future",        waits::drop_future,           "dropping the future ends the request";
    "missing-abilities",  abilities::missing,           "what the model lacks is an error before anything is sent";
    "declared-abilities", abilities::declared,          "what the model is said to do goes out";
    "same-bytes",         requests::same_bytes,         "the same request is the same bytes, so prompt caches hold";
    "append-only",        requests::append_only,        "a conversation that grew begins with the bytes of before";
    "signature-returns",  requests::signature_returns,  "a proof of reasoning goes back unchanged";
    "foreign-signature",  requests::foreign_signature,  "another vendor's proof of reasoning stays away";
    "results-return",     requests::results_return,     "calls and their results go back";
    "with-model",         requests::with_model,         "the same provider serves another model";
    "structured-output",  structured::native,           "the schema reaches the server and the value comes back";
    "structured-faults",  structured::faults,           "an answer that is not what was asked for is a typed error";
    "health",             health::health,               "a wrong key and a missing server are known in bounded time";
    "key-in-its-place",   secrets::in_its_place,        "the key is in a header and nowhere else";
    "key-not-shown",      secrets::not_shown,           "the key is in no output, even when the server repeats it";
};
