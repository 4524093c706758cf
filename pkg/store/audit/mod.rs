//! The audit store: an append-only chain of events for each scope.

mod chain;
mod event;
mod export;
mod hash;
mod query;
mod report;
mod row;
mod store;
#[cfg(any(feature = "sqlite", feature = "postgres"))]
mod stored_row;

pub(super) use self::chain::is_theirs;
pub(super) use self::query::AuditCursor;
#[cfg(any(feature = "sqlite", feature = "postgres"))]
pub(super) use self::stored_row::{StoredAuditRow, stored_hash};
pub use self::{
    chain::{AuditChain, AuditFault, AuditHead},
    event::{AuditEvent, AuditSubject, MAX_AUDIT_PAYLOAD_BYTES},
    export::export_audit,
    hash::AuditHash,
    query::{AuditPage, AuditQuery},
    report::AuditReport,
    row::AuditRow,
    store::AuditStore,
};
