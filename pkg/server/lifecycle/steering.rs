//! Messages and answers for an active run, each kept until the journal of the run contains it.

use std::{collections::HashSet, sync::Arc};

use axum::http::StatusCode;
use tracing::Instrument as _;

use super::{RunLifecycle, start::StartRun};
use crate::{
    Problem,
    audit::{AuditedDecision, decided},
    commands::act::{RunAct, SentAct},
    input::{
        pending::{PendingAnswer, QueuedMessage},
        stored_input::{self, StoredInput},
    },
    journal::{Journaled, run_fence::is_outage},
    runs::{run::ServiceRun, run_guard::RunGuard},
};
use forgeline_agent::{Caller, private::RequestAnswer};
use forgeline_store::{RunChange, RunNote, RunProgress, StoreError, StoredRun, private::now_ms};
use forgeline_types::{AgentError, Text};

/// Maximum size of a run's input together with the messages sent since that are not in its journal, in bytes.
const MAX_KEPT_BYTES: usize = 16 << 20;

/// Maximum size of the answers to requests of a run that are not in its journal, in bytes.
const MAX_ANSWER_BYTES: usize = 16 << 20;

impl RunLifecycle {
    /// Sends a message to a run once it is kept: a process that resumes the run sends it again unless the journal contains it. Does both even if this
    /// future is dropped: messages are counted, and one that was only kept would be mistaken for the next. `command` is the number of the command that
    /// sent it, if another node did.
    pub(crate) async fn steer(
        self: &Arc<Self>,
        run: &Arc<ServiceRun>,
        word: QueuedMessage,
        command: Option<u64>,
    ) -> Result<(), Problem> {
        let (this, run) = (Arc::clone(self), Arc::clone(run));
        let whole = async move { this.steer_whole(&run, word, command).await };
        let said = tokio::spawn(whole.in_current_span());
        said.await.unwrap_or_else(|_| Err(Problem::busy("the input could not be stored", 5)))
    }

    async fn steer_whole(
        &self,
        run: &ServiceRun,
        word: QueuedMessage,
        command: Option<u64>,
    ) -> Result<(), Problem> {
        let (key, progress) = (&run.key, run.kept_progress().await);
        let over = || Problem::not_found("open run", run.id());
        let record = self.stores.runs.get(key).await?;
        // A run that has ended in the meantime keeps no input.
        if record.input.is_none() {
            return Err(over());
        }
        let journaled = self.conversations.journal_of(&record).journaled(run.id());
        let mut notes = RunNotes::new(run, &record, &journaled, command);
        notes.add_message(word.clone())?;
        self.store_notes(run, *progress, &notes, &over).await?;
        if let Err(refused) = word.say(&run.steering) {
            // The run refused the message, so the next process must not send it.
            self.withdraw(run, *progress, notes.undo(0)).await;
            return Err(if run.steering.is_over() { over() } else { refused.into() });
        }
        Ok(())
    }

    /// Answers open requests of a run once the answers are kept: a process that resumes the run gives them again unless the journal contains them. Keeps
    /// all of the answers or none; if several answer the same request, the first counts.
    pub(crate) async fn answer(
        &self,
        run: &ServiceRun,
        (by, answers): (&Caller, Vec<PendingAnswer>),
        command: Option<u64>,
    ) -> Result<(), Problem> {
        self.answer_whole(run, (by, answers), None, command).await
    }

    /// Answers open requests of a run and sends it a message, which its model reads after the results. Keeps both or neither, even if this future is
    /// dropped.
    pub(crate) async fn answer_and_steer(
        self: &Arc<Self>,
        run: &Arc<ServiceRun>,
        (by, answers): (&Caller, Vec<PendingAnswer>),
        word: QueuedMessage,
        command: Option<u64>,
    ) -> Result<(), Problem> {
        let (this, run, by) = (Arc::clone(self), Arc::clone(run), by.clone());
        let whole =
            async move { this.answer_whole(&run, (&by, answers), Some(word), command).await };
        let done = tokio::spawn(whole.in_current_span());
        done.await.unwrap_or_else(|_| Err(Problem::busy("the answers could not be stored", 5)))
    }

    async fn answer_whole(
        &self,
        run: &ServiceRun,
        (by, answers): (&Caller, Vec<PendingAnswer>),
        word: Option<QueuedMessage>,
        command: Option<u64>,
    ) -> Result<(), Problem> {
        let answers = firsts(answers);
        let Some(first) = answers.first() else { return Ok(()) };
        let decisions = AuditedDecision::among(run, &answers);
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
        let record = self.stores.runs.get(key).await?;
        if record.input.is_none() {
            return Err(over());
        }
        let journaled = self.conversations.journal_of(&record).journaled(run.id());
        let mut notes = RunNotes::new(run, &record, &journaled, command);
        if let Some(word) = &word {
            notes.add_message(word.clone())?;
        }
        let messages = notes.added.len();
        notes.add_answers(&answers)?;
        // If this future is dropped from here on, the answers may have been kept, so that they are given on drop.
        let mut giving = AnswersOnDrop { run, answers };
        let is_kept = self.store_notes(run, *progress, &notes, &over).await;
        let answers = std::mem::take(&mut giving.answers);
        is_kept?;
        // The run receives the message before the answers, and handles it after the results.
        if let Some(Err(refused)) = word.map(|word| word.say(&run.steering)) {
            self.withdraw(run, *progress, notes.undo(0)).await;
            return Err(refused.into());
        }
        for (at, answer) in answers.iter().enumerate() {
            if let Err(refused) = give(run, answer.clone()) {
                self.withdraw(run, *progress, notes.undo(messages + at)).await;
                return Err(refused.into());
            }
        }
        self.audit.write(key.scope.clone(), decided(run, by, decisions)).await;
        Ok(())
    }

    /// Ends a run whose user has moved on to something else: gives these answers, refuses its other requests, and lets it end after its calls. Keeps this
    /// like an answer; answers to requests that are no longer open are ignored. The run ends even if this cannot be kept.
    pub(super) async fn leave(
        &self,
        run: &ServiceRun,
        (by, answers): (&Caller, Vec<PendingAnswer>),
    ) -> Result<(), Problem> {
        // An earlier owner may have executed the command of this.
        if run.has_ended() || run.steering.is_left() {
            return Ok(());
        }
        let mut answers = firsts(answers);
        let (key, progress) = (&run.key, run.kept_progress().await);
        answers.retain(|answer| run.steering.is_open(&answer.id));
        let decisions = AuditedDecision::among(run, &answers);
        let given = answers.iter().map(|answer| (answer.id.clone(), answer.given.clone()));
        let given: Vec<_> = given.collect();
        let is_kept = async {
            let record = self.stores.runs.get(key).await?;
            if record.input.is_none() {
                return Ok(());
            }
            let journaled = self.conversations.journal_of(&record).journaled(run.id());
            let mut notes = RunNotes::new(run, &record, &journaled, None);
            notes.add_answers(&answers)?;
            let change = notes
                .change(*progress)
                .note(stored_input::left_note().map_err(|error| damaged(&error))?);
            match self.change(run, change).await {
                Ok(()) | Err(StoreError::Ended { .. }) => Ok(()),
                Err(error) => Err(error.into()),
            }
        };
        let is_kept = is_kept.await;
        run.steering.leave(given);
        self.audit.write(key.scope.clone(), decided(run, by, decisions)).await;
        is_kept
    }

    /// Starts a run in place of one that waits for its reader, which gets these answers and ends. Does both even if this future is dropped.
    pub(crate) async fn begin_in_place(
        self: &Arc<Self>,
        caller: Caller,
        asked: StartRun,
        (waits, answers): (Arc<ServiceRun>, Vec<PendingAnswer>),
    ) -> Result<Arc<ServiceRun>, Problem> {
        let this = Arc::clone(self);
        let whole = async move {
            let of = caller.clone();
            let run = this.begin(caller, asked).await?;
            // Another request with the same message was faster.
            if run.key == waits.key {
                return Ok(run);
            }
            let act = if answers.is_empty() { RunAct::Cancel } else { RunAct::Leave { answers } };
            this.act(&waits, SentAct::new(&of, act), None).await?;
            Ok(run)
        };
        let begun = tokio::spawn(whole.in_current_span());
        begun.await.unwrap_or_else(|_| Err(Problem::busy("the run could not start", 5)))
    }

    /// Cancels a run, and keeps that a process that resumes the run has to end it. The run is cancelled even if this cannot be kept.
    pub(crate) async fn cancel(&self, run: &ServiceRun) -> Result<(), Problem> {
        if run.has_ended() {
            return Ok(());
        }
        let cancel = RunGuard::new(run.cancel.clone());
        let progress = run.kept_progress().await;
        let note = stored_input::cancelled_note().map_err(|error| damaged(&error))?;
        let change = RunChange::to(*progress, now_ms()).note(note);
        match self.change(run, change).await {
            Ok(()) | Err(StoreError::Ended { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        drop(cancel);
        Ok(())
    }

    /// Changes the state of a run in the store.
    async fn change(&self, run: &ServiceRun, change: RunChange) -> Result<(), StoreError> {
        let changed = self.stores.runs.change(run.fence().writer(), change).await;
        if let Err(error) = &changed
            && self.stores.runs.is_shared()
            && is_outage(error)
        {
            // Whether it is stored is not known: the run goes on from what is.
            run.fence().lose(error);
        }
        run.fence().noted(changed)
    }

    /// Stores notes of a run.
    async fn store_notes(
        &self,
        run: &ServiceRun,
        progress: RunProgress,
        notes: &RunNotes,
        over: &(dyn Fn() -> Problem + Sync),
    ) -> Result<(), Problem> {
        match self.change(run, notes.change(progress)).await {
            Err(StoreError::Ended { .. }) => Err(over()),
            changed => Ok(changed?),
        }
    }

    /// Withdraws notes of what the run refused.
    async fn withdraw(&self, run: &ServiceRun, progress: RunProgress, (removed, added): UndoNotes) {
        let mut change = RunChange::to(progress, now_ms());
        (change.removed, change.added) = (removed, added);
        match self.change(run, change).await {
            Ok(()) | Err(StoreError::Ended { .. }) => {}
            Err(error) => {
                tracing::error!(%error, run_id = run.id(), "an input that was not delivered could not be withdrawn");
            }
        }
    }
}

/// The names of notes to remove, and the notes to store again.
type UndoNotes = (Vec<Text>, Vec<RunNote>);

/// Notes to store with a run, in place of those that are not needed any more.
pub(super) struct RunNotes {
    stored: StoredInput,
    journaled: Journaled,
    /// The number of the command that sends them, if another node does.
    command: Option<u64>,
    outdated: Vec<Text>,
    added: Vec<RunNote>,
}

impl RunNotes {
    pub(super) fn new(
        run: &ServiceRun,
        record: &StoredRun,
        journaled: &Journaled,
        command: Option<u64>,
    ) -> Self {
        let stored = StoredInput::read(record);
        let unanswered = run.commands.unanswered();
        let outdated = stored.outdated(journaled.words, &journaled.answered, unanswered);
        Self { stored, journaled: journaled.clone(), command, outdated, added: Vec::new() }
    }

    /// Adds a message, unless too much waits for the run.
    pub(super) fn add_message(&mut self, message: QueuedMessage) -> Result<(), Problem> {
        let note = self
            .stored
            .note_message(message, self.journaled.words, self.command)
            .map_err(|error| damaged(&error))?;
        let waiting = self.stored.bytes_without(&self.outdated);
        if waiting.saturating_add(note.data.len()) > MAX_KEPT_BYTES {
            let detail = "the inputs that wait for the run would have more than 16 MiB; send this one once they are delivered";
            return Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too_much_waits", detail));
        }
        self.added.push(note);
        Ok(())
    }

    /// Adds answers, unless too many wait for the run.
    fn add_answers(&mut self, answers: &[PendingAnswer]) -> Result<(), Problem> {
        let notes = StoredInput::note_answers(answers, &self.journaled.answered, self.command)
            .map_err(|error| damaged(&error))?;
        let gone: Vec<_> =
            self.outdated.iter().chain(notes.iter().map(|note| &note.name)).cloned().collect();
        let bytes: usize = notes.iter().map(|note| note.data.len()).sum();
        if self.stored.answer_bytes_without(&gone).saturating_add(bytes) > MAX_ANSWER_BYTES {
            let detail = "the answers that wait for the run would have more than 16 MiB; send this one once they are taken";
            return Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too_much_waits", detail));
        }
        self.added.extend(notes);
        Ok(())
    }

    /// Returns the change that stores the notes.
    pub(super) fn change(&self, progress: RunProgress) -> RunChange {
        let mut change = RunChange::to(progress, now_ms());
        change.removed.clone_from(&self.outdated);
        change.added.clone_from(&self.added);
        change
    }

    /// Returns what withdraws the added notes from index `from` on.
    fn undo(&self, from: usize) -> UndoNotes {
        let names = self.added.iter().skip(from).map(|note| note.name.clone());
        let names: Vec<_> = names.collect();
        let before = self.stored.notes_named(&names);
        (names, before)
    }
}

/// Returns the response to an input that cannot be serialized.
fn damaged(error: &serde_json::Error) -> Problem {
    StoreError::corrupt(error.to_string()).into()
}

/// Answers given on drop.
struct AnswersOnDrop<'r> {
    run: &'r ServiceRun,
    answers: Vec<PendingAnswer>,
}

impl Drop for AnswersOnDrop<'_> {
    fn drop(&mut self) {
        for answer in self.answers.drain(..) {
            if let Err(error) = give(self.run, answer) {
                tracing::debug!(%error, run_id = self.run.id(), "an answer came too late");
            }
        }
    }
}

/// Returns the first answer to each request.
fn firsts(mut answers: Vec<PendingAnswer>) -> Vec<PendingAnswer> {
    let mut known = HashSet::new();
    answers.retain(|answer| known.insert(answer.id.clone()));
    answers
}

/// Checks that an answer fits its request.
fn check(
    run: &ServiceRun,
    PendingAnswer { id, given, .. }: &PendingAnswer,
) -> Result<(), AgentError> {
    match given {
        RequestAnswer::Decided(decision) => run.approvals.check(id, decision),
        RequestAnswer::Returned(_) => Ok(()),
        RequestAnswer::Answered(answer) => run.questions.check(id, answer),
    }
}

fn give(
    run: &ServiceRun,
    PendingAnswer { id, given, .. }: PendingAnswer,
) -> Result<(), AgentError> {
    match given {
        RequestAnswer::Decided(decision) => run.approvals.answer(&id, decision),
        RequestAnswer::Returned(end) => run.client_calls.complete(&id, end),
        RequestAnswer::Answered(answer) => run.questions.answer(&id, answer),
    }
}
