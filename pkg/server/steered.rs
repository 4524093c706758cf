//! Words and answers for a run that goes on: each is kept until the journal of the run has it.

use std::{collections::HashSet, sync::Arc};

use axum::http::StatusCode;
use tracing::Instrument as _;

use super::{
    Problem, Service, client_tools,
    guard::Guard,
    run::Run,
    words::{Answer, Word},
};
use crate::{
    agent::Given,
    store::{LogKey, RunChange, RunProgress, StoreError, now_ms},
    types::AgentError,
};

/// Most bytes of a run's input together with what was said since and is not in its journal.
const MAX_KEPT_BYTES: usize = 16 << 20;

/// Most bytes of the answers to requests of a run that are not in its journal.
const MAX_ANSWER_BYTES: usize = 16 << 20;

impl Service {
    /// Gives a run a word, once it is kept: a process that goes on with the run says it again, if the journal does not have it. It is kept and said
    /// also when the request is dropped: words are counted, and one that is kept alone would stand for the next.
    pub(super) async fn steer(&self, run: &Arc<Run>, word: Word) -> Result<(), Problem> {
        let (this, run) = (self.clone(), Arc::clone(run));
        let whole = async move { this.steer_whole(&run, word).await };
        let said = tokio::spawn(whole.in_current_span());
        said.await.unwrap_or_else(|_| Err(Problem::busy("the word could not be kept", 5)))
    }

    async fn steer_whole(&self, run: &Run, word: Word) -> Result<(), Problem> {
        let (key, progress) = (&run.key, run.kept_progress().await);
        let over = || Problem::not_found("open run", run.id());
        let record = self.stores().runs.get(key).await?;
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
        self.keep_input(key, *progress, kept, &over).await?;
        if let Err(refused) = word.say(&run.steering) {
            // It was not taken, and is not to be said by the next process.
            self.keep_again(key, *progress, before).await;
            return Err(refused.into());
        }
        Ok(())
    }

    /// Answers open requests of a run, once the answers are kept: a process that goes on with the run gives them again, if the journal does not
    /// have them. All of them are kept, or none; of several to one request the first counts.
    pub(super) async fn answer(&self, run: &Run, mut answers: Vec<Answer>) -> Result<(), Problem> {
        let mut known = HashSet::new();
        answers.retain(|answer| known.insert(answer.id.clone()));
        let Some(first) = answers.first() else { return Ok(()) };
        let (key, progress) = (&run.key, run.kept_progress().await);
        let closed = |id: &str| Problem::not_found("open request", id);
        // Another request may have been faster.
        if let Some(closed_one) = answers.iter().find(|answer| !run.steering.is_open(&answer.id)) {
            return Err(closed(&closed_one.id));
        }
        for answer in &answers {
            check(run, answer)?;
        }
        let id = first.id.clone();
        let over = move || closed(&id);
        let record = self.stores().runs.get(key).await?;
        let before = record.input.clone().ok_or_else(&over)?;
        let journaled = self.journal_of(&record).journaled(run.id()).answered;
        let keep = |answers: &[Answer]| {
            let kept = client_tools::keep_answers(&before, answers, &journaled);
            kept.ok_or_else(|| Problem::busy("the input of the run cannot be read", 5))
        };
        let (kept, bytes) = keep(&answers)?;
        if bytes > MAX_ANSWER_BYTES {
            let detail = "the answers that the run has not taken yet have more than 16 MiB; send this one when it has";
            return Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too_much_waits", detail));
        }
        // Where the request is dropped now, they may be kept, and are given.
        let mut giving = Giving { run, answers };
        let is_kept = self.keep_input(key, *progress, kept, &over).await;
        let answers = std::mem::take(&mut giving.answers);
        is_kept?;
        for (at, answer) in answers.iter().enumerate() {
            if let Err(refused) = give(run, answer.clone()) {
                let (kept, _) = keep(answers.get(..at).unwrap_or_default())?;
                self.keep_again(key, *progress, kept).await;
                return Err(refused.into());
            }
        }
        Ok(())
    }

    /// Cancels a run, which is kept: a process that goes on with the run ends it. Where that cannot be kept, the run is cancelled all the same.
    pub(super) async fn cancel(&self, run: &Run) -> Result<(), Problem> {
        if run.has_ended() {
            return Ok(());
        }
        let cancel = Guard::new(run.cancel.clone());
        let (key, progress) = (&run.key, run.kept_progress().await);
        let record = self.stores().runs.get(key).await?;
        if let Some(kept) = record.input.as_deref().and_then(client_tools::keep_cancelled) {
            let change = RunChange::to(*progress, now_ms()).input(kept);
            match self.stores().runs.change(key, change).await {
                Ok(()) | Err(StoreError::Ended { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        drop(cancel);
        Ok(())
    }

    /// Keeps the input of a run as it is now, with what was said and answered.
    async fn keep_input(
        &self,
        key: &LogKey,
        progress: RunProgress,
        input: String,
        over: &(dyn Fn() -> Problem + Sync),
    ) -> Result<(), Problem> {
        let change = RunChange::to(progress, now_ms()).input(input);
        match self.stores().runs.change(key, change).await {
            Err(StoreError::Ended { .. }) => Err(over()),
            changed => Ok(changed?),
        }
    }

    /// Keeps it without what was not taken.
    async fn keep_again(&self, key: &LogKey, progress: RunProgress, input: String) {
        let change = RunChange::to(progress, now_ms()).input(input);
        match self.stores().runs.change(key, change).await {
            Ok(()) | Err(StoreError::Ended { .. }) => {}
            Err(error) => {
                tracing::error!(%error, run_id = %key.name, "what was not taken could not be taken back");
            }
        }
    }
}

/// Answers that are given when this is dropped.
struct Giving<'r> {
    run: &'r Run,
    answers: Vec<Answer>,
}

impl Drop for Giving<'_> {
    fn drop(&mut self) {
        for answer in self.answers.drain(..) {
            if let Err(error) = give(self.run, answer) {
                tracing::debug!(%error, run_id = self.run.id(), "an answer came too late");
            }
        }
    }
}

/// Checks that an answer fits its request.
fn check(run: &Run, Answer { id, given, .. }: &Answer) -> Result<(), AgentError> {
    match given {
        Given::Decided(decision) => run.approvals.check(id, decision),
        Given::Returned(_) => Ok(()),
        Given::Answered(answer) => run.questions.check(id, answer),
    }
}

fn give(run: &Run, Answer { id, given, .. }: Answer) -> Result<(), AgentError> {
    match given {
        Given::Decided(decision) => run.approvals.answer(&id, decision),
        Given::Returned(end) => run.client_calls.complete(&id, end),
        Given::Answered(answer) => run.questions.answer(&id, answer),
    }
}
