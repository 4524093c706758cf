//! The result of a check of a whole chain.

use serde::Serialize;

use super::chain::{AuditFault, AuditHead};

/// The result of a check of a chain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct AuditReport {
    /// The number of rows that were read.
    pub rows: u64,
    /// The number of those whose content was erased.
    pub erased: u64,
    /// The head to which they lead; keep it elsewhere for the next check.
    pub head: AuditHead,
    /// The first fault, if there is one.
    pub fault: Option<AuditFault>,
}

impl AuditReport {
    /// Returns `true` if the chain is what was written.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.fault.is_none()
    }
}
