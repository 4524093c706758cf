//! A structured answer, while it arrives.

use super::grow::PartialJson;
use crate::types::AgentEvent;

/// Follows the events of a response whose message is one JSON value, as a response format asks for.
///
/// # Examples
///
/// ```
/// use forgeline::types::{AgentEvent, PartialAnswer};
///
/// let mut answer = PartialAnswer::default();
/// answer.event(&AgentEvent::MessageContent { content: r#"{"city":"Li"#.into(), refusal: false });
/// assert_eq!(answer.json().pointer("/city").and_then(|city| city.as_str()), Some("Li"));
/// ```
#[derive(Debug, Clone, Default)]
pub struct PartialAnswer {
    json: PartialJson,
}

impl PartialAnswer {
    /// Takes the next event; what is no message content changes nothing. A new response begins a
    /// new value.
    pub fn event(&mut self, event: &AgentEvent) {
        if let AgentEvent::ApiCallStart { .. } = event {
            self.json = PartialJson::new();
        } else if let AgentEvent::MessageContent { content, refusal: false } = event {
            // The value itself tells of a fault: prose is none at its first byte.
            self.json.push(content).ok();
        }
    }

    /// The value so far.
    #[must_use]
    pub fn json(&self) -> &PartialJson {
        &self.json
    }
}
