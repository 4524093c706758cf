//! The history of a conversation, in its journal.

use std::{mem, sync::Arc};

use tokio::sync::MutexGuard;

use super::{run_setup::RunSetup, run_start::RunStart, shared_agent::SharedAgent};
use crate::{
    journal::{self, Chain, JournalStep, MessageList, OpenIs, OpenRun, Record, Restored, Writer},
    run::RunContext,
};
use forgeline_types::{AgentError, ErrorCode, Message};

/// Writes messages that no run of the conversation has made.
pub(crate) async fn write_given(
    writer: &mut Writer,
    messages: &[Arc<Message>],
) -> Result<(), AgentError> {
    let count = messages.len();
    let record = Record::<()>::Given { messages: MessageList::Beside(count) };
    writer.append(JournalStep::MessagesGiven { messages: count }, &record, messages).await
}

impl SharedAgent {
    /// Reads the history of the turn's journal; returns the open run to resume, and the rest that was restored.
    pub(crate) async fn restore(
        &self,
        writer: Option<&mut Writer>,
        open: OpenIs<'_>,
        share: impl FnOnce(&str, &mut RunContext),
    ) -> Result<(Option<(OpenRun, Chain, Option<RunSetup>)>, Restored), AgentError> {
        let Some(writer) = writer else {
            let message =
                "the conversation has no journal; give it one with `Conversation::with_journal`";
            return Err(AgentError::new(ErrorCode::Journal, message));
        };
        let mut restored = journal::restore(&writer.read().await?, open)?;
        restored.share(share);
        let setting = match restored.open_context() {
            // A run keeps its tools: what a source has had since is for the next one.
            Some(run) => self.setting_of(run, &|tool| restored.has_tool(tool)).await?,
            None => None,
        };
        let parts = setting.as_ref().map_or(&self.parts, |own| &own.parts);
        let open = restored.replay(&parts.tool_marks(), &**parts)?;
        let mut memory = self.memory.lock();
        memory.clear();
        self.begin_anew();
        self.grants.set(mem::take(&mut restored.grants));
        self.inputs.set(restored.inputs.iter().map(|(run, input)| (run, input)));
        for message in mem::take(&mut restored.messages) {
            memory.add(message);
        }
        self.begin_window(restored.marks.as_deref());
        writer.go_on(restored.chain);
        Ok((open.map(|run| (run, restored.chain, setting)), restored))
    }

    /// Prepares the journal for the next entry. The messages that the conversation had before it had the journal are the first one.
    pub(crate) async fn begin_entry(&self, writer: &mut Writer) -> Result<(), AgentError> {
        if !writer.is_ready_and_empty().await? {
            return Ok(());
        }
        let messages = self.memory.lock().transcript().messages().to_vec();
        if messages.is_empty() { Ok(()) } else { write_given(writer, &messages).await }
    }

    /// Waits until no other run of the conversation is in progress; a new run of a stored conversation then reads its history.
    pub(super) async fn begin_turn(
        &self,
        start: &RunStart,
    ) -> Result<MutexGuard<'_, Option<Writer>>, AgentError> {
        let mut turn = self.take_turn().await?;
        if self.id.is_some() && matches!(start, RunStart::Input(_)) {
            // Boxed: most conversations are not stored.
            Box::pin(self.load(turn.as_mut())).await?;
        }
        Ok(turn)
    }

    /// Reads the history of a conversation that the agent's store has, unless it has been read; leaves a run that had not ended as it is.
    pub(crate) async fn load(&self, writer: Option<&mut Writer>) -> Result<(), AgentError> {
        match writer.filter(|writer| self.id.is_some() && !writer.has_read()) {
            Some(writer) => self.restore(Some(writer), OpenIs::Left, |_, _| {}).await.map(drop),
            None => Ok(()),
        }
    }
}
