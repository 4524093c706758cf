//! The life of nodes: a session that holds a lock, and a beat.

use std::{collections::HashMap, sync::Arc, time::Duration};

use tokio::sync::Mutex;
use tokio_postgres::Client;

use super::{
    PostgresStore,
    dial::Dialer,
    errors::StatementFailure,
    run_claims::int_ms,
    values::{column, values},
};
use crate::{NodeId, StoreError, time_limit::within};

/// Maximum number of nodes in a process; one is usual.
const MAX_NODES: usize = 16;

/// Begins the session of a node.
const BEGIN: &str = "
INSERT INTO forgeline.node AS node (id, session_at, has_lock, beat_at, until)
VALUES ($1, clock_timestamp(), false, clock_timestamp(), clock_timestamp() + $2 * interval '1 millisecond')
ON CONFLICT (id) DO UPDATE SET session_at = EXCLUDED.session_at, has_lock = false, beat_at = EXCLUDED.beat_at,
    until = EXCLUDED.until
RETURNING lock_key";

const LOCK: &str = "SELECT pg_try_advisory_lock(1718579820, $1)";

const BEAT: &str = "UPDATE forgeline.node SET beat_at = clock_timestamp(), \
     until = clock_timestamp() + $2 * interval '1 millisecond', has_lock = $3 WHERE id = $1 RETURNING 1";

/// The times after which nodes count as dead. Those of tests are shorter.
#[derive(Debug, Clone, Copy)]
pub(super) struct LifeTimes {
    /// The time for which a beat is good.
    pub(super) beat: Duration,
    /// The silence after which a node whose lock is free is dead.
    pub(super) silent: Duration,
    /// The age of a session from which on its node takes runs away from others.
    pub(super) settled: Duration,
}

impl Default for LifeTimes {
    fn default() -> Self {
        let [beat, silent, settled] = [10, 2, 10].map(Duration::from_secs);
        Self { beat, silent, settled }
    }
}

/// The sessions of the nodes of this process.
pub(super) struct NodeSessions {
    dialer: Arc<Dialer>,
    /// Whether a session keeps a lock.
    keeps_locks: bool,
    sessions: Mutex<HashMap<NodeId, NodeSession>>,
}

struct NodeSession {
    client: Client,
    lock_key: i32,
    has_lock: bool,
}

impl NodeSessions {
    pub(super) fn new(dialer: Arc<Dialer>, keeps_locks: bool) -> Self {
        Self { dialer, keeps_locks, sessions: Mutex::default() }
    }

    /// Records that a node is alive; begins its session if it has none.
    async fn beat(&self, node: &NodeId, good_for: i64) -> Result<(), StatementFailure> {
        let mut sessions = self.sessions.lock().await;
        // Removed first: a session whose statement was given up is not used again.
        let session = sessions.remove(node).filter(|session| !session.client.is_closed());
        let mut session = match session {
            Some(session) => session,
            None if sessions.len() >= MAX_NODES => {
                let reason = format!("a process has at most {MAX_NODES} nodes");
                return Err(StatementFailure::Refused(StoreError::full(reason)));
            }
            None => self.begin(node, good_for).await?,
        };
        if self.keeps_locks && !session.has_lock {
            let rows = session.client.query_typed(LOCK, values![session.lock_key]).await;
            let rows = rows.map_err(|error| StatementFailure::of(&error))?;
            session.has_lock = rows.first().is_some_and(|row| column(row, 0).unwrap_or(false));
        }
        let (id, has_lock) = (node.as_str(), session.has_lock);
        let rows = session.client.query_typed(BEAT, values![id, good_for, has_lock]).await;
        if rows.map_err(|error| StatementFailure::of(&error))?.is_empty() {
            // The row was deleted; the next beat begins again.
            return Err(StatementFailure::Lost("the node was forgotten".to_owned()));
        }
        sessions.insert(node.clone(), session);
        Ok(())
    }

    async fn begin(&self, node: &NodeId, good_for: i64) -> Result<NodeSession, StatementFailure> {
        let client = self.dialer.dial(|_| {}).await?;
        let id = node.as_str();
        let rows = client.query_typed(BEGIN, values![id, good_for]).await;
        let rows = rows.map_err(|error| StatementFailure::of(&error))?;
        let lock_key = rows.first().map(|row| column(row, 0)).transpose();
        let lock_key = lock_key.map_err(StatementFailure::Refused)?.unwrap_or_default();
        Ok(NodeSession { client, lock_key, has_lock: false })
    }

    /// Ends all sessions.
    pub(super) fn close(&self) {
        if let Ok(mut sessions) = self.sessions.try_lock() {
            sessions.clear();
        }
    }
}

impl PostgresStore {
    pub(super) async fn beat_node(&self, node: &NodeId) -> Result<(), StoreError> {
        let good_for = int_ms(self.0.times.beat);
        within(async {
            match self.0.nodes.beat(node, good_for).await {
                // A session that was cut is begun anew at once.
                Err(StatementFailure::Lost(_)) => self.0.nodes.beat(node, good_for).await,
                done => done,
            }
            .map_err(StatementFailure::into_error)
        })
        .await
    }
}
