//! The journal of a run of a host.

use std::sync::Arc;

use tokio::sync::Mutex;

use super::lines::{LineReader, StoredLine};
use forgeline_agent::journal::{Journal, JournalEntry, JournalError, JournalFuture, JournalLine};
use forgeline_store::{
    ConversationKey, ConversationStore, Entry, RunWriter, StoreError, StoredRun, Stores,
    private::now_ms,
};
use forgeline_types::Message;

/// The journal of a run in its conversation, for hosts that keep runs in [`Stores`] without a [`Service`](crate::Service).
///
/// Each line is stored together with the messages that it adds, by the right to write the run: a node that has lost the run is refused, which ends what
/// it does. The conversation must exist, and the store must be that of the run. Clones are handles to the same journal.
///
/// The events of the run are the host's to store. A run that another node resumes sends those again that followed the last line; see
/// [`resume_stream`](forgeline_agent::Conversation::resume_stream).
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use forgeline::{agent::Agent, llm::demo::DemoProvider, server::RunJournal};
/// use forgeline::store::{ConversationRecord, LogKey, NodeId, StoredRun, Stores};
///
/// let (stores, node) = (Stores::in_memory(), NodeId::random());
/// let run = StoredRun::new(LogKey::new("team-a", "run_1"), "c1", "ann", "main", 1_000);
/// let conversation = ConversationRecord::new(run.conversation_key(), "ann", "main", 1_000);
/// stores.conversations.begin(conversation).await?;
/// stores.runs.begin(run.clone(), Some(&node)).await?;
/// let journal = RunJournal::new(&stores, &stores.runs.get(&run.key).await?);
/// let agent = Agent::builder(DemoProvider::new()).build()?;
/// agent.conversation().with_journal(journal).run("Hi.").await?;
/// assert_eq!(stores.conversations.get(&run.conversation_key()).await?.messages, 2);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct RunJournal(Arc<RunLines>);

struct RunLines {
    store: Arc<dyn ConversationStore>,
    key: ConversationKey,
    writer: RunWriter,
    /// The number of entries; `None` while unknown.
    entries: Mutex<Option<u64>>,
}

impl RunJournal {
    /// Returns the journal of a run, as its last [claim](forgeline_store::RunStore::claim) or [`get`](forgeline_store::RunStore::get) returned it: with the
    /// epoch of its owner.
    #[must_use]
    pub fn new(stores: &Stores, run: &StoredRun) -> Self {
        let (store, entries) = (Arc::clone(&stores.conversations), Mutex::default());
        let (key, writer) = (run.conversation_key(), run.writer());
        Self(Arc::new(RunLines { store, key, writer, entries }))
    }
}

impl std::fmt::Debug for RunJournal {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (key, writer) = (&self.0.key, &self.0.writer);
        let mut shown = formatter.debug_struct("RunJournal");
        shown.field("conversation", key).field("writer", writer).finish_non_exhaustive()
    }
}

impl RunLines {
    async fn append(&self, entry: JournalEntry) -> Result<(), StoreError> {
        let mut stored = Entry::new(now_ms()).line(entry.head());
        stored.messages.extend(entry.messages().iter().map(|message| Message::clone(message)));
        let mut entries = self.entries.lock().await;
        // Until the append returns, the number of entries is unknown.
        let at = match entries.take() {
            Some(at) => at,
            None => self.store.get(&self.key).await?.entries,
        };
        self.store.append(&self.key, at, stored, Some(&self.writer)).await?;
        *entries = Some(at + 1);
        Ok(())
    }

    async fn read(&self) -> Result<Vec<JournalLine>, StoreError> {
        let (mut lines, mut reader) = (Vec::new(), LineReader::new(&*self.store, &self.key));
        while let Some(page) = reader.read_page().await? {
            lines.extend(page.into_iter().map(StoredLine::into_line));
        }
        Ok(lines)
    }
}

impl Journal for RunJournal {
    fn append(&self, entry: &JournalEntry) -> JournalFuture<()> {
        let (lines, entry) = (Arc::clone(&self.0), entry.clone());
        Box::pin(async move { lines.append(entry).await.map_err(|error| failed(&error)) })
    }

    fn read(&self) -> JournalFuture<Vec<JournalLine>> {
        let lines = Arc::clone(&self.0);
        Box::pin(async move { lines.read().await.map_err(|error| failed(&error)) })
    }
}

fn failed(error: &StoreError) -> JournalError {
    JournalError::new(error.to_string())
}

#[cfg(test)]
mod tests {
    use forgeline_agent::Agent;
    use forgeline_llm::demo::DemoProvider;
    use forgeline_store::{ConversationRecord, LogKey, NodeId};

    use super::*;

    #[tokio::test]
    async fn a_node_that_has_lost_a_run_adds_nothing_to_its_journal() {
        let (stores, nodes) = (Stores::in_memory(), ["a", "b"].map(NodeId::new));
        let run = StoredRun::new(LogKey::new("team-a", "run_1"), "c1", "ann", "main", 1_000);
        let key = run.conversation_key();
        let record = ConversationRecord::new(key.clone(), "ann", "main", 1_000);
        stores.conversations.begin(record).await.unwrap();
        stores.runs.begin(run.clone(), Some(&nodes[0])).await.unwrap();
        let lost = RunJournal::new(&stores, &stores.runs.get(&run.key).await.unwrap());
        stores.runs.reap(&nodes[1]).await.unwrap();
        let taken = stores.runs.claim(&nodes[1], 1, 0).await.unwrap();
        let agent = Agent::builder(DemoProvider::new()).build().unwrap();
        let error = agent.conversation().with_journal(lost).run("Hi.").await.unwrap_err();
        assert!(error.to_string().contains("no longer holds"), "{error}");
        assert_eq!(stores.conversations.get(&key).await.unwrap().entries, 0);
        let own = RunJournal::new(&stores, &taken[0]);
        agent.conversation().with_journal(own.clone()).run("Hi.").await.unwrap();
        let record = stores.conversations.get(&key).await.unwrap();
        assert_eq!((record.messages, record.entries), (2, own.read().await.unwrap().len() as u64));
    }
}
