//! Words for a run that goes on: each is kept until the journal of the run has it.

use std::sync::Arc;

use axum::http::StatusCode;

use super::{Problem, Service, client_tools, run::Run, words::Word};
use crate::store::{RunChange, StoreError, now_ms};

/// Most bytes of a run's input together with what was said since and is not in its journal.
const MAX_KEPT_BYTES: usize = 16 << 20;

impl Service {
    /// Gives a run a word, once it is kept: a process that goes on with the run says it again, if the journal does not have it.
    pub(super) async fn steer(&self, run: &Run, word: Word) -> Result<(), Problem> {
        let (runs, key) = (Arc::clone(&self.stores().runs), &run.key);
        let progress = run.kept_progress().await;
        let over = || Problem::not_found("open run", run.id());
        let record = runs.get(key).await?;
        // One that has ended meanwhile keeps no input.
        let before = record.input.clone().ok_or_else(over)?;
        let journaled = self.journal_of(&record).journaled(run.id());
        let kept = client_tools::keep_word(&before, word.clone(), journaled.words);
        let damaged = || StoreError::Corrupt { reason: "the input of a run is damaged".to_owned() };
        let kept = kept.ok_or_else(damaged)?;
        if kept.len() > MAX_KEPT_BYTES.max(before.len()) {
            let detail = "what was said to the run and waits for it has more than 16 MiB; send it when that was delivered";
            return Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too_much_waits", detail));
        }
        let change = |input: String| RunChange::to(*progress, now_ms()).input(input);
        match runs.change(key, change(kept)).await {
            Err(StoreError::Ended { .. }) => return Err(over()),
            changed => changed?,
        }
        if let Err(refused) = word.say(&run.steering) {
            // It was not taken, and is not to be said by the next process.
            match runs.change(key, change(before)).await {
                Ok(()) | Err(StoreError::Ended { .. }) => {}
                Err(error) => {
                    tracing::error!(%error, run_id = run.id(), "a word could not be taken back");
                }
            }
            return Err(refused.into());
        }
        Ok(())
    }
}
