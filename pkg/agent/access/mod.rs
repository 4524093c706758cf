//! Permissions, authorizers, and the audit of refused calls.

pub(crate) mod audit;
mod audit_kind;
mod authorizer;
mod call_denial;
mod permissions;

pub(crate) use self::call_denial::CallDenial;
pub(crate) use self::{audit::RefusalContext, authorizer::authorize, permissions::permits};
pub use self::{
    audit::{AuditRecord, AuditSink},
    audit_kind::AuditKind,
    authorizer::{AllowList, Authorization, Authorizer, ClientCall},
    permissions::{ModulePermissions, NamedPermissions, Permissions, ToolAccess},
};
