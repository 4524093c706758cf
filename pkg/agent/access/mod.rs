//! Permissions, authorizers, and the audit of refused calls.

pub(crate) mod audit;
mod audit_kind;
mod authorizer;
mod call_denial;
mod permissions;

pub(crate) use self::call_denial::CallDenial;
pub use self::{
    audit::{AuditRecord, AuditSink},
    audit_kind::AuditKind,
    authorizer::{AllowList, Authorization, Authorizer, ClientCall},
    permissions::{ModulePermissions, NamedPermissions, Permissions, ToolAccess},
};
pub(crate) use self::{
    audit::{HostAudit, RefusalContext},
    authorizer::authorize,
    permissions::permits,
};
