//! The single exit of a run's events.

use std::{
    collections::VecDeque,
    sync::{Arc, OnceLock},
};

use tokio_util::sync::CancellationToken;

use super::{Steering, clock, records::Recorder, state::CancelReason};
use crate::{
    llm::channel::Sender,
    types::{AgentEvent, Envelope, Text},
};

/// Numbers the events of one run and sends them.
///
/// A full queue makes the run wait for its reader. Once the run is cancelled nothing waits: an event
/// that has no place goes to the backlog, which the driver of the run delivers at its end. The backlog
/// holds closing events only, so its length is bounded by what was open.
pub(super) struct Emitter {
    run_id: Text,
    turn: u32,
    seq: u64,
    sink: Sink,
    backlog: VecDeque<Envelope>,
    /// The next events that a log has of the run already.
    told: VecDeque<AgentEvent>,
    cancel: CancellationToken,
    /// The limit of time that the run has passed.
    expired: Arc<OnceLock<CancelReason>>,
    failed: bool,
    /// The way into the run, if it has one.
    steering: Option<Steering>,
    /// Keeps records, where the agent has observers.
    recorder: Option<Box<Recorder>>,
}

enum Sink {
    /// Events are dropped.
    None,
    /// Events are sent here.
    Open(Sender<Envelope>),
    /// The reader was dropped.
    Gone,
}

impl Emitter {
    pub(super) fn new(
        run_id: Text,
        sink: Option<Sender<Envelope>>,
        cancel: CancellationToken,
    ) -> Self {
        let sink = sink.map_or(Sink::None, Sink::Open);
        let (backlog, expired) = (VecDeque::new(), Arc::default());
        Self {
            run_id,
            turn: 0,
            seq: 0,
            sink,
            backlog,
            told: VecDeque::new(),
            cancel,
            expired,
            failed: false,
            steering: None,
            recorder: None,
        }
    }

    /// Gives the run a way into it.
    pub(super) fn steered_by(mut self, steering: Steering) -> Self {
        self.steering = Some(steering);
        self
    }

    /// Keeps records from now on.
    pub(super) fn record(&mut self, recorder: Option<Box<Recorder>>) {
        self.recorder = recorder;
    }

    pub(super) fn recorder(&mut self) -> Option<&mut Recorder> {
        self.recorder.as_deref_mut()
    }

    /// Goes on behind this number of events of the run. Those that follow there, `told`, are not sent again as long as the same
    /// happens; what happens otherwise comes behind all of them.
    pub(super) fn go_on(&mut self, events: u64, told: Vec<AgentEvent>) {
        (self.seq, self.told) = (events, told.into());
    }

    /// Returns the number of the run's events so far.
    pub(super) fn events(&self) -> u64 {
        self.seq
    }

    pub(super) fn steering(&self) -> Option<&Steering> {
        self.steering.as_ref()
    }

    /// Returns the token that ends the answer which begins.
    pub(super) fn begin_answer(&self) -> CancellationToken {
        let steered = self.steering.as_ref().map(|steering| steering.begin_answer(&self.cancel));
        steered.unwrap_or_else(|| self.cancel.clone())
    }

    pub(super) fn run_id(&self) -> &Text {
        &self.run_id
    }

    pub(super) fn cancel(&self) -> &CancellationToken {
        &self.cancel
    }

    /// Returns where it is noted that the run has passed its limit of time, before it is cancelled.
    pub(super) fn expiry(&self) -> Arc<OnceLock<CancelReason>> {
        Arc::clone(&self.expired)
    }

    /// Returns the reason for which a run was stopped.
    pub(super) fn stop_reason(&self) -> CancelReason {
        self.expired.get().copied().unwrap_or(CancelReason::User)
    }

    pub(super) fn turn(&self) -> u32 {
        self.turn
    }

    pub(super) fn begin_turn(&mut self, turn: u32) {
        self.turn = turn;
    }

    /// Returns `true` once an error event was sent.
    pub(super) fn has_failed(&self) -> bool {
        self.failed
    }

    /// Sends one event, at once where there is a place. A reader that was dropped cancels the run.
    ///
    /// An event that waits is in a box: each future of the run holds the places of the events that it sends.
    pub(super) fn emit(&mut self, event: AgentEvent) -> impl Future<Output = ()> + Send {
        let waiting = self.send(event);
        self.placed(waiting)
    }

    /// Sends one event; returns it where it has to wait for a place.
    pub(super) fn send(&mut self, event: AgentEvent) -> Option<Box<Envelope>> {
        self.failed |= matches!(event, AgentEvent::Error { .. });
        if let Some(recorder) = &mut self.recorder {
            recorder.see(self.turn, &event);
        }
        let Sink::Open(sender) = &self.sink else { return None };
        if let Some(told) = self.told.pop_front() {
            self.seq += 1;
            if told == event {
                return None;
            }
            self.seq += self.told.len() as u64;
            self.told.clear();
        }
        let envelope = Envelope::new(self.run_id.clone(), self.turn, self.seq, clock::now(), event);
        self.seq += 1;
        if !self.backlog.is_empty() {
            self.backlog.push_back(envelope);
            return None;
        }
        sender.try_send(envelope).err().map(Box::new)
    }

    /// Waits for a place for an event.
    pub(super) async fn wait(&mut self, envelope: Box<Envelope>) {
        let Sink::Open(sender) = &self.sink else { return };
        let sent = tokio::select! {
            biased;
            () = self.cancel.cancelled() => return self.backlog.push_back(*envelope),
            place = sender.reserve() => place.map(|place| place.send(*envelope)),
        };
        if sent.is_err() {
            self.sink = Sink::Gone;
            self.cancel.cancel();
        }
    }

    /// Sends an event that is not needed once the run is cancelled.
    pub(super) fn emit_while_running(
        &mut self,
        event: AgentEvent,
    ) -> impl Future<Output = ()> + Send {
        let event = (!self.cancel.is_cancelled()).then_some(event);
        let waiting = event.and_then(|event| self.send(event));
        self.placed(waiting)
    }

    /// Waits for a place for an event, if it has none.
    async fn placed(&mut self, waiting: Option<Box<Envelope>>) {
        if let Some(envelope) = waiting {
            self.wait(envelope).await;
        }
    }

    /// Returns the events still to be delivered, in order.
    pub(super) fn into_backlog(self) -> VecDeque<Envelope> {
        self.backlog
    }
}
