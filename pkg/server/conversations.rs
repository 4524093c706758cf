//! The conversations of a service.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::{
    journal::StoredJournal,
    run::Run,
    turns::{Turn, Turns},
};
use crate::{agent::DefaultAgent, store::Conversation as Stored, types::Text};

/// Conversations by scope and id. Another scope's are not found.
#[derive(Default)]
pub(super) struct Conversations(Mutex<Known>);

/// Most conversations that are kept in memory.
const MAX_CONVERSATIONS: usize = 1_000;

#[derive(Default)]
struct Known {
    all: HashMap<(Text, Text), Arc<Conversation>>,
    /// In the order of their beginning.
    order: VecDeque<(Text, Text)>,
}

/// One conversation.
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
    pub(super) journal: StoredJournal,
    /// The order of its runs; those that another process left come first.
    pub(super) turns: Turns,
}

impl Conversations {
    pub(super) fn find(&self, scope: &Text, id: &str) -> Option<Arc<Conversation>> {
        self.lock().all.get(&(scope.clone(), id.into())).cloned()
    }

    /// Adds a conversation; returns the one that is there, where another request was faster.
    pub(super) fn add(&self, scope: &Text, conversation: Conversation) -> Arc<Conversation> {
        let key = (scope.clone(), conversation.id.clone());
        let mut known = self.lock();
        if let Some(there) = known.all.get(&key) {
            return Arc::clone(there);
        }
        let added = Arc::new(conversation);
        known.all.insert(key.clone(), Arc::clone(&added));
        known.order.push_back(key);
        while known.order.len() > MAX_CONVERSATIONS {
            let works = |at: &Arc<Conversation>| at.last_run().is_some_and(|run| !run.has_ended());
            let idle = known.order.iter().position(|key| !known.all.get(key).is_some_and(works));
            let Some(key) = idle.and_then(|at| known.order.remove(at)) else { break };
            known.all.remove(&key);
        }
        added
    }

    pub(super) fn remove(&self, scope: &Text, id: &str) {
        let key = (scope.clone(), Text::from(id));
        let mut known = self.lock();
        known.all.remove(&key);
        known.order.retain(|other| *other != key);
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Conversation {
    pub(super) fn new(stored: &Stored, agent: &DefaultAgent, journal: StoredJournal) -> Self {
        Self {
            id: stored.key.id.clone(),
            owner: stored.owner.clone(),
            agent_name: stored.agent.clone(),
            agent: agent.fork_with_journal(journal.clone()),
            last_run: Mutex::default(),
            journal,
            turns: Turns::default(),
        }
    }

    /// Adds a run; it comes behind those that have not ended.
    pub(super) fn begin(&self, run: &Arc<Run>) -> Turn {
        let mut last = self.last_run.lock().unwrap_or_else(PoisonError::into_inner);
        *last = Some(Arc::clone(run));
        self.turns.take()
    }

    /// Returns the run that began last.
    pub(super) fn last_run(&self) -> Option<Arc<Run>> {
        self.last_run.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
