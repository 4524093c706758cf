//! The scope of a caller.

use crate::{agent::Caller, types::Text};

/// Returns the scope of a caller; one without a scope has one of its own.
pub(crate) fn scope(caller: &Caller) -> Text {
    caller.scope.clone().unwrap_or_else(|| format!("caller:{}", caller.id).into())
}
