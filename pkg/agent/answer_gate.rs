//! The rules about the callers that may answer for a call.

use std::{fmt, sync::Arc};

use super::{
    Caller, Permissions,
    parts::Parts,
    permissions::permits,
    tools::{ArgumentCheck, Tool, ToolError},
};
use crate::types::Json;

/// The rules of the agent about the tool of an open request: whoever answers for a call needs what the call needs, and other arguments
/// have to fit as its own did.
#[derive(Clone)]
pub(super) struct AnswerGate {
    tool: Arc<dyn Tool>,
    permissions: Option<Arc<dyn Permissions>>,
    /// `true` where not every caller may use each tool.
    is_gated: bool,
}

impl AnswerGate {
    /// Returns the rules of a tool; `None` where the agent has none of this name.
    pub(super) fn of(parts: &Parts, tool: &str) -> Option<Self> {
        let (tool, permissions) = (parts.tools.find(tool)?.tool, parts.permissions.clone());
        Some(Self { tool: Arc::clone(tool), permissions, is_gated: parts.is_gated })
    }

    /// Returns `true` for a caller who may use the tool.
    pub(super) fn lets(&self, caller: &Caller) -> bool {
        !self.is_gated || permits(self.permissions.as_deref(), Some(caller), &*self.tool)
    }

    /// Checks arguments in place of those of the call.
    ///
    /// # Errors
    ///
    /// The first of them that does not fit the schema of the tool.
    pub(super) fn check(&self, arguments: &Json) -> Result<(), ToolError> {
        let schema = self.tool.schema();
        // It could be made when the tool was registered.
        let Ok(check) = ArgumentCheck::new(self.tool.name(), &schema) else { return Ok(()) };
        check.check(&schema, &arguments.to_value())
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
