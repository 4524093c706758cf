//! Tests of notifications over Redis, with private servers.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, missing_docs, reason = "tests")]

/// The helper of all tests with servers, without the rest of its crate, which takes minutes to build.
#[path = "../../../../internal/testkit/src/redis.rs"]
#[allow(dead_code, unreachable_pub, reason = "what these tests do not use, others do")]
mod redis;

mod crashes;
mod many;
mod proxy;
mod secrets;
mod secured;
mod servers;
mod suites;

/// Prints a line that must be seen although the test passes.
fn say(line: impl std::fmt::Display) {
    drop(std::io::Write::write_fmt(&mut std::io::stderr().lock(), format_args!("{line}\n")));
}
