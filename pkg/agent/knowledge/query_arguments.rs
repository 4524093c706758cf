//! Checks of a model's arguments, and limits on its results.

use std::time::Duration;

use super::Owner;
use crate::{
    lexical,
    tools::{ToolContext, ToolError},
};

/// Maximum length of a query, in bytes.
const MAX_QUERY_BYTES: usize = 1 << 10;
/// Maximum number of results of one call.
const MAX_FOUND: usize = 20;
/// Maximum bytes of the results of one call; the first result is always included.
const MAX_RESULT_BYTES: usize = 64 << 10;
/// Number of results of a call that names no limit.
const FOUND: usize = 5;
/// Maximum wait for a store or an index.
pub(super) const MAX_WAIT: Duration = Duration::from_secs(10);

/// Returns the owner for the caller of a run.
pub(super) fn owner_of(context: &ToolContext) -> Owner {
    Owner::of(context.run().caller())
}

/// Checks the query of a call.
pub(super) fn query_of(query: String) -> Result<String, ToolError> {
    if query.len() > MAX_QUERY_BYTES {
        let problem = format!(
            "has {} bytes, more than {MAX_QUERY_BYTES}; give only the words that matter",
            query.len()
        );
        return Err(ToolError::invalid("query", problem));
    }
    if !lexical::has_words(&query) {
        return Err(ToolError::invalid("query", "contains no words; give the words to search for"));
    }
    Ok(query)
}

/// Checks the limit of a call.
pub(super) fn few(limit: Option<usize>) -> Result<usize, ToolError> {
    match limit.unwrap_or(FOUND) {
        limit @ 1..=MAX_FOUND => Ok(limit),
        limit => {
            let problem = format!("is {limit}; it must be 1 to {MAX_FOUND}");
            Err(ToolError::invalid("limit", problem))
        }
    }
}

/// Truncates the results to what one call may return. Returns the number of results left out.
pub(super) fn within_result<T>(
    found: &mut Vec<T>,
    most: usize,
    length: impl Fn(&T) -> usize,
) -> usize {
    let all = found.len();
    found.truncate(most);
    let mut bytes = 0_usize;
    let fits = |item: &T| {
        bytes = bytes.saturating_add(length(item));
        bytes <= MAX_RESULT_BYTES
    };
    let kept = found.iter().map(fits).take_while(|fits| *fits).count();
    found.truncate(kept.max(1));
    all - found.len()
}
