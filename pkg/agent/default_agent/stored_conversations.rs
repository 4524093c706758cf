//! The conversations that an agent keeps by their ids.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError, Weak},
};

use super::conversation::Conversation;
use crate::{
    driver::SharedAgent,
    journal::{Journal, JournalStore},
};
use forgeline_types::Text;

/// The conversations in a store. Those in use are found here, so that runs of one conversation wait for one another.
pub(super) struct StoredConversations {
    store: Arc<dyn JournalStore>,
    open: Mutex<HashMap<Text, Weak<SharedAgent>>>,
}

/// The history of a conversation in a store.
pub(super) struct StoredHistory {
    pub(super) id: Text,
    pub(super) journal: Arc<dyn Journal>,
}

impl StoredConversations {
    pub(super) fn new(store: Arc<dyn JournalStore>) -> Self {
        Self { store, open: Mutex::default() }
    }

    /// Returns the conversations of another agent in the same store.
    pub(super) fn anew(&self) -> Self {
        Self::new(Arc::clone(&self.store))
    }

    /// Returns a conversation in use, or else the one that `begin` makes.
    pub(super) fn find(
        &self,
        id: &Text,
        begin: impl FnOnce(StoredHistory) -> Conversation,
    ) -> Conversation {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = open.get(id).and_then(Weak::upgrade) {
            return Conversation(known);
        }
        let journal = self.store.journal(id);
        let new = begin(StoredHistory { id: id.clone(), journal });
        open.retain(|_, known| known.strong_count() > 0);
        open.insert(id.clone(), Arc::downgrade(&new.0));
        new
    }
}
