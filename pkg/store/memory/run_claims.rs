//! The owners of runs in memory: there is one node, and the runs of another one are those of an earlier service of this process.

use std::time::Duration;

use super::runs::RunTable;
use crate::{LogKey, NodeId, NodeNews, RunWriter, StoreError, StoredRun, ids::now_ms};

/// Maximum number of runs that are reaped at a time.
const MAX_REAPED: usize = 1_000;

/// Returns `true` for a run that a node may claim at this time, if it knows its state.
fn is_free(run: &StoredRun, now_ms: u64) -> bool {
    let is_due = run.not_before_ms.is_none_or(|at_ms| at_ms <= now_ms);
    run.node.is_none() && !run.progress.has_ended() && is_due
}

impl RunTable {
    pub(super) fn claim(&mut self, node: &NodeId, most: usize, version: u32) -> Vec<StoredRun> {
        let (mut claimed, now_ms) = (Vec::new(), now_ms());
        for key in &self.order {
            let Some(run) = self.all.get_mut(key) else { continue };
            if claimed.len() >= most {
                break;
            }
            if is_free(run, now_ms) && run.version <= version {
                (run.node, run.not_before_ms) = (Some(node.clone()), None);
                (run.epoch, run.version) = (run.epoch + 1, version);
                claimed.push(run.clone());
            }
        }
        claimed
    }

    pub(super) fn reap(&mut self, node: &NodeId) -> Vec<LogKey> {
        let mut reaped = Vec::new();
        for key in &self.order {
            let Some(run) = self.all.get_mut(key) else { continue };
            let is_anothers = run.node.as_ref().is_some_and(|owner| owner != node);
            if reaped.len() < MAX_REAPED && is_anothers && !run.progress.has_ended() {
                run.node = None;
                (run.epoch, run.takeovers) = (run.epoch + 1, run.takeovers + 1);
                reaped.push(key.clone());
            }
        }
        reaped
    }

    pub(super) fn release(&mut self, writer: &RunWriter, wait: Duration) -> Result<(), StoreError> {
        let run = self.writable(writer)?;
        let wait_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
        run.not_before_ms = (wait_ms > 0).then(|| now_ms().saturating_add(wait_ms));
        (run.node, run.epoch, run.takeovers) = (None, run.epoch + 1, 0);
        Ok(())
    }

    pub(super) fn news(&self, node: &NodeId) -> NodeNews {
        let (mut news, now_ms) = (NodeNews::new(0, false), now_ms());
        for run in self.all.values().filter(|run| !run.progress.has_ended()) {
            news.owned += u64::from(run.node.as_ref() == Some(node));
            let is_anothers = run.node.as_ref().is_some_and(|owner| owner != node);
            news.has_more |= is_anothers || is_free(run, now_ms);
        }
        news
    }

    pub(super) fn owned(&self, node: &NodeId) -> Vec<RunWriter> {
        let runs = self.order.iter().filter_map(|key| self.all.get(key));
        let is_its =
            |run: &&StoredRun| run.node.as_ref() == Some(node) && !run.progress.has_ended();
        runs.filter(is_its).map(StoredRun::writer).collect()
    }

    /// Returns a run that has not ended, if its owner is this writer.
    pub(super) fn writable(&mut self, writer: &RunWriter) -> Result<&mut StoredRun, StoreError> {
        let run = self.all.get_mut(&writer.run).ok_or_else(|| StoreError::no_run(&writer.run))?;
        writer.check(run.epoch)?;
        if run.progress.has_ended() {
            return Err(StoreError::run_ended(&writer.run));
        }
        Ok(run)
    }

    /// Checks that a writer, if there is one, owns its run. A run that is not in the table has no owner to compare.
    pub(super) fn check_writer(&self, writer: Option<&RunWriter>) -> Result<(), StoreError> {
        let known = writer.and_then(|writer| Some((writer, self.all.get(&writer.run)?)));
        known.map_or(Ok(()), |(writer, run)| writer.check(run.epoch))
    }
}
