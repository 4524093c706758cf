//! The words of the user are in the conversation, whatever becomes of the run.

use std::sync::Arc;

use super::{Service, client_tools, journal::StoredJournal};
use crate::store::{LogKey, RunRecord, StoreError};

impl Service {
    /// Adds what the user said to the conversation of a run that goes no further, unless its journal has it: what was acknowledged is there for
    /// whoever reads the conversation. The model of a later run does not get it: that it can take it is not known.
    pub(super) async fn keep_said(&self, record: &RunRecord) {
        if let Err(error) = self.try_keep_said(record).await {
            let run_id = &record.key.name;
            tracing::error!(%error, %run_id, "what the user said could not be kept");
        }
    }

    /// Does so for a run that ended here.
    pub(super) async fn keep_said_of(&self, run: &LogKey) {
        match self.stores().runs.get(run).await {
            Ok(record) => self.keep_said(&record).await,
            Err(error) => {
                tracing::error!(%error, run_id = %run.name, "what the user said could not be kept");
            }
        }
    }

    async fn try_keep_said(&self, record: &RunRecord) -> Result<(), StoreError> {
        let Some(kept) = record.input.as_deref() else { return Ok(()) };
        let journal = self.journal_of(record);
        let (journaled, taken) = journal.read_run(&record.key.name).await?;
        if let Some(input) = client_tools::kept_input(kept).filter(|_| !journaled.has_said) {
            journal.say(record.begun_ms, input.into_message()).await?;
        }
        let words = client_tools::kept_words(kept);
        for (at, message) in taken.iter().enumerate() {
            let same = taken.iter().take(at).filter(|other| *other == message).count();
            // The time of one that is not kept any more is that of its run, the same each time this is done.
            let at_ms = words.said_at(message, same).unwrap_or(record.begun_ms + 1 + at as u64);
            journal.say(at_ms, message.clone()).await?;
        }
        for word in words.without(journaled.words) {
            journal.say(word.at_ms, word.message).await?;
        }
        Ok(())
    }

    /// Returns the journal of the conversation of a run, for which no agent is needed.
    pub(super) fn journal_of(&self, record: &RunRecord) -> StoredJournal {
        let (scope, id) = (&record.key.scope, &record.conversation);
        if let Some(known) = self.0.conversations.find(scope, id) {
            return known.journal.clone();
        }
        let store = Arc::clone(&self.stores().conversations);
        StoredJournal::new(store, record.conversation_key(), Arc::default())
    }
}
