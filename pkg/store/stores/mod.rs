//! The stores of a service.

pub(crate) mod erase;

use std::{fmt, sync::Arc};

use crate::{
    AuditStore, CommandStore, ConversationStore, EventLog, LatencyStore, NotificationChannel,
    RunStore,
};

/// The stores of a service: one per purpose, possibly of different engines. Runs, their events, conversations and commands belong in one engine where
/// several nodes share them: an engine that does not have the runs cannot tell whether a [`RunWriter`](crate::RunWriter) still holds.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use forgeline::store::{InMemoryLog, Stores};
///
/// let mut stores = Stores::in_memory();
/// stores.log = Arc::new(InMemoryLog::new());
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct Stores {
    /// The events of runs.
    pub log: Arc<dyn EventLog>,
    /// Conversations.
    pub conversations: Arc<dyn ConversationStore>,
    /// Runs.
    pub runs: Arc<dyn RunStore>,
    /// The commands of runs.
    pub commands: Arc<dyn CommandStore>,
    /// Notifications.
    pub notifications: Arc<dyn NotificationChannel>,
    /// The latency records.
    pub latency: Arc<dyn LatencyStore>,
    /// The acts and refusals.
    pub audit: Arc<dyn AuditStore>,
}

impl Stores {
    /// Returns the stores of an engine that implements all of them.
    #[must_use]
    pub fn of<S>(engine: S) -> Self
    where
        S: EventLog
            + ConversationStore
            + RunStore
            + CommandStore
            + NotificationChannel
            + LatencyStore
            + AuditStore,
    {
        let engine = Arc::new(engine);
        Self {
            log: engine.clone(),
            conversations: engine.clone(),
            runs: engine.clone(),
            commands: engine.clone(),
            notifications: engine.clone(),
            latency: engine.clone(),
            audit: engine,
        }
    }
}

impl fmt::Debug for Stores {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Stores").finish_non_exhaustive()
    }
}
