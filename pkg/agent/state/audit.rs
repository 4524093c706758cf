//! Audit records of refused calls.

use super::{Denial, Effect, Failure, calls::Call};
use crate::agent::AuditKind;

impl Call {
    /// Requests an audit record of a call that fails in this way, if one is due.
    pub(super) fn audit(&self, failure: Failure, reason: &str, out: &mut Vec<Effect>) {
        let kind = if failure == Failure::Forbidden {
            AuditKind::UnauthorizedTool
        } else if failure == Failure::Unauthorized {
            AuditKind::ToolAllowlistDenial
        } else {
            return;
        };
        let (id, tool_name) = (self.made.id.clone(), self.made.name.clone());
        let denial = Denial { kind, id, tool_name, reason: reason.to_owned() };
        out.push(Effect::Audit(Box::new(denial)));
    }
}
