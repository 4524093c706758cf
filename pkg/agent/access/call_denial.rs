//! Refused calls for which an audit record is kept.

use super::audit_kind::AuditKind;
use forgeline_types::Text;

/// A refused call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CallDenial {
    pub(crate) kind: AuditKind,
    /// The id of the call.
    pub(crate) id: Text,
    pub(crate) tool_name: Text,
    /// The reason, as the model reads it.
    pub(crate) reason: String,
}
