//! The conversations of a service.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::run::Run;
use crate::{agent::DefaultAgent, types::Text};

/// Conversations by scope and id. Another scope's are not found.
#[derive(Debug, Default)]
pub(super) struct Conversations(Mutex<HashMap<(Text, Text), Arc<Conversation>>>);

/// One conversation.
#[derive(Debug)]
pub(super) struct Conversation {
    pub(super) id: Text,
    /// The caller whose it is.
    pub(super) owner: Text,
    /// The name of its agent.
    pub(super) agent_name: Text,
    /// A fork, which has its messages.
    pub(super) agent: DefaultAgent,
    /// The run that began last.
    last_run: Mutex<Option<Arc<Run>>>,
}

impl Conversations {
    pub(super) fn find(&self, scope: &Text, id: &str) -> Option<Arc<Conversation>> {
        self.lock().get(&(scope.clone(), id.into())).cloned()
    }

    /// Adds a conversation; returns the one that is there, where another request was faster.
    pub(super) fn add(&self, scope: &Text, conversation: Conversation) -> Arc<Conversation> {
        let key = (scope.clone(), conversation.id.clone());
        Arc::clone(self.lock().entry(key).or_insert_with(|| Arc::new(conversation)))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<(Text, Text), Arc<Conversation>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Conversation {
    pub(super) fn new(id: Text, owner: Text, agent_name: Text, agent: &DefaultAgent) -> Self {
        let (agent, last_run) = (agent.fork(), Mutex::default());
        Self { id, owner, agent_name, agent, last_run }
    }

    pub(super) fn begin(&self, run: &Arc<Run>) {
        *self.last_run.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(run));
    }

    /// Returns the run that began last.
    pub(super) fn last_run(&self) -> Option<Arc<Run>> {
        self.last_run.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
