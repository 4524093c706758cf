//! Audit records of refused calls.

use super::conversation::RunConversation;
use crate::{
    access::{AuditRecord, CallDenial, RefusalContext, audit},
    run::RunContext,
    support::clock,
};

impl RunConversation<'_> {
    /// Writes an audit record of a refused call.
    pub(super) fn audit(&self, denial: CallDenial, run: &RunContext) {
        let Self { parts, emitter, .. } = self;
        let entry = parts.tools.find(&denial.tool_name);
        let refused = RefusalContext {
            at: clock::now(),
            run_id: emitter.run_id(),
            turn: emitter.turn(),
            tool_module: entry.as_ref().and_then(|entry| entry.tool.module()),
            run,
        };
        let record = AuditRecord::new(denial, &refused);
        audit::write(parts.audit.as_deref(), parts.host_audit.as_ref(), &record);
    }
}
