//! The conversations of a service.

pub(super) mod agents;
pub(super) mod directory;
pub(super) mod regenerate;
pub(super) mod rewind;
pub(super) mod run_order;
pub(super) mod title;

use std::{
    collections::{HashMap, VecDeque},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use self::run_order::{RunOrder, RunTurn};
use super::{
    Problem,
    journal::{StoredJournal, rewound::TakenBack},
    runs::run::ServiceRun,
};
use forgeline_agent::{Agent, Conversation};
use forgeline_store::ConversationRecord;
use forgeline_types::{Message, Part, Text};

/// Conversations by scope and id. Conversations of other scopes are not found.
#[derive(Default)]
pub(crate) struct ConversationCache(Mutex<CachedConversations>);

/// Maximum number of conversations in memory; active conversations are kept beyond it.
const MAX_CONVERSATIONS: usize = 1_000;
/// Maximum bytes of the messages of these conversations.
const MAX_CONVERSATION_BYTES: usize = 256 << 20;

#[derive(Default)]
struct CachedConversations {
    all: HashMap<(Text, Text), Arc<LiveConversation>>,
    /// Keys, oldest first.
    order: VecDeque<(Text, Text)>,
}

/// A conversation with the agent of one of its runs.
pub(crate) struct ConversationForRun {
    pub(crate) live: Arc<LiveConversation>,
    pub(crate) handle: Conversation,
    /// `true` for a conversation that was created for the run, and whose id no client knows yet.
    pub(crate) is_nameless: bool,
}

impl ConversationForRun {
    pub(crate) fn new(live: Arc<LiveConversation>, agent: &Agent) -> Self {
        let handle = agent.goes_on_with(&live.handle);
        Self { live, handle, is_nameless: false }
    }
}

/// A conversation.
pub(crate) struct LiveConversation {
    pub(crate) id: Text,
    /// The caller that owns it.
    pub(crate) owner: Text,
    /// The name of its agent.
    pub(crate) agent_name: Text,
    created_ms: u64,
    /// Its messages and runs. The agent of a run may be another one.
    pub(crate) handle: Conversation,
    /// The run that started last.
    last_run: Mutex<Option<Arc<ServiceRun>>>,
    pub(crate) journal: StoredJournal,
    /// The approximate size of its messages, in bytes.
    bytes: AtomicUsize,
    /// The order of its runs; runs recovered from another process come first.
    pub(crate) turns: RunOrder,
    /// The messages that were taken back, as far as they have been read.
    pub(crate) taken_back: tokio::sync::Mutex<TakenBack>,
    /// Held while the messages of a client are put at its beginning.
    pub(crate) giving: tokio::sync::Mutex<()>,
}

impl ConversationCache {
    pub(crate) fn find(&self, scope: &Text, id: &str) -> Option<Arc<LiveConversation>> {
        self.lock().all.get(&(scope.clone(), id.into())).cloned()
    }

    /// Adds a conversation, or returns the existing one if another request was faster.
    pub(crate) fn add(
        &self,
        scope: &Text,
        conversation: LiveConversation,
    ) -> Arc<LiveConversation> {
        let key = (scope.clone(), conversation.id.clone());
        let mut known = self.lock();
        if let Some(there) = known.all.get(&key) {
            return Arc::clone(there);
        }
        let added = Arc::new(conversation);
        known.all.insert(key.clone(), Arc::clone(&added));
        known.order.push_back(key);
        added.measure();
        known.trim();
        added
    }

    /// Updates the size of a conversation that has grown, and evicts the oldest idle ones above the limits.
    pub(crate) fn grown(&self, scope: &Text, id: &str) {
        let mut known = self.lock();
        if let Some(conversation) = known.all.get(&(scope.clone(), id.into())) {
            conversation.measure();
            known.trim();
        }
    }

    pub(crate) fn remove(&self, scope: &Text, id: &str) {
        let key = (scope.clone(), Text::from(id));
        let mut known = self.lock();
        known.all.remove(&key);
        known.order.retain(|other| *other != key);
    }

    fn lock(&self) -> MutexGuard<'_, CachedConversations> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CachedConversations {
    fn trim(&mut self) {
        loop {
            let kept = self.order.iter().map(|key| {
                let kept = self.all.get(key);
                kept.map_or((0, false), |kept| (kept.bytes.load(Ordering::Acquire), kept.works()))
            });
            let Some(key) = surplus(kept).and_then(|at| self.order.remove(at)) else { return };
            self.all.remove(&key);
        }
    }
}

/// Returns the index of a conversation to evict, given the bytes and activity of each, oldest first.
fn surplus(kept: impl Iterator<Item = (usize, bool)>) -> Option<usize> {
    let (mut count, mut bytes, mut idle) = (0, 0_usize, None);
    for (at, (size, works)) in kept.enumerate() {
        (count, bytes) = (at + 1, bytes.saturating_add(size));
        if !works && idle.is_none() {
            idle = Some(at);
        }
    }
    idle.filter(|_| count > MAX_CONVERSATIONS || (bytes > MAX_CONVERSATION_BYTES && count > 1))
}

/// Returns the approximate size of a message, in bytes.
pub(crate) fn size(message: &Message) -> usize {
    let size = |part: &Part| match part {
        Part::Text { text, .. } | Part::Thinking { text, .. } | Part::Framing { text, .. } => {
            text.len()
        }
        Part::Image { data, .. } | Part::Document { data, .. } => data.len(),
        Part::ToolCall(call) => call.arguments_raw.len(),
        Part::ToolResult(result) => result.content.len(),
        Part::ProviderItem(item) => serde_json::to_vec(item).map_or(0, |item| item.len()),
        part => serde_json::to_vec(part).map_or(0, |part| part.len()),
    };
    message.parts.iter().map(size).sum()
}

impl LiveConversation {
    /// Returns `true` while its last run has not ended.
    fn works(&self) -> bool {
        self.last_run().is_some_and(|run| !run.has_ended())
    }

    fn measure(&self) {
        let bytes = self.handle.transcript().iter().map(|message| size(message)).sum();
        self.bytes.store(bytes, Ordering::Release);
    }

    pub(crate) fn new(stored: &ConversationRecord, agent: &Agent, journal: StoredJournal) -> Self {
        Self {
            id: stored.key.id.clone(),
            owner: stored.owner.clone(),
            agent_name: stored.agent.clone(),
            created_ms: stored.created_ms,
            handle: agent.conversation().with_journal(journal.clone()),
            last_run: Mutex::default(),
            journal,
            bytes: AtomicUsize::new(0),
            turns: RunOrder::default(),
            taken_back: tokio::sync::Mutex::default(),
            giving: tokio::sync::Mutex::default(),
        }
    }

    /// Returns `true` if the store has this conversation under its id, and not a later one of the same name.
    pub(crate) fn is_that_of(&self, stored: &ConversationRecord) -> bool {
        self.owner == stored.owner
            && self.agent_name == stored.agent
            && self.created_ms == stored.created_ms
    }

    /// Reads its messages from the journal.
    pub(crate) async fn reread(&self) -> Result<(), Problem> {
        let head = self.head_if_shared().await?;
        let reread = self.handle.reread().await;
        reread.map_err(|error| self.journal.problem(error))?;
        self.note_read(head).await;
        Ok(())
    }

    /// Reads what other nodes have written since it was last read, if they may have. A run of this node that is in progress knows everything.
    pub(crate) async fn refresh(&self) -> Result<(), Problem> {
        let head = self.head_if_shared().await?;
        self.refresh_to(head).await
    }

    /// Reads what other nodes have written, if the store has this number of entries and the conversation in memory another one.
    pub(crate) async fn refresh_to(&self, head: Option<u64>) -> Result<(), Problem> {
        if head.is_none_or(|head| self.journal.has_read(head)) {
            return Ok(());
        }
        let reread = self.handle.reread_if_idle().await;
        if reread.map_err(|error| self.journal.problem(error))? {
            self.note_read(head).await;
        }
        Ok(())
    }

    /// Returns the number of entries in the store, if other nodes write it, too.
    async fn head_if_shared(&self) -> Result<Option<u64>, Problem> {
        if self.journal.is_shared() { Ok(Some(self.journal.head().await?)) } else { Ok(None) }
    }

    /// Records that its messages were read up to this number of entries.
    async fn note_read(&self, head: Option<u64>) {
        if let Some(head) = head {
            self.journal.note_read(head).await;
            self.measure();
        }
    }

    /// Adds a run, which comes after those that have not ended.
    pub(crate) fn begin(&self, run: &Arc<ServiceRun>) -> RunTurn {
        let mut last = self.last_run.lock().unwrap_or_else(PoisonError::into_inner);
        *last = Some(Arc::clone(run));
        self.turns.take()
    }

    /// Returns the run that started last.
    pub(crate) fn last_run(&self) -> Option<Arc<ServiceRun>> {
        self.last_run.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_that_does_not_work_is_let_go_when_all_are_too_many_or_too_large() {
        let of = |kept: &[(usize, bool)]| surplus(kept.iter().copied());
        assert_eq!(of(&[(1, false); MAX_CONVERSATIONS]), None);
        let many = [vec![(1, true)], vec![(1, false); MAX_CONVERSATIONS]].concat();
        assert_eq!(of(&many), Some(1));
        let half = MAX_CONVERSATION_BYTES / 2;
        assert_eq!(of(&[(half, false), (half, false)]), None);
        assert_eq!(of(&[(half, true), (half, false), (1, false)]), Some(1));
        assert_eq!(of(&[(half, true), (half, true), (1, true)]), None, "all of them work");
        assert_eq!(of(&[(MAX_CONVERSATION_BYTES + 1, false)]), None, "it would be read again");
    }
}
