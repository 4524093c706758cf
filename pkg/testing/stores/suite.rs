//! Means that all suites use.

use std::{fmt::Debug, time::Duration};

use crate::testing::conformance::{CheckReport, Outcome};

/// Longest that a check may take, and longer than any wait of a store.
const LIMIT: Duration = Duration::from_secs(30);

/// The time in which nothing is to happen, where nothing is to.
pub(super) const QUIET: Duration = Duration::from_millis(20);

/// The finding of a check: what is wrong, in words.
pub(super) type Found = Result<(), String>;

/// Runs one check.
pub(super) async fn check(
    name: &'static str,
    reason: &'static str,
    work: impl Future<Output = Found>,
) -> CheckReport {
    let outcome = match tokio::time::timeout(LIMIT, work).await {
        Ok(Ok(())) => Outcome::Passed,
        Ok(Err(wrong)) => Outcome::Failed(vec![wrong]),
        Err(_) => Outcome::Failed(vec![format!("it has not ended within {LIMIT:?}")]),
    };
    CheckReport { name, reason, outcome }
}

/// Holds when both are equal.
pub(super) fn same<T: PartialEq + Debug>(what: &str, got: &T, want: &T) -> Found {
    if got == want { Ok(()) } else { Err(format!("{what}: {got:?}, not {want:?}")) }
}

/// Holds when it is true.
pub(super) fn hold(what: &str, is_true: bool) -> Found {
    if is_true { Ok(()) } else { Err(what.to_owned()) }
}

/// Returns a result, or says that it failed.
pub(super) fn done<T, E: std::fmt::Display>(what: &str, result: Result<T, E>) -> Result<T, String> {
    result.map_err(|error| format!("{what} fails: {error}"))
}
