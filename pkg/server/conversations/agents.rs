//! The agents of a service.

use std::collections::{BTreeMap, BTreeSet};

use forgeline_agent::Agent;
use forgeline_types::Text;

/// The agents of a service by name, one of which is the default.
pub(crate) struct AgentSet {
    agents: BTreeMap<Text, Agent>,
    default: Text,
    /// Those whose conversations may begin with the messages of a client.
    with_history: BTreeSet<Text>,
}

impl AgentSet {
    pub(crate) fn new(
        agents: BTreeMap<Text, Agent>,
        default: Text,
        with_history: BTreeSet<Text>,
    ) -> Self {
        Self { agents, default, with_history }
    }

    /// Returns `true` if a conversation with this agent, or the default one, may begin with the messages of a client.
    pub(crate) fn takes_history(&self, name: Option<&Text>) -> bool {
        self.with_history.contains(name.unwrap_or(&self.default))
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Agent> {
        self.agents.get(name)
    }

    /// Returns the name of the agent for requests that name none.
    pub(crate) fn default_name(&self) -> &Text {
        &self.default
    }

    /// Returns the agents, the default agent first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Text, &Agent)> {
        let (first, others): (Vec<_>, Vec<_>) =
            self.agents.iter().partition(|(name, _)| **name == self.default);
        first.into_iter().chain(others)
    }
}
