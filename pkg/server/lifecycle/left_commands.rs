//! The commands that a run which goes no further has not answered.

use super::{RunLifecycle, steering::RunNotes};
use crate::{
    Problem,
    commands::{
        act::{RunAct, SentAct},
        outcome::{ActOutcome, CommandAnswer},
    },
    input::{pending::QueuedMessage, stored_input::StoredInput},
    journal::run_fence::is_outage,
    runs::run::ServiceRun,
};
use forgeline_store::{StoreError, StoredCommand, StoredRun};

/// Maximum number of commands read at a time.
const PAGE: usize = 4;

impl RunLifecycle {
    /// Answers the commands of a run that was claimed and goes no further, since their senders may have had 202 for them. Returns the record
    /// of the run with the messages of the user that they sent, for its conversation; `None` if the run has to be ended later, because the store fails.
    pub(super) async fn settle_commands(&self, record: &StoredRun) -> Option<StoredRun> {
        if !self.stores.runs.is_shared() {
            return Some(record.clone());
        }
        match self.try_settle_commands(record).await {
            Ok(settled) => Some(settled),
            Err(error) => {
                tracing::warn!(%error, run_id = %record.key.name, "the commands of a run were not answered");
                (!is_outage(&error)).then(|| record.clone())
            }
        }
    }

    async fn try_settle_commands(&self, record: &StoredRun) -> Result<StoredRun, StoreError> {
        let (run, mut next) = (ServiceRun::claimed(record), 0);
        loop {
            let found = self.stores.commands.unanswered(&run.key, next, PAGE).await?;
            if found.is_empty() {
                return if next == 0 {
                    Ok(record.clone())
                } else {
                    self.stores.runs.get(&run.key).await
                };
            }
            for stored in found {
                let answer = self.answer_left(&run, &stored).await?;
                let writer = run.fence().writer();
                match self.stores.commands.answer(writer, stored.number, answer).await {
                    Ok(()) | Err(StoreError::Exists { .. }) => next = stored.number + 1,
                    Err(error) => return Err(error),
                }
            }
        }
    }

    /// Returns the answer to a command of a run that goes no further.
    async fn answer_left(
        &self,
        run: &ServiceRun,
        stored: &StoredCommand,
    ) -> Result<String, StoreError> {
        let Ok(sent) = serde_json::from_str::<SentAct>(&stored.command.body) else {
            let over = Problem::not_found("open run", run.id());
            return Ok(CommandAnswer::new(String::new(), Err(over)).to_json());
        };
        let (digest, at_ms) = (sent.act.digest(), sent.at_ms);
        let outcome = match sent.act {
            RunAct::Steer { when, message } => {
                let word = QueuedMessage { when, message, at_ms };
                self.keep_word(run, word, stored.number).await?
            }
            act @ (RunAct::Cancel
            | RunAct::Answer(_)
            | RunAct::Chat { .. }
            | RunAct::Look { .. }
            | RunAct::Leave { .. }
            | RunAct::AgUi(_)
            | RunAct::Pause { .. }) => act.after_end(run.id()),
        };
        Ok(CommandAnswer::new(digest, outcome).to_json())
    }

    /// Keeps a message to a run that goes no further, for its conversation. One that an earlier owner of the run has kept is not kept again.
    pub(super) async fn keep_word(
        &self,
        run: &ServiceRun,
        word: QueuedMessage,
        command: u64,
    ) -> Result<Result<ActOutcome, Problem>, StoreError> {
        let progress = run.kept_progress().await;
        let record = self.stores.runs.get(&run.key).await?;
        if record.input.is_none() {
            return Ok(Err(Problem::not_found("open run", run.id())));
        }
        if StoredInput::read(&record).has_command(command) {
            return Ok(Ok(ActOutcome::Done));
        }
        let journal = self.conversations.journal_of(&record);
        let (journaled, _) = journal.read_run(run.id()).await?;
        let mut notes = RunNotes::new(run, &record, &journaled, Some(command));
        if let Err(problem) = notes.add_message(word) {
            return Ok(Err(problem));
        }
        let kept = self.stores.runs.change(run.fence().writer(), notes.change(*progress)).await;
        run.fence().noted(kept)?;
        Ok(Ok(ActOutcome::Done))
    }
}
