//! The user's messages, which a conversation keeps whatever happens to the run.

use super::RunLifecycle;
use crate::{Problem, input::stored_input::StoredInput, runs::run::ServiceRun};
use forgeline_store::{RunWriter, StoreError, StoredRun};
use forgeline_types::MessageRole;

impl RunLifecycle {
    /// Adds the user's messages to the conversation of a run that goes no further, unless its journal contains them: readers of the conversation find
    /// every acknowledged message. The model of a later run does not read them, as it may not be able to.
    pub(crate) async fn keep_user_messages(&self, record: &StoredRun) {
        if let Err(error) = self.try_keep_user_messages(record, &record.writer()).await {
            let run_id = &record.key.name;
            tracing::error!(%error, %run_id, "the user's message could not be stored");
        }
    }

    /// Calls [`keep_user_messages`](Self::keep_user_messages) for a run that ended in this process.
    pub(crate) async fn keep_user_messages_of(&self, run: &ServiceRun) {
        let kept = match self.stores.runs.get(&run.key).await {
            Ok(record) => self.try_keep_user_messages(&record, run.fence().writer()).await,
            Err(error) => Err(error),
        };
        if let Err(error) = run.fence().noted(kept) {
            tracing::error!(%error, run_id = run.id(), "the user's message could not be stored");
        }
    }

    async fn try_keep_user_messages(
        &self,
        record: &StoredRun,
        writer: &RunWriter,
    ) -> Result<(), StoreError> {
        if record.input.is_none() {
            return Ok(());
        }
        let stored = StoredInput::read(record);
        let journal = self.conversations.journal_of(record);
        let (journaled, taken) = journal.read_run(&record.key.name).await?;
        if let Some(input) = stored.run_input().filter(|_| !journaled.has_said) {
            journal.say(record.begun_ms, input.into_message(), writer).await?;
        }
        for (at, message) in taken.iter().enumerate() {
            let same = taken.iter().take(at).filter(|other| *other == message).count();
            // A message that is no longer kept gets a time derived from its run, the same on each call.
            let at_ms = stored.sent_at(message, same).unwrap_or(record.begun_ms + 1 + at as u64);
            journal.say(at_ms, message.clone(), writer).await?;
        }
        for word in stored.messages_without(journaled.words) {
            journal.say(word.at_ms, word.message, writer).await?;
        }
        Ok(())
    }

    /// Returns the text with which a run began, and the texts sent to it since.
    pub(crate) async fn texts_sent_to(
        &self,
        run: &ServiceRun,
    ) -> Result<(String, Vec<String>), Problem> {
        let record = self.stores.runs.get(&run.key).await?;
        let (journaled, taken) = self.conversations.journal_of(&record).read_run(run.id()).await?;
        let stored = StoredInput::read(&record);
        let begun = stored.run_input().map(|input| input.text()).unwrap_or_default();
        let waiting = stored.messages_without(journaled.words);
        let waiting = waiting.into_iter().map(|word| word.message).chain(taken);
        let mut since: Vec<_> = waiting.map(|message| message.text()).collect();
        let conversation = self.conversations.cache().find(&run.key.scope, &run.conversation);
        if let Some(conversation) = conversation {
            conversation.refresh().await?;
            let transcript = conversation.handle.transcript();
            let users = transcript.iter().filter(|it| it.role == MessageRole::User);
            let users: Vec<_> = users.map(|message| message.text()).collect();
            let first =
                users.iter().rposition(|text| *text == begun).map_or(users.len(), |at| at + 1);
            since.extend(users.into_iter().skip(first));
        }
        Ok((begun, since))
    }
}
