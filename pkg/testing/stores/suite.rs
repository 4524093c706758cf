//! Helpers shared by all checks of stores.

use std::{fmt::Debug, time::Duration};

use crate::conformance::{CheckReport, Outcome};

/// Maximum duration of a check, longer than any wait of a store.
const LIMIT: Duration = Duration::from_secs(30);

/// The time for which nothing may happen, in checks that expect nothing.
pub(super) const QUIET: Duration = Duration::from_millis(20);

/// Maximum number of pages of a list, and of attempts of a writer, far above what the checks need: a store may never yield to
/// [`LIMIT`].
pub(super) const MOST_PAGES: usize = 1_000;

/// The result of a check, or a description of the fault.
pub(super) type StoreVerdict = Result<(), String>;

/// Runs one check.
pub(super) async fn check(
    name: &'static str,
    reason: &'static str,
    work: impl Future<Output = StoreVerdict>,
) -> CheckReport {
    let outcome = match tokio::time::timeout(LIMIT, work).await {
        Ok(Ok(())) => Outcome::Passed,
        Ok(Err(wrong)) => Outcome::Failed(vec![wrong]),
        Err(_) => Outcome::Failed(vec![format!("it has not ended within {LIMIT:?}")]),
    };
    CheckReport { name, reason, outcome }
}

/// Passes if both values are equal.
pub(super) fn same<T: PartialEq + Debug>(what: &str, got: &T, want: &T) -> StoreVerdict {
    if got == want { Ok(()) } else { Err(format!("{what}: {got:?}, not {want:?}")) }
}

/// Passes if `is_true`.
pub(super) fn hold(what: &str, is_true: bool) -> StoreVerdict {
    if is_true { Ok(()) } else { Err(what.to_owned()) }
}

/// Returns the result, or a description of its failure.
pub(super) fn done<T, E: std::fmt::Display>(what: &str, result: Result<T, E>) -> Result<T, String> {
    result.map_err(|error| format!("{what} fails: {error}"))
}

/// Reads all pages of a list; `read` returns the page after a cursor, with the cursor of the next one. Pages that do not end are a fault.
pub(super) async fn pages<T, C>(
    mut read: impl AsyncFnMut(Option<C>) -> Result<(Vec<T>, Option<C>), String>,
) -> Result<Vec<T>, String> {
    let (mut all, mut after) = (Vec::new(), None);
    for _ in 0..MOST_PAGES {
        let (page, next) = read(after).await?;
        all.extend(page);
        if next.is_none() {
            return Ok(all);
        }
        after = next;
    }
    Err(format!(
        "the list has not ended after {MOST_PAGES} pages; a page must begin behind its cursor, not at it"
    ))
}
