//! Kinds of refusals.

use serde::{Deserialize, Serialize};

/// The kind of a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum AuditKind {
    /// The caller may not use the tool: it was not offered, but the model called it anyway.
    UnauthorizedTool,
    /// The [`Authorizer`](crate::access::Authorizer) denied a call at the client.
    ToolAllowlistDenial,
}
