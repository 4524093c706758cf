//! The events of a run as the records of its log, as many at a time as are there.

use std::{
    future::poll_fn,
    task::{Context, Poll},
};

use futures_util::StreamExt as _;
use tokio_util::sync::CancellationToken;

use super::{
    fired::Fired,
    pieces::Pieces,
    run::{Run, WaitsFor},
};
use crate::{
    agent::RunStream,
    store::LogRecord,
    types::{AgentEvent, Envelope},
};

/// Most events that are appended at a time.
const BATCH: usize = 64;

/// Takes the events of a run. What is the same for all of them is made once.
pub(super) struct Batches<'r> {
    run: &'r Run,
    /// Ends once the run is to leave this process.
    leaves: Fired,
    pieces: Pieces,
    /// `true` until the first event of a run that another process began.
    goes_on: bool,
    /// `true` once an answer is under way.
    has_answer: bool,
    is_settled: bool,
    is_over: bool,
}

/// The events that are there.
pub(super) enum Batch {
    Records(Vec<LogRecord>),
    /// There are none any more.
    End,
    /// The run is to leave this process.
    Away,
}

impl<'r> Batches<'r> {
    /// Returns those of a run that goes on with this number, until `away`.
    pub(super) fn new(run: &'r Run, away: &CancellationToken, from: u64) -> Self {
        let (leaves, pieces) = (Fired::new(away.clone()), Pieces::default());
        let (has_answer, is_settled, is_over) = (false, false, false);
        Self { run, leaves, pieces, goes_on: from > 0, has_answer, is_settled, is_over }
    }

    /// Waits for events; one that is cancelled comes to its end here.
    pub(super) async fn next(&mut self, stream: &mut RunStream) -> Batch {
        poll_fn(|context| self.poll(stream, context)).await
    }

    fn poll(&mut self, stream: &mut RunStream, context: &mut Context<'_>) -> Poll<Batch> {
        let is_away = self.leaves.poll(context).is_ready();
        if is_away && !self.run.cancel.is_cancelled() {
            return Poll::Ready(Batch::Away);
        }
        let mut records = Vec::new();
        while records.len() < BATCH && !self.is_over {
            match stream.poll_next_unpin(context) {
                Poll::Ready(Some(envelope)) => records.push(self.record(&envelope)),
                Poll::Ready(None) => self.is_over = true,
                Poll::Pending => break,
            }
        }
        let waits = records.is_empty() && !self.is_over;
        let is_there = self.is_over || self.has_answer || self.run.waits_for(WaitsFor::Anything);
        if !self.is_settled && is_there {
            self.run.settle();
            self.is_settled = true;
        }
        match records.as_slice() {
            [] if waits => Poll::Pending,
            [] => Poll::Ready(Batch::End),
            _ => Poll::Ready(Batch::Records(records)),
        }
    }

    fn record(&mut self, envelope: &Envelope) -> LogRecord {
        if std::mem::take(&mut self.goes_on) {
            self.run.goes_on_in(envelope.turn);
        }
        self.has_answer |= is_of_answer(envelope);
        self.run.see(envelope);
        let data = self.pieces.piece(|out| envelope.write_json(out));
        LogRecord::new(envelope.event.kind(), data)
    }
}

/// Returns `true` for an event of an answer that is under way: what was open before it is over.
fn is_of_answer(envelope: &Envelope) -> bool {
    matches!(
        envelope.event,
        AgentEvent::ApiCallStart { .. }
            | AgentEvent::ThinkingStart
            | AgentEvent::MessageStart
            | AgentEvent::ToolCallStart { .. }
            | AgentEvent::TurnEnd
    )
}
