//! Tests of the stores in `PostgreSQL`, with private servers.

#![allow(clippy::unwrap_used, clippy::panic, missing_docs, reason = "tests")]

/// The helper of all tests with servers, without the rest of its crate, which takes minutes to build.
#[path = "../../../../internal/testkit/src/postgres.rs"]
#[allow(dead_code, unreachable_pub, reason = "what these tests do not use, others do")]
mod postgres;

/// The pooler of all tests, as above.
#[path = "../../../../internal/testkit/src/pooler.rs"]
#[allow(unreachable_pub, reason = "other crates have it too")]
mod pooler_process;

/// The proxy between a store and its server, as above.
#[path = "../../../../internal/testkit/src/message_proxy.rs"]
#[allow(dead_code, unreachable_pub, reason = "what these tests do not use, others do")]
mod message_proxy;

mod audit;
mod claims;
mod deltas;
mod failures;
mod faults;
mod kept_statements;
mod late_news;
mod late_statements;
mod lives;
mod log;
mod migrations;
mod pooler;
mod proxy;
mod scopes;
mod secrets;
mod secured;
mod servers;
mod suites;

/// Prints a line that must be seen although the test passes.
fn say(line: impl std::fmt::Display) {
    drop(std::io::Write::write_fmt(&mut std::io::stderr().lock(), format_args!("{line}\n")));
}
