//! The payloads of an agent's state and of events that programs define.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::{Json, Text};

/// The payload of [`AgentEvent::UpdateBusy`](crate::AgentEvent::UpdateBusy): the agent starts or stops working.
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

/// The payload of [`AgentEvent::Custom`](crate::AgentEvent::Custom): an event that a tool or a program defines.
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
