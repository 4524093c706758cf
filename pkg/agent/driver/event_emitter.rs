//! The single exit of a run's events.

use std::{
    collections::VecDeque,
    sync::{Arc, OnceLock},
};

use tokio_util::sync::CancellationToken;

use super::run_recorder::RunRecorder;
use crate::{notice::RUN_TAKEN_OVER, state::CancelReason, steering::Steering, support::clock};
use forgeline_llm::channel::Sender;
use forgeline_types::{AgentEvent, ApprovalRequest, CustomEvent, Envelope, Text};

/// The emitter, which numbers the events of one run and sends them.
///
/// A full queue makes the run wait for its reader. Once the run is cancelled, nothing waits: an
/// event without a slot goes to the backlog, which the driver of the run delivers at its end. The
/// backlog contains closing events only, so its length is bounded by the number of open parts.
pub(crate) struct EventEmitter {
    run_id: Text,
    turn: u32,
    seq: u64,
    sink: EventSink,
    backlog: VecDeque<Envelope>,
    /// The next events that a log of the run already contains.
    reported: VecDeque<AgentEvent>,
    /// The requests for approval that an earlier process has shown, with the digests of their previews.
    shown_before: Vec<(Text, Text)>,
    cancel: CancellationToken,
    /// The time limit that the run has exceeded.
    expired: Arc<OnceLock<CancelReason>>,
    failed: bool,
    /// The steering handle of the run, if any.
    steering: Option<Steering>,
    /// The recorder, if the agent has observers.
    recorder: Option<Box<RunRecorder>>,
}

enum EventSink {
    /// Events are dropped.
    None,
    /// Events are sent here.
    Open(Sender<Envelope>),
    /// The reader was dropped.
    Gone,
}

impl EventEmitter {
    pub(crate) fn new(
        run_id: Text,
        sink: Option<Sender<Envelope>>,
        cancel: CancellationToken,
    ) -> Box<Self> {
        let sink = sink.map_or(EventSink::None, EventSink::Open);
        let (backlog, expired) = (VecDeque::new(), Arc::default());
        Box::new(Self {
            run_id,
            turn: 0,
            seq: 0,
            sink,
            backlog,
            reported: VecDeque::new(),
            shown_before: Vec::new(),
            cancel,
            expired,
            failed: false,
            steering: None,
            recorder: None,
        })
    }

    /// Sets the steering handle of the run.
    pub(crate) fn steered_by(mut self: Box<Self>, steering: Steering) -> Box<Self> {
        self.steering = Some(steering);
        self
    }

    /// Starts recording.
    pub(crate) fn record(&mut self, recorder: Option<Box<RunRecorder>>) {
        self.recorder = recorder;
    }

    pub(crate) fn recorder(&mut self) -> Option<&mut RunRecorder> {
        self.recorder.as_deref_mut()
    }

    /// Continues after this number of events of the run. The events that follow in the log, `reported`, are not
    /// sent again as long as the run repeats them; events that differ come after all of them.
    pub(crate) fn go_on(&mut self, events: u64, reported: Vec<AgentEvent>) {
        let shown = reported.iter().filter_map(|event| {
            let AgentEvent::ToolApprovalRequest(request) = event else { return None };
            Some((request.approval_id.clone(), digest_shown(request)?.clone()))
        });
        self.shown_before = shown.collect();
        (self.seq, self.reported) = (events, reported.into());
    }

    /// Returns `true` if an earlier process has shown this request with a preview of another state, which the answers to it mean.
    pub(crate) fn has_shown_other(&self, request: &ApprovalRequest) -> bool {
        let now = digest_shown(request);
        self.shown_before.iter().any(|(id, then)| *id == request.approval_id && Some(then) != now)
    }

    /// Returns the number of the run's events so far.
    pub(crate) fn events(&self) -> u64 {
        self.seq
    }

    pub(crate) fn steering(&self) -> Option<&Steering> {
        self.steering.as_ref()
    }

    /// Returns the token that ends the answer which is about to start.
    pub(crate) fn begin_answer(&self) -> CancellationToken {
        let steered = self.steering.as_ref().map(|steering| steering.begin_answer(&self.cancel));
        steered.unwrap_or_else(|| self.cancel.clone())
    }

    pub(crate) fn run_id(&self) -> &Text {
        &self.run_id
    }

    pub(crate) fn cancel(&self) -> &CancellationToken {
        &self.cancel
    }

    /// Returns the cell that records the reason for stopping a run that exceeds its time limit, before the run is cancelled.
    pub(crate) fn expiry(&self) -> Arc<OnceLock<CancelReason>> {
        Arc::clone(&self.expired)
    }

    /// Returns the reason for which a run was stopped.
    pub(crate) fn stop_reason(&self) -> CancelReason {
        self.expired.get().copied().unwrap_or(CancelReason::User)
    }

    pub(crate) fn turn(&self) -> u32 {
        self.turn
    }

    pub(crate) fn begin_turn(&mut self, turn: u32) {
        self.turn = turn;
    }

    /// Returns `true` once an error event was sent.
    pub(crate) fn has_failed(&self) -> bool {
        self.failed
    }

    /// Sends one event, immediately if there is a slot. A dropped reader cancels the run.
    ///
    /// A waiting event is boxed: each future of the run holds space for the events that it sends.
    pub(crate) fn emit(&mut self, event: AgentEvent) -> impl Future<Output = ()> + Send {
        let waiting = self.send(event);
        self.placed(waiting)
    }

    /// Sends one event; returns it if it has to wait for a slot.
    pub(crate) fn send(&mut self, event: AgentEvent) -> Option<Box<Envelope>> {
        self.failed |= matches!(event, AgentEvent::Error(_));
        if let Some(recorder) = &mut self.recorder {
            recorder.see(self.turn, &event);
        }
        let EventSink::Open(sender) = &self.sink else { return None };
        while self.reported.front().is_some_and(is_of_service) {
            self.reported.pop_front();
            self.seq += 1;
        }
        if let Some(reported) = self.reported.pop_front() {
            self.seq += 1;
            if reported == event {
                return None;
            }
            self.seq += self.reported.len() as u64;
            self.reported.clear();
        }
        let envelope = Envelope::new(self.run_id.clone(), self.turn, self.seq, clock::now(), event);
        self.seq += 1;
        if !self.backlog.is_empty() {
            self.backlog.push_back(envelope);
            return None;
        }
        sender.try_send(envelope).err().map(Box::new)
    }

    /// Waits for a slot for an event.
    pub(crate) async fn wait(&mut self, envelope: Box<Envelope>) {
        let EventSink::Open(sender) = &self.sink else { return };
        let sent = tokio::select! {
            biased;
            () = self.cancel.cancelled() => return self.backlog.push_back(*envelope),
            place = sender.reserve() => place.map(|place| place.send(*envelope)),
        };
        if sent.is_err() {
            self.sink = EventSink::Gone;
            self.cancel.cancel();
        }
    }

    /// Sends an event that is not needed once the run is cancelled.
    pub(crate) fn emit_while_running(
        &mut self,
        event: AgentEvent,
    ) -> impl Future<Output = ()> + Send {
        let event = (!self.cancel.is_cancelled()).then_some(event);
        let waiting = event.and_then(|event| self.send(event));
        self.placed(waiting)
    }

    /// Waits for a slot for an event, if there is one waiting.
    async fn placed(&mut self, waiting: Option<Box<Envelope>>) {
        if let Some(envelope) = waiting {
            self.wait(envelope).await;
        }
    }

    /// Returns the events still to be delivered, in order.
    pub(crate) fn into_backlog(self) -> VecDeque<Envelope> {
        self.backlog
    }
}

/// Returns `true` for an event that a service has added to the log of the run, which does not repeat it.
fn is_of_service(event: &AgentEvent) -> bool {
    matches!(event, AgentEvent::Custom(CustomEvent { name, .. }) if name == RUN_TAKEN_OVER)
}

fn digest_shown(request: &ApprovalRequest) -> Option<&Text> {
    request.preview.as_ref()?.digest.as_ref()
}

#[cfg(test)]
mod tests {
    use std::task::Poll;

    use super::*;
    use crate::notice::{Notice, RunTakenOverNotice};
    use forgeline_llm::channel::channel;
    use forgeline_types::UpdateBusyEvent;

    #[tokio::test]
    async fn events_that_a_service_has_added_to_the_log_are_counted_and_not_awaited() {
        let (sender, mut sent) = channel(8);
        let mut emitter = EventEmitter::new("run".into(), Some(sender), CancellationToken::new());
        let notice = || Notice::RunTakenOver(RunTakenOverNotice::new(1)).into();
        let busy = |is_busy| AgentEvent::UpdateBusy(UpdateBusyEvent::new(is_busy));
        emitter.go_on(4, vec![notice(), busy(true), notice(), AgentEvent::TurnEnd, notice()]);
        for event in [busy(true), AgentEvent::TurnEnd, busy(false)] {
            emitter.emit(event).await;
        }
        let Poll::Ready(Some(first)) = sent.try_next() else { panic!("nothing was sent") };
        assert_eq!((first.seq, first.event), (9, busy(false)));
        assert!(sent.try_next().is_pending(), "the others were in the log");
    }
}
