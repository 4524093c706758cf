//! The events of sub-agents, as part of the events of their parent run.

use serde::{Deserialize, Serialize};

use forgeline_types::{AgentEvent, CustomEvent, Envelope, Text};

/// The name of the custom event that contains an event of a sub-agent; its data is a [`SubAgentEvent`].
pub const SUB_AGENT: &str = "sub_agent";

/// An event of a sub-agent, with the run and the call that started it.
///
/// The events of one such run have its own `run_id` and `seq`. All of them come before the result of the call, except
/// for an agent [in the background](crate::sub_agents::SubAgent::in_background), which works while the parent run continues.
/// The events of a cancelled run may lack their end: the result of the call, or the end of the parent run, ends it. An
/// event of a nested sub-agent is contained in one of its parent: [`read`](Self::read) it from `envelope.event`.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use forgeline::{
///     agent::{Agent, notice::SubAgentEvent},
///     testing::{ScriptedProvider, ScriptedTurn},
/// };
/// use serde_json::json;
///
/// let below = ScriptedProvider::new([ScriptedTurn::new().text("It rains.")]);
/// let weather = Agent::builder(below).build()?.into_tool("weather", "Looks at the weather.");
/// let call = ScriptedTurn::new().call("weather", json!({ "task": "Look." }));
/// let provider = ScriptedProvider::new([call, ScriptedTurn::new().text("Stay in.")]);
/// let agent = Agent::builder(provider).tool(weather).build()?;
/// let mut stream = agent.run_stream("Shall we go out?");
/// let mut said = String::new();
/// while let Some(envelope) = stream.next().await {
///     if let Some(below) = SubAgentEvent::read(&envelope.event) {
///         assert_eq!(below.parent_run_id, envelope.run_id);
///         assert_ne!(below.envelope.run_id, envelope.run_id);
///         said.push_str(below.envelope.event.text());
///     }
/// }
/// assert_eq!(said, "It rains.");
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SubAgentEvent {
    /// The id of the parent run.
    pub parent_run_id: Text,
    /// The id of the call that started the sub-agent.
    pub call_id: Text,
    /// The name of the tool.
    #[serde(rename = "name")]
    pub tool_name: Text,
    /// `true` when the agent works in the background.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub background: bool,
    /// The event, with its place in the sub-agent's run.
    pub envelope: Envelope,
}

impl SubAgentEvent {
    /// Reads the event of a sub-agent; returns `None` for any other event.
    #[must_use]
    pub fn read(event: &AgentEvent) -> Option<Self> {
        let AgentEvent::Custom(CustomEvent { name, data, .. }) = event else { return None };
        (name == SUB_AGENT).then(|| Self::deserialize(data).ok()).flatten()
    }

    /// Returns the event for the parent run.
    pub(crate) fn into_event(self) -> Option<AgentEvent> {
        let data = serde_json::to_value(self).ok()?;
        Some(AgentEvent::Custom(CustomEvent::new(SUB_AGENT, data)))
    }
}
