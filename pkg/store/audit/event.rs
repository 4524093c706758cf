//! The events of the audit store.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::hash::AuditHash;
use crate::{StoreError, ids::new_id};
use forgeline_types::{Text, setters};

/// Maximum size of the payload of an event, in bytes of JSON.
pub const MAX_AUDIT_PAYLOAD_BYTES: usize = 8 << 10;

/// Maximum length of each other text of an event, in bytes.
const MAX_TEXT_BYTES: usize = 1_024;

/// Something that was done or refused, for the audit store.
///
/// The type, the source and the time stay for as long as the row does; everything else is gone once its actor or its owner is erased. Events name, and do
/// not quote: no secret and no text of a message belongs in a payload.
///
/// # Examples
///
/// ```
/// use forgeline::store::{AuditEvent, AuditSubject};
///
/// let subject = AuditSubject::default().run("run_1").tool("delete_file");
/// let event = AuditEvent::new("approval.granted", "service", "ann", 1_000).subject(subject);
/// assert_eq!((event.actor.as_str(), event.payload()), ("ann", "{}"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct AuditEvent {
    /// The unique id. An event with the id of an earlier one is that one, sent again.
    pub id: Text,
    /// The type, such as `_platform.ai.unauthorized_tool`.
    pub kind: Text,
    /// The part of the platform that reports the event, such as `agent`.
    pub source: Text,
    /// The time of the event, in milliseconds since the Unix epoch. Events may be stored in another order.
    pub at_ms: u64,
    /// The id of the caller that did it, or tried to.
    pub actor: Text,
    /// The id of the caller that the affected data belongs to; empty if it is the actor's, or has no owner.
    pub owner: Text,
    /// The affected items.
    pub subject: AuditSubject,
    /// The details, a JSON object.
    pub(super) payload: String,
    /// 128 random bits, without which a reader cannot try names against the hash of an event that was erased.
    pub salt: Text,
}

/// The items that an event is about.
///
/// # Examples
///
/// ```
/// use forgeline::store::AuditSubject;
///
/// assert_eq!(AuditSubject::default().run("run_1").run.as_deref(), Some("run_1"));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct AuditSubject {
    /// The id of a run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<Text>,
    /// The id of a conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conversation: Option<Text>,
    /// The name of a tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<Text>,
    /// The id of a request, such as that for an approval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<Text>,
}

impl AuditSubject {
    setters! {
        AuditSubject:
        run(some into Text),
        conversation(some into Text),
        tool(some into Text),
        request(some into Text),
    }

    fn texts(&self) -> [Option<&Text>; 4] {
        let Self { run, conversation, tool, request } = self;
        [run.as_ref(), conversation.as_ref(), tool.as_ref(), request.as_ref()]
    }
}

impl AuditEvent {
    /// Returns an event with a new id, without details.
    #[must_use]
    pub fn new(
        kind: impl Into<Text>,
        source: impl Into<Text>,
        actor: impl Into<Text>,
        at_ms: u64,
    ) -> Self {
        Self {
            id: new_id("audit-"),
            kind: kind.into(),
            source: source.into(),
            at_ms,
            actor: actor.into(),
            owner: Text::new(),
            subject: AuditSubject::default(),
            payload: "{}".to_owned(),
            salt: new_id(""),
        }
    }

    setters! {
        AuditEvent:
        owner(into Text),
        subject(AuditSubject),
    }

    /// Sets the details.
    #[must_use]
    pub fn details(mut self, details: &Map<String, Value>) -> Self {
        self.payload = serde_json::to_string(details).unwrap_or_else(|_| "{}".to_owned());
        self
    }

    /// Returns the details, a JSON object.
    #[must_use]
    pub fn payload(&self) -> &str {
        &self.payload
    }

    /// Refuses an event that is too long.
    ///
    /// # Errors
    ///
    /// Returns [`StoreError::Full`] with the limit.
    pub(crate) fn check(&self, scope: &str) -> Result<(), StoreError> {
        let Self { id, kind, source, actor, owner, subject, payload, salt, .. } = self;
        let texts = [id, kind, source, actor, owner, salt].into_iter().map(Text::as_str);
        let texts = texts.chain(subject.texts().into_iter().flatten().map(Text::as_str));
        let longest = texts.chain([scope]).map(str::len).max().unwrap_or_default();
        let (what, bytes, most) = if payload.len() > MAX_AUDIT_PAYLOAD_BYTES {
            ("the payload", payload.len(), MAX_AUDIT_PAYLOAD_BYTES)
        } else if longest > MAX_TEXT_BYTES {
            ("a name", longest, MAX_TEXT_BYTES)
        } else {
            return Ok(());
        };
        let reason =
            format!("{what} of an audit event has {bytes} bytes, more than {most}; send less");
        Err(StoreError::full(reason))
    }

    /// Returns the hash of what an erasure removes.
    pub(crate) fn seal(&self) -> AuditHash {
        let mut fields: Vec<&[u8]> =
            [&self.salt, &self.actor, &self.owner].map(|text| text.as_bytes()).to_vec();
        for text in self.subject.texts() {
            fields.push(if text.is_some() { b"1" } else { b"0" });
            fields.push(text.map_or(b"", |text| text.as_bytes()));
        }
        fields.push(self.payload.as_bytes());
        AuditHash::of(&fields)
    }

    /// Returns the hash of the content of a row with this seal.
    pub(crate) fn digest(&self, scope: &str, seal: &AuditHash) -> AuditHash {
        let Self { id, kind, source, at_ms, .. } = self;
        AuditHash::of(&[
            b"forgeline audit 1",
            scope.as_bytes(),
            id.as_bytes(),
            kind.as_bytes(),
            source.as_bytes(),
            &at_ms.to_be_bytes(),
            seal.as_bytes(),
        ])
    }

    /// Removes what an erasure removes.
    pub(crate) fn clear(&mut self) {
        (self.actor, self.owner, self.salt) = (Text::new(), Text::new(), Text::new());
        (self.subject, self.payload) = (AuditSubject::default(), "{}".to_owned());
    }
}
