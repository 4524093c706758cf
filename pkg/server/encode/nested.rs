//! Events of sub-agents among those of a run.

use serde::Deserialize;
use serde_json::Value;

use forgeline_agent::notice::SUB_AGENT;
use forgeline_types::{AgentEvent, CustomEvent, Envelope};

/// Returns the event of a sub-agent at any depth, if it is of one of these kinds. Others are not parsed: most are pieces of answers.
pub(crate) fn find_nested(event: &AgentEvent, kinds: &[&str]) -> Option<Envelope> {
    let AgentEvent::Custom(CustomEvent { name, data, .. }) = event else { return None };
    let (mut is_below, mut data) = (name == SUB_AGENT, data);
    while is_below {
        let envelope = data.get("envelope")?;
        let kind = envelope.get("type")?.as_str()?;
        if kinds.contains(&kind) {
            return <Envelope as Deserialize>::deserialize(envelope).ok();
        }
        is_below = kind == "custom" && envelope.get("name").and_then(Value::as_str)? == SUB_AGENT;
        data = envelope.get("data")?;
    }
    None
}
