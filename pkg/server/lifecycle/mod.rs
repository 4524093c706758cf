//! The life of runs: their start, what they receive while they work, and their recovery after a restart.

pub(super) mod acts;
pub(super) mod ag_ui_acts;
pub(super) mod chat_acts;
mod claims;
pub(super) mod command_tasks;
mod comparison;
mod left_commands;
pub(super) mod membership;
mod passed_on;
pub(super) mod recover;
mod resumption;
mod run_log;
pub(super) mod run_turn;
pub(super) mod start;
pub(super) mod steering;
mod ticks;
pub(super) mod user_messages;

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use tokio_util::task::TaskTracker;

use self::membership::NodeMembership;
use super::{
    access::usage::ServiceUsage,
    audit::AuditTrail,
    conversations::directory::ConversationDirectory,
    metrics::{ServiceMetrics, latency_records::LatencyRecords, node_counts::NodeCounts},
    retention::DataRetention,
    runs::{directory::RunDirectory, event_batches::LeaveSignals, slots::RunSlots},
};
use forgeline_store::{NodeId, Stores};

/// The version of the state of runs that this version of the service writes: a node that knows an earlier one alone cannot continue them.
const STATE_VERSION: u32 = 1;

/// Starts, drives, steers and recovers runs.
pub(crate) struct RunLifecycle {
    /// The owner of the runs of this process.
    pub(super) node: NodeId,
    pub(super) stores: Stores,
    pub(super) runs: Arc<RunDirectory>,
    pub(super) conversations: Arc<ConversationDirectory>,
    pub(super) places: Arc<RunSlots>,
    pub(super) usage: Arc<ServiceUsage>,
    pub(super) metrics: Arc<ServiceMetrics>,
    pub(super) records: Arc<LatencyRecords>,
    pub(super) audit: Arc<AuditTrail>,
    pub(super) retention: Arc<DataRetention>,
    pub(super) tasks: TaskTracker,
    /// The signals on which runs are suspended.
    pub(super) leave: LeaveSignals,
    /// The state of this process as one of several nodes.
    pub(super) membership: NodeMembership,
}

impl RunLifecycle {
    pub(crate) fn runs(&self) -> &RunDirectory {
        &self.runs
    }

    pub(crate) fn places(&self) -> &RunSlots {
        &self.places
    }

    pub(crate) fn membership(&self) -> &NodeMembership {
        &self.membership
    }

    /// Returns the numbers of this node to report; `None` before it has begun.
    pub(crate) fn reported(&self) -> Option<&NodeCounts> {
        let counts = self.membership.reported()?;
        counts.notify_late.store(self.stores.log.late_records(), Ordering::Relaxed);
        Some(counts)
    }

    /// Returns `true` once no more runs start.
    pub(crate) fn is_ending(&self) -> bool {
        self.tasks.is_closed()
    }

    /// Starts no more runs, waits for the active ones, and suspends or cancels those that have not ended after `grace`. On a shared store, runs that wait
    /// are suspended at once, and each is released, so that another node claims it; this node is alive until then.
    pub(crate) async fn shutdown(&self, grace: Duration) {
        self.tasks.close();
        self.places.close();
        if self.stores.runs.is_shared() {
            self.leave.waiting.cancel();
        }
        if tokio::time::timeout(grace, self.tasks.wait()).await.is_err() {
            if self.stores.runs.outlives_process() {
                self.leave.all.cancel();
            } else {
                self.runs.active().all().iter().for_each(|run| run.cancel.cancel());
            }
            self.tasks.wait().await;
        }
        self.membership.end();
    }
}
