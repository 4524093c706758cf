//! Stores in memory, for a single process.

mod audit;
mod audit_store;
mod command_store;
mod conversation_store;
mod conversations;
mod latency;
mod latency_store;
mod locks;
mod log;
mod log_reader;
mod log_table;
mod notification_channel;
mod notifications;
mod provider_profiles;
mod reader_wakers;
mod run_claims;
mod run_commands;
mod run_store;
mod runs;
mod scopes;
mod secret_rows;
mod secret_table;
mod stored_log;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

pub use self::log::InMemoryLog;
use self::{
    audit::ScopeAudit, conversations::ConversationTable, latency::ScopeLatency,
    notifications::ScopeNotifications, runs::RunTable, secret_table::SecretTable,
};
use super::{Stores, command_waits::CommandWaits};
use forgeline_types::Text;

/// Conversations, runs with their commands, notifications, latency records and audit rows in memory, for a single process: the data is lost with the process.
///
/// Keeps the last 1,000 conversations and the last 1,000 ended runs of each scope, and 10,000 of each in total: beyond that, the largest scope loses one.
/// A conversation with a run that has not ended is kept.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use forgeline::{
///     store::{ConversationRecord, ConversationKey, ConversationStore, Entry, InMemoryStore},
///     types::Message,
/// };
///
/// let (store, key) = (InMemoryStore::new(), ConversationKey::new("team-a", "c1"));
/// store.begin(ConversationRecord::new(key.clone(), "ann", "main", 1_000)).await?;
/// store.append(&key, 0, Entry::new(1_001).message(Message::user("Hi.")), None).await?;
/// assert_eq!(store.messages(&key, 0, 10).await?[0].message.text(), "Hi.");
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default)]
pub struct InMemoryStore(Arc<MemoryTables>);

#[derive(Debug, Default)]
struct MemoryTables {
    conversations: Mutex<ConversationTable>,
    /// Shared with the log, which looks up who owns a run.
    runs: Arc<Mutex<RunTable>>,
    notifications: Mutex<HashMap<Text, ScopeNotifications>>,
    latency: Mutex<HashMap<Text, ScopeLatency>>,
    secrets: Mutex<SecretTable>,
    audit: Mutex<HashMap<Text, ScopeAudit>>,
    profiles: Mutex<HashMap<Text, (String, u64)>>,
    waits: CommandWaits,
}

impl InMemoryStore {
    /// Returns an empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

impl Stores {
    /// Returns stores in memory, which are lost with the process.
    #[must_use]
    pub fn in_memory() -> Self {
        let store = Arc::new(InMemoryStore::new());
        Self {
            log: Arc::new(InMemoryLog::beside(&store.0.runs)),
            conversations: store.clone(),
            runs: store.clone(),
            commands: store.clone(),
            notifications: store.clone(),
            latency: store.clone(),
            audit: store,
        }
    }
}
