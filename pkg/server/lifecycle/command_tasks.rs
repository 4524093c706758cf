//! The task of a run that executes the commands which other nodes store.

use std::{sync::Arc, time::Duration};

use tokio::time::sleep;
use tokio_util::sync::DropGuard;

use super::RunLifecycle;
use crate::{
    Problem,
    commands::{
        act::{RunAct, SentAct},
        outcome::{ActOutcome, CommandAnswer},
    },
    input::{pending::QueuedMessage, stored_input::StoredInput},
    runs::run::ServiceRun,
};
use forgeline_store::{StoreError, StoredCommand};

/// Maximum number of commands read at a time.
const PAGE: usize = 4;

/// Pause before a command is tried again, after the store has failed.
const PAUSE: Duration = Duration::from_secs(1);

/// Maximum number of attempts to execute a command while the store fails.
const MAX_ATTEMPTS: u32 = 3;

/// The state of a run's commands after a look at them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CommandLook {
    /// All commands have an answer.
    Answered,
    /// The store failed; the commands are looked at again.
    Failed,
    /// No command of the run is executed here any more.
    Over,
}

impl RunLifecycle {
    /// Executes the commands of a run on a store that several nodes share, until the guard is dropped. There is none, and no task, on another store.
    pub(super) fn execute_commands(self: &Arc<Self>, run: &Arc<ServiceRun>) -> Option<DropGuard> {
        if !self.stores.runs.is_shared() {
            return None;
        }
        let (this, run, guard) = (Arc::clone(self), Arc::clone(run), run.commands.ends().clone());
        tokio::spawn(async move {
            let ends = run.commands.ends().clone();
            let work = async {
                while this.wait_for_commands(&run).await {
                    match this.look_for_commands(&run).await {
                        CommandLook::Answered => {}
                        CommandLook::Failed => sleep(PAUSE).await,
                        CommandLook::Over => break,
                    }
                }
            };
            ends.run_until_cancelled(work).await;
        });
        Some(guard.drop_guard())
    }

    /// Executes the commands of a run that ends, and no more after them: each has its answer before the run has its end.
    pub(super) async fn finish_commands(self: &Arc<Self>, run: &Arc<ServiceRun>) {
        if !self.stores.runs.is_shared() || run.fence().is_lost() {
            return;
        }
        for _ in 0..MAX_ATTEMPTS {
            match self.look_for_commands(run).await {
                CommandLook::Answered | CommandLook::Over => break,
                CommandLook::Failed => sleep(PAUSE).await,
            }
        }
        run.commands.ends().cancel();
    }

    /// Waits for a command; returns `false` if there will be none.
    async fn wait_for_commands(&self, run: &ServiceRun) -> bool {
        loop {
            let from = *run.commands.turn().await;
            match self.stores.commands.wait(&run.key, from).await {
                Ok(()) => return true,
                Err(error) if self.is_over(run, &error) => return false,
                Err(error) => {
                    tracing::debug!(%error, run_id = run.id(), "the commands of a run cannot be read");
                    sleep(PAUSE).await;
                }
            }
        }
    }

    /// Returns `true` for an error after which no command of the run is executed here. A run that was deleted ends, and leaves nothing.
    fn is_over(&self, run: &ServiceRun, error: &StoreError) -> bool {
        if matches!(error, StoreError::NotFound { .. }) {
            run.cancel.cancel();
            self.runs.active().remove(&run.key);
            self.conversations.cache().remove(&run.key.scope, &run.conversation);
        }
        matches!(
            error,
            StoreError::NotFound { .. } | StoreError::Ended { .. } | StoreError::Fenced { .. }
        )
    }

    /// Executes the commands that have no answer, in order. Goes on to the next one when a command has its answer.
    async fn look_for_commands(self: &Arc<Self>, run: &Arc<ServiceRun>) -> CommandLook {
        let mut next = run.commands.turn().await;
        loop {
            // An earlier owner may have executed those that the first look finds.
            let is_first = *next == 0;
            let found = match self.stores.commands.unanswered(&run.key, *next, PAGE).await {
                Ok(found) => found,
                Err(error) if self.is_over(run, &error) => return CommandLook::Over,
                Err(_) => return CommandLook::Failed,
            };
            if found.is_empty() {
                run.commands.answered_before(u64::MAX);
                return CommandLook::Answered;
            }
            for stored in found {
                run.commands.answered_before(stored.number);
                if run.fence().is_lost() {
                    return CommandLook::Over;
                }
                let answer = self.execute(run, &stored, is_first).await;
                // An answer of a run that is stopped here, or moves, is not that of the run.
                if run.fence().is_lost() || run.is_moving() {
                    return CommandLook::Over;
                }
                let writer = run.fence().writer();
                let answered = self.stores.commands.answer(writer, stored.number, answer).await;
                match run.fence().noted(answered) {
                    // Another answer is one of this node, whose outcome was not known.
                    Ok(()) | Err(StoreError::Exists { .. }) => {}
                    Err(error) if self.is_over(run, &error) => return CommandLook::Over,
                    Err(_) => {
                        *next = 0;
                        return CommandLook::Failed;
                    }
                }
                *next = stored.number + 1;
            }
        }
    }

    /// Executes a command; returns the answer. One that was executed before is not executed again.
    async fn execute(
        self: &Arc<Self>,
        run: &Arc<ServiceRun>,
        stored: &StoredCommand,
        mut may_be_done: bool,
    ) -> String {
        let sent = match serde_json::from_str::<SentAct>(&stored.command.body) {
            Ok(sent) => sent,
            Err(error) => {
                tracing::error!(%error, run_id = run.id(), "a command of a run cannot be read");
                let detail = "the request cannot be read by the version of the service that has the run; send it again later";
                return CommandAnswer::new(String::new(), Err(Problem::busy(detail, 30))).to_json();
            }
        };
        let digest = sent.act.digest();
        let mut attempt = 1;
        loop {
            let outcome = self.execute_once(run, &sent, stored.number, may_be_done).await;
            let is_failed = outcome.as_ref().is_err_and(Problem::is_of_store);
            if !is_failed || attempt == MAX_ATTEMPTS || run.fence().is_lost() {
                return CommandAnswer::new(digest, outcome).to_json();
            }
            (attempt, may_be_done) = (attempt + 1, true);
            sleep(PAUSE).await;
        }
    }

    async fn execute_once(
        self: &Arc<Self>,
        run: &Arc<ServiceRun>,
        sent: &SentAct,
        number: u64,
        may_be_done: bool,
    ) -> Result<ActOutcome, Problem> {
        if may_be_done {
            let record = self.stores.runs.get(&run.key).await?;
            if StoredInput::read(&record).has_command(number) {
                return Ok(match &sent.act {
                    RunAct::Chat { next, .. } => {
                        ActOutcome::From(next.unwrap_or_else(|| run.paused()))
                    }
                    RunAct::AgUi(_) => ActOutcome::From(run.paused()),
                    RunAct::Cancel
                    | RunAct::Answer(_)
                    | RunAct::Steer { .. }
                    | RunAct::Look { .. }
                    | RunAct::Leave { .. }
                    | RunAct::Pause { .. } => ActOutcome::Done,
                });
            }
        }
        let done = self.act_here(run, sent.clone(), Some(number)).await;
        // The sender may have had 202 for it, and the run has ended since another node took it.
        if may_be_done
            && run.has_moved()
            && run.steering.is_over()
            && let RunAct::Steer { when, message } = &sent.act
            && done.as_ref().is_err_and(|problem| !problem.is_of_store())
        {
            let word = QueuedMessage { when: *when, message: message.clone(), at_ms: sent.at_ms };
            return self.keep_word(run, word, number).await?;
        }
        done
    }
}
