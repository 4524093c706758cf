//! The events of a run as records of its log, batched as they become available.

use std::{
    future::poll_fn,
    task::{Context, Poll},
};

use bytes::Bytes;
use futures_util::StreamExt as _;
use tokio_util::sync::CancellationToken;

use super::{cancel_wait::CancelWait, piece_allocator::PieceAllocator};
use forgeline_agent::RunStream;
use forgeline_store::LogRecord;
use forgeline_types::{AgentEvent, Envelope};

/// Maximum number of events appended at a time.
const BATCH: usize = 64;

/// Maximum size of a record whose event readers share, in bytes.
const LONGEST_SHARED: usize = 4 << 10;

/// The run whose events are taken.
pub(crate) trait ObservedRun {
    fn is_cancelled(&self) -> bool;

    /// Returns `true` while the run does nothing but wait for a person or the client.
    fn only_waits(&self) -> bool;

    /// Returns `true` once every request that the run waited for in another process is open again.
    fn is_back(&self) -> bool;

    /// Records that the run has caught up with its state in another process.
    fn finish_recovery(&self);

    /// Processes an event; `is_first` is set for the first event of a run that another process started.
    fn see(&self, envelope: &Envelope, is_first: bool);

    /// Takes the event of record `number`, for readers that share it.
    fn share(&self, number: u64, data: &Bytes, envelope: Envelope);
}

/// The signals on which runs leave this process for another one.
#[derive(Debug, Clone, Default)]
pub(crate) struct LeaveSignals {
    /// Cancelled once every run has to leave.
    pub(crate) all: CancellationToken,
    /// Cancelled once each run has to leave that waits: for its turn, for a slot, for a person or for the client.
    pub(crate) waiting: CancellationToken,
}

/// The batches of a run's events. State common to all batches is created once.
#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
pub(crate) struct EventBatches<'r, O> {
    run: &'r O,
    /// Completes once the run has to leave this process.
    leaves: CancelWait,
    /// Completes once the run has to leave this process while it waits.
    leaves_waiting: CancelWait,
    pieces: PieceAllocator,
    /// The number of the next event.
    number: u64,
    /// `true` until the first event of a run that another process started.
    goes_on: bool,
    /// `true` once an answer has begun.
    has_answer: bool,
    has_recovered: bool,
    is_over: bool,
}

/// A batch of the available events.
pub(crate) enum EventBatch {
    Records(Vec<LogRecord>),
    /// There are no more events.
    End,
    /// The run has to leave this process.
    Away,
}

impl<'r, O: ObservedRun> EventBatches<'r, O> {
    /// Returns the batches of a run that continues with event `from`, until it has to leave.
    pub(crate) fn new(run: &'r O, leave: &LeaveSignals, from: u64) -> Self {
        let (leaves, pieces) = (CancelWait::new(leave.all.clone()), PieceAllocator::default());
        let leaves_waiting = CancelWait::new(leave.waiting.clone());
        let (has_answer, has_recovered, is_over) = (false, false, false);
        let (number, goes_on) = (from, from > 0);
        Self {
            run,
            leaves,
            leaves_waiting,
            pieces,
            number,
            goes_on,
            has_answer,
            has_recovered,
            is_over,
        }
    }

    /// Waits for events. A cancelled run still ends in this process.
    pub(crate) async fn next(&mut self, stream: &mut RunStream) -> EventBatch {
        poll_fn(|context| self.poll(stream, context)).await
    }

    fn poll(&mut self, stream: &mut RunStream, context: &mut Context<'_>) -> Poll<EventBatch> {
        let is_away = self.leaves.poll(context).is_ready()
            || (self.leaves_waiting.poll(context).is_ready() && self.run.only_waits());
        if is_away && !self.run.is_cancelled() {
            return Poll::Ready(EventBatch::Away);
        }
        let mut records = Vec::new();
        while records.len() < BATCH && !self.is_over {
            match stream.poll_next_unpin(context) {
                Poll::Ready(Some(envelope)) => records.push(self.record(envelope)),
                Poll::Ready(None) => self.is_over = true,
                Poll::Pending => break,
            }
        }
        let waits = records.is_empty() && !self.is_over;
        if !self.has_recovered && (self.is_over || self.has_answer || self.run.is_back()) {
            self.run.finish_recovery();
            self.has_recovered = true;
        }
        match records.as_slice() {
            [] if waits => Poll::Pending,
            [] => Poll::Ready(EventBatch::End),
            _ => Poll::Ready(EventBatch::Records(records)),
        }
    }

    fn record(&mut self, envelope: Envelope) -> LogRecord {
        self.has_answer |= is_of_answer(&envelope);
        self.run.see(&envelope, std::mem::take(&mut self.goes_on));
        let data = self.pieces.piece(|out| envelope.write_json(out));
        let record = LogRecord::new(envelope.event.kind(), data);
        // Readers request the event after its record is in the log. A long event is not worth its memory.
        if record.data.len() <= LONGEST_SHARED {
            self.run.share(self.number, &record.data, envelope);
        }
        self.number += 1;
        record
    }
}

/// Returns `true` for an event of an answer in progress, before which all earlier requests are closed.
fn is_of_answer(envelope: &Envelope) -> bool {
    matches!(
        envelope.event,
        AgentEvent::ApiCallStart(_)
            | AgentEvent::ThinkingStart
            | AgentEvent::MessageStart
            | AgentEvent::ToolCallStart(_)
            | AgentEvent::TurnEnd
    )
}
