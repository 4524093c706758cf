//! The life of nodes: a session that holds a lock, and a beat.

use std::{collections::HashMap, sync::Arc, time::Duration};

use tokio::sync::Mutex;
use tokio_postgres::{Client, Row};

use super::{
    dial::Dialer,
    errors::StatementFailure,
    free_runs::{free_runs, is_dead, lost_runs},
    setup::LifeTimes,
    values::{column, count, values},
};
use crate::{
    NodeId, NodeNews, ScopeConnections, StoreError,
    integers::{int, number},
    time_limit::within,
};

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

/// Records that a node is alive. Argument: what else changes.
macro_rules! beat {
    ($more:literal) => {
        concat!(
            "UPDATE forgeline.node SET beat_at = clock_timestamp(), until = clock_timestamp() + $2 * interval '1 millisecond', has_lock = $3",
            $more,
            " WHERE id = $1 RETURNING session_at"
        )
    };
}

const BEAT: &str = beat!("");

/// Records that a node is alive and what scopes hold there, if that is known, and tells it of its runs, of those that it may reap or claim, and of what scopes
/// hold at other nodes that are alive, so that an idle node has one statement a second.
const BEAT_WITH_NEWS: &str = concat!(
    "WITH beaten AS (",
    beat!(", held_scopes = coalesce($6, held_scopes), held_counts = coalesce($7, held_counts)"),
    ") SELECT (SELECT count(*) FROM forgeline.run WHERE node = $1 AND ended_ms IS NULL), EXISTS (SELECT ",
    free_runs!(),
    ") OR session_at <= clock_timestamp() - $4 * interval '1 millisecond' AND EXISTS (SELECT ",
    lost_runs!("$1", "$5"),
    "), elsewhere.scopes, elsewhere.counts FROM beaten, (
        SELECT array_agg(scope) AS scopes, array_agg(count) AS counts FROM (
            SELECT held.scope, sum(held.count)::bigint AS count
            FROM forgeline.node, unnest(node.held_scopes, node.held_counts) AS held (scope, count)
            WHERE node.id <> $1 AND NOT ",
    is_dead!("$5"),
    " GROUP BY held.scope) AS held) AS elsewhere"
);

/// The connections of scopes at other nodes, where they are known.
type Elsewhere = Option<Vec<ScopeConnections>>;

/// The use of a beat.
#[derive(Debug, Clone, Copy)]
pub(super) enum BeatUse<'b> {
    /// The node learns nothing; it asks the next statement.
    Alone,
    /// The node learns of its runs, and says what scopes hold there, if it knows.
    ForNews(Option<&'b [ScopeConnections]>),
}

/// The sessions of the nodes of this process.
pub(super) struct NodeSessions {
    dialer: Arc<Dialer>,
    /// `true` if a session keeps its locks.
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

    /// Records that a node is alive; begins its session if it has none, and anew if it was cut.
    pub(super) async fn beat(
        &self,
        node: &NodeId,
        times: LifeTimes,
        usage: BeatUse<'_>,
    ) -> Result<(NodeNews, Elsewhere), StoreError> {
        within(async {
            match self.beat_once(node, times, usage).await {
                Err(StatementFailure::Lost(_)) => self.beat_once(node, times, usage).await,
                done => done,
            }
            .map_err(StatementFailure::into_error)
        })
        .await
    }

    async fn beat_once(
        &self,
        node: &NodeId,
        times: LifeTimes,
        usage: BeatUse<'_>,
    ) -> Result<(NodeNews, Elsewhere), StatementFailure> {
        let good_for = int_ms(times.beat);
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
        let news = session.beat(node, times, usage).await?;
        sessions.insert(node.clone(), session);
        Ok(news)
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

impl NodeSession {
    async fn beat(
        &self,
        node: &NodeId,
        times: LifeTimes,
        usage: BeatUse<'_>,
    ) -> Result<(NodeNews, Elsewhere), StatementFailure> {
        let (id, has_lock, good_for) = (node.as_str(), self.has_lock, int_ms(times.beat));
        if let BeatUse::ForNews(held) = usage {
            let (settled, silent) = (int_ms(times.settled), int_ms(times.silent));
            let scopes: Option<Vec<&str>> =
                held.map(|held| held.iter().map(|it| it.scope.as_str()).collect());
            let counts: Option<Vec<i64>> =
                held.map(|held| held.iter().map(|it| int(it.count)).collect());
            let values = values![id, good_for, has_lock, settled, silent, scopes, counts];
            match self.client.query_typed(BEAT_WITH_NEWS, values).await {
                Ok(rows) => return news(&rows),
                Err(error) => match StatementFailure::of(&error) {
                    lost @ StatementFailure::Lost(_) => return Err(lost),
                    // The node is alive, although the runs cannot be read: they are locked.
                    StatementFailure::Again(_) | StatementFailure::Refused(_) => {}
                },
            }
        }
        let rows = self.client.query_typed(BEAT, values![id, good_for, has_lock]).await;
        let rows = rows.map_err(|error| StatementFailure::of(&error))?;
        rows.first().map(|_| (NodeNews::new(0, true), None)).ok_or_else(forgotten)
    }
}

/// Returns the news in the row of a beat.
fn news(rows: &[Row]) -> Result<(NodeNews, Elsewhere), StatementFailure> {
    let row = rows.first().ok_or_else(forgotten)?;
    let read = || {
        let scopes = column::<Option<Vec<&str>>>(row, 2)?.unwrap_or_default();
        let counts = column::<Option<Vec<i64>>>(row, 3)?.unwrap_or_default();
        let held = scopes.into_iter().zip(counts);
        let elsewhere = held.map(|(scope, count)| ScopeConnections::new(scope, number(count)));
        let news = NodeNews::new(count(row, 0)?, column(row, 1)?);
        Ok((news, Some(elsewhere.collect())))
    };
    read().map_err(StatementFailure::Refused)
}

/// Returns the failure of a beat whose row was deleted; the next one begins again.
fn forgotten() -> StatementFailure {
    StatementFailure::Lost("the node was forgotten".to_owned())
}

/// Returns a duration in milliseconds.
pub(super) fn int_ms(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}
