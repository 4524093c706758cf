//! The facts about an agent that a service, which hosts it, needs.

use std::sync::Arc;

use super::{agent::Agent, conversation::Conversation};
use crate::{
    access::{AuditSink, HostAudit},
    driver::SharedAgent,
    observe::Observer,
    run::RunInput,
    support::system_now,
    tools::ToolSource,
};
use forgeline_llm::{Provider, ToolSpec};
use forgeline_types::{AgentError, Message, Part, Text};

impl Agent {
    /// Returns an agent whose runs also have the tools of this source.
    #[doc(hidden)]
    #[must_use]
    pub fn with_source(&self, source: Arc<dyn ToolSource>) -> Self {
        self.changed(|parts| parts.sources.push(source))
    }

    /// Returns an agent with these additional observers.
    #[doc(hidden)]
    #[must_use]
    pub fn watched_by(&self, watchers: &[Arc<dyn Observer>]) -> Self {
        self.changed(|parts| {
            parts.observers = parts.observers.iter().chain(watchers).cloned().collect();
        })
    }

    /// Returns an agent whose refused calls, and those of its sub-agents, are also reported to this sink.
    #[doc(hidden)]
    #[must_use]
    pub fn audited_by(&self, sink: Arc<dyn AuditSink>) -> Self {
        self.changed(|parts| parts.host_audit = Some(HostAudit(sink)))
    }

    /// Returns a conversation with this agent that shares the messages, the order of runs and the grants of another one.
    #[doc(hidden)]
    #[must_use]
    pub fn goes_on_with(&self, conversation: &Conversation) -> Conversation {
        let (parts, modes) = self.setup();
        let history = Arc::clone(&conversation.0.history);
        Conversation(Arc::new(SharedAgent { parts, modes, history }))
    }

    /// Returns the parts of an answer whose calls the model wrote as text, parsed into text and calls; `None` if the answer contains no call.
    #[doc(hidden)]
    pub fn read_again(&self, written: &Message) -> Option<Vec<Part>> {
        self.modes().text(self.parts()).read_again(written)
    }

    /// Returns the provider that answers.
    #[doc(hidden)]
    pub fn provider(&self) -> &Arc<dyn Provider> {
        &self.parts().provider
    }

    /// Returns the names of the models that an input may choose, the agent's own first.
    #[doc(hidden)]
    pub fn model_names(&self) -> impl Iterator<Item = &Text> {
        self.parts().model_names()
    }

    /// Returns the models other than the agent's own.
    #[doc(hidden)]
    pub fn models(&self) -> &[(Text, Arc<dyn Provider>)] {
        &self.parts().models
    }

    /// Checks that the agent has the model that an input chose.
    #[doc(hidden)]
    pub fn check_model(&self, input: &RunInput) -> Result<(), AgentError> {
        self.parts().chosen(&input.context).map(drop)
    }

    /// Checks that the model of an input can read it.
    #[doc(hidden)]
    pub fn check_input(&self, input: &RunInput) -> Result<(), AgentError> {
        let chosen = self.parts().chosen(&input.context)?;
        let provider = chosen.unwrap_or(&self.parts().provider);
        input.check(provider.info(), system_now())
    }

    /// Returns the tools that the agent was built with, and their descriptions.
    #[doc(hidden)]
    pub fn own_tools(&self) -> impl Iterator<Item = (&Arc<dyn crate::tools::Tool>, &ToolSpec)> {
        self.parts().tools.iter().map(|entry| (entry.tool, entry.spec))
    }
}
