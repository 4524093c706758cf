//! Audit records of refused calls.

use super::conversation::Conversation;
use crate::agent::{
    AuditRecord, RunContext,
    audit::{self, Refused},
    clock,
    state::Denial,
};

impl Conversation<'_> {
    /// Writes an audit record of a refused call.
    pub(super) fn audit(&self, denial: Denial, run: &RunContext) {
        let Self { parts, emitter, .. } = self;
        let entry = parts.tools.find(&denial.tool_name);
        let refused = Refused {
            at: clock::now(),
            run_id: emitter.run_id(),
            turn: emitter.turn(),
            tool_module: entry.as_ref().and_then(|entry| entry.tool.module()),
            run,
        };
        audit::write(parts.audit.as_deref(), AuditRecord::new(denial, &refused));
    }
}
