//! Runs whose agent this node does not have: another one may, while the nodes of a service get a new version one by one.

use std::time::Duration;

use super::RunLifecycle;
use crate::input::stored_input::{self, StoredInput};
use forgeline_store::{RunChange, StoreError, StoredRun, private::now_ms};
use forgeline_types::AgentError;

/// The time for which a run is not claimed after a node without its agent has claimed it.
const PAUSE: Duration = Duration::from_secs(5);

/// Maximum number of claims in a row by nodes without the agent of a run: at least 10 minutes, by the clock of the store.
pub(crate) const MAX_PASSES: u32 = 120;

impl RunLifecycle {
    /// Gives a run back whose agent this node does not have. Returns the error with which it ends instead once too many nodes in a row did not have it.
    pub(super) async fn pass_on(&self, record: &StoredRun, why: AgentError) -> Option<AgentError> {
        let passes = StoredInput::read(record).passes() + 1;
        if passes > MAX_PASSES {
            let minutes = (PAUSE * MAX_PASSES).as_secs() / 60;
            let message =
                format!("{}, and no other node has had it for {minutes} minutes", why.message);
            return Some(AgentError::new(why.code, message));
        }
        tracing::info!(%why, run_id = %record.key.name, passes, "a run is left to a node that has its agent");
        if let Err(error) = self.try_pass_on(record, passes).await {
            tracing::warn!(%error, run_id = %record.key.name, "a run is given back later");
        }
        None
    }

    async fn try_pass_on(&self, record: &StoredRun, passes: u32) -> Result<(), StoreError> {
        let note = stored_input::passes_note(passes);
        let note = note.map_err(|error| StoreError::corrupt(error.to_string()))?;
        let (writer, change) = (record.writer(), RunChange::to(record.progress, now_ms()));
        self.stores.runs.change(&writer, change.note(note)).await?;
        self.stores.runs.release(&writer, PAUSE).await
    }

    /// Records that this node works on a run, which others have passed on before.
    pub(super) async fn forget_passes(&self, record: &StoredRun) {
        if StoredInput::read(record).passes() == 0 {
            return;
        }
        let change = RunChange::to(record.progress, now_ms()).without_note(stored_input::PASSES);
        if let Err(error) = self.stores.runs.change(&record.writer(), change).await {
            tracing::warn!(%error, run_id = %record.key.name, "a note of a run could not be removed");
        }
    }
}
