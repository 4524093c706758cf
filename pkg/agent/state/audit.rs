//! Audit records of refused calls.

use super::{FailureKind, RunEffect, answer_calls::RunCall};
use crate::access::{AuditKind, CallDenial};

impl RunCall {
    /// Requests an audit record of a call that fails in this way, if one is due.
    pub(super) fn audit(&self, failure: FailureKind, reason: &str, out: &mut Vec<RunEffect>) {
        let kind = if failure == FailureKind::Forbidden {
            AuditKind::UnauthorizedTool
        } else if failure == FailureKind::Unauthorized {
            AuditKind::ToolAllowlistDenial
        } else {
            return;
        };
        let (id, tool_name) = (self.made.id.clone(), self.made.name.clone());
        let denial = CallDenial { kind, id, tool_name, reason: reason.to_owned() };
        out.push(RunEffect::Audit(Box::new(denial)));
    }
}
