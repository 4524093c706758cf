//! The rows of the audit store, and their form as JSON.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use super::{
    event::{AuditEvent, AuditSubject},
    hash::AuditHash,
};
use forgeline_types::Text;

/// An event in the chain of its scope. As JSON, it is one line of an [export](super::export_audit).
///
/// The `seal` is the SHA-256 of all that an erasure removes; the row's digest covers the seal, the scope, the id, the type, the source and the time; and
/// the `hash` is the SHA-256 of the hash before, the number in 8 bytes, and the digest. A row whose content was erased keeps its place in the chain.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct AuditRow {
    /// The number in the scope, from 0, without gaps.
    pub seq: u64,
    /// The scope.
    pub scope: Text,
    /// The event; what was erased is empty.
    pub event: AuditEvent,
    /// `true` if actor, owner, subject and payload were erased.
    pub is_erased: bool,
    /// The hash of what an erasure removes.
    pub seal: AuditHash,
    /// The hash of the row and of all before it.
    pub hash: AuditHash,
}

impl AuditRow {
    /// Returns the row of an event after the row with the hash `before`.
    #[must_use]
    pub fn new(scope: impl Into<Text>, seq: u64, before: &AuditHash, event: AuditEvent) -> Self {
        let (scope, seal) = (scope.into(), event.seal());
        let hash = AuditHash::of_row(before, seq, &event.digest(&scope, &seal));
        Self { seq, scope, event, is_erased: false, seal, hash }
    }

    /// Returns the hash that the row must have after the one with the hash `before`; `None` if its content does not fit its seal.
    pub(super) fn expected(&self, before: &AuditHash) -> Option<AuditHash> {
        let fits = self.is_erased || self.event.seal() == self.seal;
        let digest = self.event.digest(&self.scope, &self.seal);
        fits.then(|| AuditHash::of_row(before, self.seq, &digest))
    }

    /// Removes what an erasure removes.
    pub(crate) fn erase(&mut self) {
        self.event.clear();
        self.is_erased = true;
    }
}

/// A row as JSON.
#[derive(Serialize, Deserialize)]
struct RowLine {
    seq: u64,
    scope: Text,
    id: Text,
    #[serde(rename = "type")]
    kind: Text,
    source: Text,
    at_ms: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    actor: Option<Text>,
    #[serde(default, skip_serializing_if = "is_empty")]
    owner: Text,
    #[serde(default, skip_serializing_if = "is_nothing")]
    subject: AuditSubject,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    payload: Option<Box<RawValue>>,
    #[serde(default, skip_serializing_if = "is_empty")]
    salt: Text,
    #[serde(default)]
    erased: bool,
    seal: AuditHash,
    hash: AuditHash,
}

fn is_empty(text: &Text) -> bool {
    text.is_empty()
}

fn is_nothing(subject: &AuditSubject) -> bool {
    *subject == AuditSubject::default()
}

impl Serialize for AuditRow {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let event = self.event.clone();
        let payload = RawValue::from_string(event.payload).map_err(serde::ser::Error::custom)?;
        let is_whole = !self.is_erased;
        let line = RowLine {
            seq: self.seq,
            scope: self.scope.clone(),
            id: event.id,
            kind: event.kind,
            source: event.source,
            at_ms: event.at_ms,
            actor: is_whole.then_some(event.actor),
            owner: event.owner,
            subject: event.subject,
            payload: is_whole.then_some(payload),
            salt: event.salt,
            erased: self.is_erased,
            seal: self.seal,
            hash: self.hash,
        };
        line.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for AuditRow {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let line = RowLine::deserialize(deserializer)?;
        let payload = line.payload.map_or_else(|| "{}".to_owned(), |it| it.get().to_owned());
        let event = AuditEvent {
            id: line.id,
            kind: line.kind,
            source: line.source,
            at_ms: line.at_ms,
            actor: line.actor.unwrap_or_default(),
            owner: line.owner,
            subject: line.subject,
            payload,
            salt: line.salt,
        };
        let (seq, scope, is_erased) = (line.seq, line.scope, line.erased);
        Ok(Self { seq, scope, event, is_erased, seal: line.seal, hash: line.hash })
    }
}
