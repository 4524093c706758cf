//! The rows of the audit store, as databases keep them.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{
    event::{AuditEvent, AuditSubject},
    hash::AuditHash,
    row::AuditRow,
};
use crate::StoreError;
use forgeline_types::Text;

/// The columns of a row.
pub(crate) struct StoredAuditRow<'r> {
    pub(crate) seq: u64,
    pub(crate) scope: &'r str,
    pub(crate) id: &'r str,
    pub(crate) kind: &'r str,
    pub(crate) source: &'r str,
    pub(crate) at_ms: u64,
    pub(crate) actor: &'r str,
    pub(crate) owner: &'r str,
    /// Empty once the row was erased.
    pub(crate) content: &'r str,
    pub(crate) seal: &'r [u8],
    pub(crate) hash: &'r [u8],
}

/// The part of an event that an erasure removes, besides the names of people.
#[derive(Serialize, Deserialize)]
struct EventContent {
    salt: Text,
    subject: AuditSubject,
    payload: Box<RawValue>,
}

impl StoredAuditRow<'_> {
    /// Returns the row.
    pub(crate) fn read(self) -> Result<AuditRow, StoreError> {
        let (seal, hash) = (stored_hash(self.seal)?, stored_hash(self.hash)?);
        let is_erased = self.content.is_empty();
        let (salt, subject, payload) = if is_erased {
            (Text::new(), AuditSubject::default(), "{}".to_owned())
        } else {
            let content: EventContent = serde_json::from_str(self.content).map_err(unreadable)?;
            (content.salt, content.subject, content.payload.get().to_owned())
        };
        let [id, kind, source, actor, owner] =
            [self.id, self.kind, self.source, self.actor, self.owner].map(Text::from);
        let at_ms = self.at_ms;
        let event = AuditEvent { id, kind, source, at_ms, actor, owner, subject, payload, salt };
        Ok(AuditRow { seq: self.seq, scope: self.scope.into(), event, is_erased, seal, hash })
    }
}

impl AuditEvent {
    /// Returns the content of the event for a column, as JSON.
    pub(crate) fn content(&self) -> Result<String, StoreError> {
        let payload = RawValue::from_string(self.payload.clone()).map_err(unreadable)?;
        let (salt, subject) = (self.salt.clone(), self.subject.clone());
        serde_json::to_string(&EventContent { salt, subject, payload }).map_err(unreadable)
    }
}

/// Returns a hash of a column.
pub(crate) fn stored_hash(bytes: &[u8]) -> Result<AuditHash, StoreError> {
    let reason = || StoreError::corrupt("an audit row has a hash of another length");
    AuditHash::from_bytes(bytes).ok_or_else(reason)
}

#[expect(clippy::needless_pass_by_value, reason = "the form of a function for `map_err`")]
fn unreadable(error: serde_json::Error) -> StoreError {
    StoreError::corrupt(format!("an audit event: {error}"))
}
