//! The rules about whoever answers for a call.

use std::{fmt, sync::Arc};

use super::{Caller, Permissions, parts::Parts, permissions::permits, tools::Tool};

/// The rules of the agent about the tool of an open request: whoever answers for a call needs what the call needs.
#[derive(Clone)]
pub(super) struct AnswerGate {
    tool: Arc<dyn Tool>,
    permissions: Option<Arc<dyn Permissions>>,
}

impl AnswerGate {
    /// Returns the rules of a tool; `None` where it has none.
    pub(super) fn of(parts: &Parts, tool: &str) -> Option<Self> {
        let entry = parts.is_gated.then(|| parts.tools.find(tool))??;
        Some(Self { tool: Arc::clone(entry.tool), permissions: parts.permissions.clone() })
    }

    /// Returns `true` for a caller who may use the tool.
    pub(super) fn lets(&self, caller: &Caller) -> bool {
        permits(self.permissions.as_deref(), Some(caller), &*self.tool)
    }
}

impl fmt::Debug for AnswerGate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("AnswerGate")
            .field("tool", &self.tool.name())
            .finish_non_exhaustive()
    }
}
