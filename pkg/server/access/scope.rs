//! The scope of a caller.

use forgeline_agent::Caller;
use forgeline_types::Text;

/// Returns the scope of a caller; a caller without a scope gets one of its own.
pub(crate) fn scope(caller: &Caller) -> Text {
    caller.scope.clone().unwrap_or_else(|| format!("caller:{}", caller.id).into())
}
