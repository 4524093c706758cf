//! The log of a run that another process left behind.

use super::RunLifecycle;
use crate::{encode::RunEnd, journal::resume_error::ResumeError, runs::run::RUN_END};
use forgeline_agent::notice::{Notice, RunTakenOverNotice};
use forgeline_store::{LogKey, LogRecord, StoreError, StoredRun, private::now_ms};
use forgeline_types::{
    AgentError, AgentEvent, Envelope, ErrorCode, Text, TokenUsageEvent, ToolQuestionEndEvent,
    UsageInfo,
};

/// Number of records read at a time.
const PAGE: usize = 256;

/// The kind of the events that report token usage.
const TOKEN_USAGE: &str = "token_usage";

impl RunLifecycle {
    /// Creates the log of a run; one that is there is as good: whoever acknowledges a run first creates its log.
    pub(super) async fn create_log(&self, key: &LogKey) -> Result<(), StoreError> {
        match self.stores.log.create(key.clone()).await {
            Err(StoreError::Exists { .. }) => Ok(()),
            created => created,
        }
    }

    /// Returns the number of records of a run's log, which is created if missing.
    pub(super) async fn log_end(&self, record: &StoredRun) -> Result<u64, StoreError> {
        let log = &self.stores.log;
        match log.read(&record.key, u64::MAX, 1).await {
            Err(StoreError::NotFound { .. }) => self.create_log(&record.key).await.map(|()| 0),
            Err(StoreError::Behind { end, .. }) => Ok(end),
            other => other.map(|page| page.next),
        }
    }

    /// Returns the end of a run, if it is the last record of its log.
    pub(super) async fn logged_end(
        &self,
        record: &StoredRun,
        events: u64,
    ) -> Result<Option<RunEnd>, ResumeError> {
        let Some(last) = events.checked_sub(1) else { return Ok(None) };
        let page = self.stores.log.read(&record.key, last, 1).await?;
        let end = page.records.first().filter(|record| record.kind == RUN_END);
        Ok(end.and_then(|record| serde_json::from_slice(&record.data).ok()))
    }

    /// Returns the token usage reported by the events of a run, as far as they can be read.
    pub(super) async fn used_in_log(&self, record: &StoredRun, to: u64) -> Option<UsageInfo> {
        let (mut logged, mut at) = (None, 0);
        while at < to {
            let page = self.stores.log.read(&record.key, at, PAGE).await.ok()?;
            let kinds = page.records.iter().filter(|record| record.kind == TOKEN_USAGE);
            for record in kinds {
                let envelope = serde_json::from_slice::<Envelope>(&record.data).ok()?;
                logged = used(logged, std::slice::from_ref(&envelope.event));
            }
            if page.next == at {
                break;
            }
            at = page.next;
        }
        logged
    }

    /// Reads the events of a run from number `from` up to `to`.
    pub(super) async fn logged_events(
        &self,
        record: &StoredRun,
        from: u64,
        to: u64,
    ) -> Result<Vec<Envelope>, ResumeError> {
        let (mut logged, mut at) = (Vec::new(), from);
        while at < to {
            let page = self.stores.log.read(&record.key, at, PAGE).await?;
            for record in &page.records {
                let envelope = serde_json::from_slice::<Envelope>(&record.data);
                let envelope = envelope.map_err(|error| interrupted(error.to_string()))?;
                logged.push(envelope);
            }
            if page.next == at {
                break;
            }
            at = page.next;
        }
        Ok(logged)
    }

    /// Tells the readers of a run that its node died and that this one goes on; returns the event, which is the next one of the log.
    pub(super) async fn note_takeover(
        &self,
        record: &StoredRun,
        (events, turn): (u64, Option<u32>),
    ) -> Result<Option<Envelope>, ResumeError> {
        if record.takeovers == 0 || !self.stores.runs.is_shared() {
            return Ok(None);
        }
        let Some(turn) = turn else { return Ok(None) };
        let notice = Notice::RunTakenOver(RunTakenOverNotice::new(record.takeovers));
        let run_id = record.key.name.clone();
        let envelope = Envelope::new(run_id, turn, events, now_ms(), notice.into());
        let mut data = Vec::new();
        envelope.write_json(&mut data);
        let record_of_event = LogRecord::new(envelope.event.kind(), data);
        let (log, writer) = (&self.stores.log, record.writer());
        log.append(&record.key, events, vec![record_of_event], Some(&writer)).await?;
        Ok(Some(envelope))
    }
}

/// Returns the ids of the questions that were asked and not answered: a call that may run again asks them again.
pub(super) fn open_questions(logged: &[AgentEvent]) -> Vec<Text> {
    let mut open = Vec::new();
    for event in logged {
        if let AgentEvent::ToolQuestion(question) = event {
            open.push(question.question_id.clone());
        } else if let AgentEvent::ToolQuestionEnd(ToolQuestionEndEvent { question_id, .. }) = event
        {
            open.retain(|id| id != question_id);
        }
    }
    open
}

/// Returns the token usage of a run: that in its journal, and that of later events.
pub(super) fn used(journaled: Option<UsageInfo>, logged: &[AgentEvent]) -> Option<UsageInfo> {
    let mut used = journaled;
    for event in logged {
        if let AgentEvent::TokenUsage(TokenUsageEvent { usage, .. }) = event {
            used.get_or_insert_default().add(usage);
        }
    }
    used
}

pub(super) fn interrupted(why: String) -> AgentError {
    AgentError::new(ErrorCode::Journal, why)
}
