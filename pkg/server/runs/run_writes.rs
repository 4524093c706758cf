//! The writes of a run in the stores, each with the right of this process to write it.

use std::time::Duration;

use super::run::{RunEnding, RunPhase, ServiceRun, end_record};
use crate::{
    encode::{RunEnd, RunStatus},
    journal::{LogProgress, run_fence::is_setback},
};
use forgeline_store::{
    EventLog, LogRecord, RunChange, RunProgress, StoreError, Stores, private::now_ms,
};
use forgeline_types::{AgentError, UsageInfo};
use tokio::time::timeout;

/// Maximum wait for the end of a run to be written, which is three statements.
const END_WAIT: Duration = Duration::from_secs(10);

/// The time in which the end of a run is written; over on drop.
struct EndGuard<'r>(&'r ServiceRun);

impl<'r> EndGuard<'r> {
    fn new(run: &'r ServiceRun) -> Self {
        run.is_ending.send_replace(true);
        Self(run)
    }
}

impl Drop for EndGuard<'_> {
    fn drop(&mut self) {
        self.0.is_ending.send_replace(false);
    }
}

/// The time for which a run whose store is full is not claimed: each claim may ask its model again.
const PAUSE_FOR_ROOM: Duration = Duration::from_secs(15);

impl ServiceRun {
    /// Reports the end of a run: in its log, or separately if the log does not accept it. Returns `None` if another process has taken the run.
    pub(crate) async fn log_end(&self, stores: &Stores, ending: RunEnding) -> Option<RunEnd> {
        let RunEnding { mut end, failed, .. } = ending;
        if let Some(error) = &failed {
            tracing::error!(%error, run_id = self.id(), "a run ended because its events cannot be stored");
        }
        self.report(stores, &mut end).await;
        (!self.fence.is_lost()).then_some(end)
    }

    /// Records an end in the log and in the store, and tells readers if the log does not accept it.
    async fn report(&self, stores: &Stores, end: &mut RunEnd) {
        let _ending = EndGuard::new(self);
        let closed = self.close(&*stores.log, end).await;
        if let Err(error) = &closed
            && stores.runs.is_shared()
            && is_setback(error)
        {
            self.fence.lose(error);
        }
        if !self.fence.is_lost() {
            self.finish(stores, end.clone()).await;
        }
        if let Err(error) = closed.as_ref()
            && !self.fence.is_lost()
        {
            self.announce_end_not_logged(&*stores.log, error).await;
        }
    }

    pub(super) async fn append(
        &self,
        log: &dyn EventLog,
        at: u64,
        records: Vec<LogRecord>,
    ) -> Result<(), StoreError> {
        let writer = Some(self.fence.writer());
        self.fence.noted(log.append(&self.key, at, records, writer).await)
    }

    async fn close_log(&self, log: &dyn EventLog) -> Result<(), StoreError> {
        self.fence.noted(log.close(&self.key, Some(self.fence.writer())).await)
    }

    /// Tells readers that the run has ended, although its log may lack the end; otherwise they would wait forever.
    async fn announce_end_not_logged(&self, log: &dyn EventLog, why: &StoreError) {
        tracing::error!(error = %why, run_id = self.id(), "the end of a run could not be stored");
        if let Err(error) = self.close_log(log).await {
            tracing::error!(%error, run_id = self.id(), "the log of a run could not be closed");
        }
        self.end_not_logged.cancel();
    }

    /// Leaves the run to another process: its log has no end yet, and work in progress is repeated there or reported as interrupted. On a shared store,
    /// another node may claim the run at once.
    pub(crate) async fn put_away(
        &self,
        stores: &Stores,
        log_progress: &LogProgress,
    ) -> Option<RunEnding> {
        self.begin_move();
        log_progress.end(self.id());
        let at = *self.kept.lock().await;
        self.keep(stores, RunChange::to(at, now_ms()).is_put_away(true)).await;
        if stores.runs.is_shared() && !self.fence.is_lost() {
            let released = stores.runs.release(self.fence.writer(), Duration::ZERO).await;
            if let Err(error) = released {
                tracing::warn!(%error, run_id = self.id(), "a run is taken over once this node is dead");
            }
            self.fence.release();
        }
        tracing::info!(run_id = self.id(), "a run is left for another process");
        None
    }

    /// Leaves a run whose shared store is full to any node, after a pause. That it had no room is not counted as the death of a process.
    pub(crate) async fn wait_for_room(&self, stores: &Stores) {
        let (writer, at) = (self.fence.writer(), *self.kept.lock().await);
        // Both are small, and may fit where an event did not; otherwise the run is freed once its node finds that it is not held.
        let put_away = RunChange::to(at, now_ms()).is_put_away(true);
        let changed = stores.runs.change(writer, put_away).await;
        let released = stores.runs.release(writer, PAUSE_FOR_ROOM).await;
        match changed.and(released) {
            Ok(()) => tracing::warn!(run_id = self.id(), "a run waits until the store has room"),
            Err(error) => tracing::warn!(%error, run_id = self.id(), "a run is given back later"),
        }
    }

    /// Executes no more commands: the requests that it waits for are about to be closed here, and are opened again by whoever continues it.
    pub(crate) fn begin_move(&self) {
        self.commands.ends().cancel();
    }

    /// Returns `true` for a run that executes no more commands here and has not ended: its next owner does, or its end answers them.
    pub(crate) fn is_moving(&self) -> bool {
        self.commands.ends().is_cancelled() && !self.has_ended()
    }

    /// Stores that the run has come to this state.
    pub(crate) async fn keep_progress(&self, stores: &Stores, progress: RunProgress) {
        let mut kept = self.kept.lock().await;
        self.keep(stores, RunChange::to(progress, now_ms())).await;
        *kept = progress;
    }

    /// Stores whether the run waits for a person or the client, for readers on other nodes.
    pub(super) async fn show_waiting(&self, stores: &Stores, waits: bool) {
        let progress = if waits { RunProgress::Waiting } else { RunProgress::Running };
        if *self.kept.lock().await != progress {
            self.keep_progress(stores, progress).await;
        }
    }

    /// Records the end of the run.
    async fn finish(&self, stores: &Stores, end: RunEnd) {
        let progress = match end.status {
            RunStatus::Completed => RunProgress::Completed,
            RunStatus::Failed => RunProgress::Failed,
            RunStatus::Cancelled => RunProgress::Cancelled,
            RunStatus::Interrupted => RunProgress::Interrupted,
        };
        let json = serde_json::to_string(&end).unwrap_or_default();
        let change = RunChange::to(progress, now_ms()).end(json).usage(end.usage);
        // A reader that sees the end finds it after a restart, too.
        let kept = self.try_keep(stores, change).await;
        if let Err(error) = kept
            && stores.runs.is_shared()
            && !matches!(error, StoreError::Ended { .. } | StoreError::NotFound { .. })
        {
            // For the other nodes the run is open: it goes on where it was.
            return self.fence.lose(&error);
        }
        self.set(RunPhase::Ended(Box::new(end)));
        self.recovery.finish_recovery();
    }

    /// Lets go of a run that another process has taken: its readers here follow the log.
    pub(crate) fn leave_to_another(&self) {
        self.frames.end();
        self.recovery.finish_recovery();
    }

    /// Returns the progress known to the store; it does not change while the guard is held, unless the run ends.
    pub(crate) async fn kept_progress(&self) -> tokio::sync::MutexGuard<'_, RunProgress> {
        self.kept.lock().await
    }

    /// Stores the state of the run. If that fails, the log still has the end.
    pub(crate) async fn keep(&self, stores: &Stores, change: RunChange) {
        drop(self.try_keep(stores, change).await);
    }

    async fn try_keep(&self, stores: &Stores, change: RunChange) -> Result<(), StoreError> {
        let writer = self.fence.writer();
        if self.fence.is_lost() {
            return Err(StoreError::fenced(writer.run.name.clone(), writer.epoch));
        }
        let changed = self.fence.noted(stores.runs.change(writer, change).await);
        if let Err(error) = &changed {
            tracing::error!(%error, run_id = self.id(), "the state of a run could not be stored");
        }
        changed
    }

    /// Ends a run that cannot continue, also in its log, which contains `events` events with the token usage `used`.
    pub(crate) async fn interrupt(
        &self,
        stores: &Stores,
        (events, used): (u64, Option<UsageInfo>),
        why: AgentError,
    ) {
        let mut end = RunEnd::new(self.key.name.clone(), events, RunStatus::Interrupted);
        (end.error, end.usage) = (Some(why), used);
        self.report(stores, &mut end).await;
    }

    /// Waits for a limited time while the end of the run is written: whoever has read it in the log finds a run that has ended.
    pub(crate) async fn settled(&self) {
        let mut is_ending = self.is_ending.subscribe();
        // The sender is alive, so that only the limit can end the wait early.
        drop(timeout(END_WAIT, is_ending.wait_for(|is_ending| !is_ending)).await);
    }

    /// Records the end that the log already contains.
    pub(crate) async fn finish_logged(&self, stores: &Stores, end: RunEnd) {
        if let Err(error) = self.close_log(&*stores.log).await {
            tracing::error!(%error, run_id = self.id(), "the log of a run could not be closed");
        }
        self.finish(stores, end).await;
    }

    /// Appends the end to the log, and closes the log. The end is short, and may fit where an event did not.
    async fn close(&self, log: &dyn EventLog, end: &mut RunEnd) -> Result<(), StoreError> {
        let mut appended = self.append(log, end.seq, vec![end_record(end)]).await;
        // Events whose outcome was unknown have been stored.
        if let Err(StoreError::Behind { end: there, .. }) = &appended
            && *there > end.seq
        {
            end.seq = *there;
            appended = self.append(log, end.seq, vec![end_record(end)]).await;
        }
        appended?;
        self.close_log(log).await
    }
}
