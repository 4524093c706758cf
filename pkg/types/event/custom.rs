//! The payloads of an agent's state and of events that programs define, and events of later versions.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use crate::{Json, Text};

/// The payload of [`AgentEvent::UpdateBusy`](super::AgentEvent::UpdateBusy): the agent starts or stops working.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct UpdateBusyEvent {
    /// `true` while it is working.
    pub busy: bool,
}

impl UpdateBusyEvent {
    /// Returns the payload with this state.
    #[must_use]
    pub fn new(busy: bool) -> Self {
        Self { busy }
    }
}

/// The payload of [`AgentEvent::Custom`](super::AgentEvent::Custom): an event that a tool or a program defines.
///
/// # Examples
///
/// ```
/// use forgeline::types::{AgentEvent, CustomEvent};
///
/// let event = AgentEvent::Custom(CustomEvent::new("progress", serde_json::json!({"percent": 50})));
/// let json = serde_json::to_string(&event)?;
/// assert_eq!(json, r#"{"type":"custom","name":"progress","data":{"percent":50}}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CustomEvent {
    /// The name of the event.
    pub name: Text,
    /// The payload.
    #[serde(deserialize_with = "read_value")]
    pub data: Value,
}

impl CustomEvent {
    /// Returns the payload with this name and data.
    #[must_use]
    pub fn new(name: impl Into<Text>, data: Value) -> Self {
        Self { name: name.into(), data }
    }
}

/// Reads any JSON value inside an event, marking unusual numbers to keep their spelling.
fn read_value<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Value, D::Error> {
    Json::deserialize(deserializer).map(|json| json.to_value())
}

/// An event of a kind that this version does not know.
///
/// # Examples
///
/// ```
/// use forgeline::types::AgentEvent;
///
/// let event: AgentEvent = serde_json::from_str(r#"{"type":"of_a_later_version","n":1}"#)?;
/// let AgentEvent::Unknown(unknown) = &event else { panic!("{event:?}") };
/// assert_eq!((unknown.kind(), &unknown.fields()["n"]), ("of_a_later_version", &1.into()));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(transparent)]
pub struct UnknownEvent(Map<String, Value>);

impl UnknownEvent {
    /// Returns the kind on the wire; empty when there is none.
    #[must_use]
    pub fn kind(&self) -> &str {
        self.0.get("type").and_then(Value::as_str).unwrap_or_default()
    }

    /// Returns all fields, `type` included.
    #[must_use]
    pub fn fields(&self) -> &Map<String, Value> {
        &self.0
    }
}

impl<'de> Deserialize<'de> for UnknownEvent {
    /// Rejects known kinds: one that gets here has invalid or missing fields.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let json = Json::deserialize(deserializer)?;
        let event = Self(json.read().map_err(serde::de::Error::custom)?);
        if super::KINDS.contains(&event.kind()) {
            let message = format!("the fields of a `{}` event are wrong", event.kind());
            return Err(serde::de::Error::custom(message));
        }
        Ok(event)
    }
}
