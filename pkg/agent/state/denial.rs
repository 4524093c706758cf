//! Refused calls for which an audit record is kept.

use crate::{agent::AuditKind, types::Text};

/// A refused call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Denial {
    pub(crate) kind: AuditKind,
    /// The id of the call.
    pub(crate) id: Text,
    pub(crate) tool_name: Text,
    /// The reason, as the model reads it.
    pub(crate) reason: String,
}
