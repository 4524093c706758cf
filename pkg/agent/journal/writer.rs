//! The writer of an agent's journal.

use std::{sync::Arc, time::Duration};

use serde::Serialize;
use serde_json::value::to_raw_value;
use tokio::time::timeout;

use super::{Journal, JournalError, JournalLine, JournalStep, line::Chain};
use forgeline_types::{AgentError, ErrorCode, Message};

/// A writer that appends an agent's records to its journal, one after the other.
pub(crate) struct Writer {
    journal: Arc<dyn Journal>,
    /// Maximum wait for the journal.
    limit: Duration,
    /// The end of the journal; `None` when an append failed or was dropped, and before the first.
    end: Option<Chain>,
    /// `true` once the agent's conversation is that of the journal.
    is_own: bool,
}

impl Writer {
    pub(crate) fn new(journal: Arc<dyn Journal>, limit: Duration) -> Self {
        Self { journal, limit, end: None, is_own: false }
    }

    /// Reads the journal.
    pub(crate) async fn read(&self) -> Result<Vec<JournalLine>, AgentError> {
        self.bounded(self.journal.read()).await
    }

    /// Continues after the lines that were read.
    pub(crate) fn go_on(&mut self, chain: Chain) {
        (self.end, self.is_own) = (Some(chain), true);
    }

    /// Returns `true` when the journal ends here.
    pub(crate) fn ends_at(&self, chain: Chain) -> bool {
        self.end == Some(chain)
    }

    /// Returns `true` once the agent's conversation is that of the journal.
    pub(crate) fn has_read(&self) -> bool {
        self.is_own
    }

    /// Checks that the end of the journal is known and belongs to the agent's conversation; returns `true` if it has been read and is empty.
    pub(crate) async fn is_ready_and_empty(&mut self) -> Result<bool, AgentError> {
        if self.end.is_some() {
            return Ok(false);
        }
        let lines = self.read().await?;
        if !self.is_own && !lines.is_empty() {
            let message =
                "the journal holds a conversation; call `resume` first, or use an empty one";
            return Err(AgentError::new(ErrorCode::Journal, message));
        }
        let mut chain = Chain::default();
        for line in &lines {
            chain.read(line)?;
        }
        self.go_on(chain);
        Ok(lines.is_empty())
    }

    /// Appends the record of a step, which added these messages.
    pub(crate) async fn append(
        &mut self,
        step: JournalStep,
        record: &(impl Serialize + Sync),
        messages: &[Arc<Message>],
    ) -> Result<(), AgentError> {
        // A dropped append may have stored the line.
        let Some(end) = self.end.take() else { return Err(failed("its end is not known")) };
        let entry = to_raw_value(record).and_then(|record| end.write(step, &record, messages));
        let (entry, next) = entry.map_err(|error| failed(&error.to_string()))?;
        let appended = self.journal.append(&entry);
        self.bounded(appended).await?;
        self.end = Some(next);
        Ok(())
    }

    async fn bounded<T>(
        &self,
        work: impl Future<Output = Result<T, JournalError>>,
    ) -> Result<T, AgentError> {
        match timeout(self.limit, work).await {
            Ok(done) => done.map_err(|error| failed(&error.to_string())),
            Err(_) => Err(failed(&format!("no answer within {:?}", self.limit))),
        }
    }
}

/// Returns the error of a run whose journal failed.
fn failed(why: &str) -> AgentError {
    AgentError::new(ErrorCode::Journal, format!("the journal failed: {why}"))
}
