//! The rules about the callers that may answer for a call.

use std::{fmt, sync::Arc};

use crate::{
    access::{Permissions, permits},
    run::Caller,
    tools::{ArgumentCheck, Tool, ToolError, fitted},
};
use forgeline_types::Json;

/// The rules for the tool of an open request: a caller who answers for a call needs the permission
/// that the call needs, and changed arguments must fit as the original ones did.
#[derive(Clone)]
pub(crate) struct AnswerGate {
    tool: Arc<dyn Tool>,
    permissions: Option<Arc<dyn Permissions>>,
    /// `true` where not every caller may use each tool.
    is_gated: bool,
}

impl AnswerGate {
    /// Returns the rules of this tool; `is_gated` where not every caller may use each tool.
    pub(crate) fn new(
        tool: Arc<dyn Tool>,
        permissions: Option<Arc<dyn Permissions>>,
        is_gated: bool,
    ) -> Self {
        Self { tool, permissions, is_gated }
    }

    /// Returns `true` for a caller who may use the tool.
    pub(crate) fn may_answer(&self, caller: &Caller) -> bool {
        !self.is_gated || permits(self.permissions.as_deref(), Some(caller), &*self.tool)
    }

    /// Checks arguments that replace those of the call.
    ///
    /// # Errors
    ///
    /// Returns an error for the first argument that does not fit the schema of the tool.
    pub(crate) fn check(&self, arguments: &Json) -> Result<(), ToolError> {
        let schema = self.tool.schema();
        // The check could be built when the tool was registered.
        let Ok(check) = ArgumentCheck::new(self.tool.name(), &schema) else { return Ok(()) };
        let fitted = fitted(&schema, arguments);
        check.check(&schema, &fitted.as_ref().unwrap_or(arguments).to_value())
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
