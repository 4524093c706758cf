//! The calls of a run at its client, under the ids that its readers know them by.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::types::{AgentEvent, ClientToolRequest, Envelope, Text};

/// The calls of a run at its client, with their turns: the id of a call is unique in its answer only, and agents below have calls of the same ids.
#[derive(Debug, Default)]
pub(super) struct OwnCalls(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    /// The calls that were told, by the ids of their requests.
    told: Vec<(Text, u32)>,
    /// The turn in which the run went on in this process: what was told before is not known.
    resumed_in: Option<u32>,
}

impl OwnCalls {
    /// Notes that the run goes on in this turn, with calls that were told elsewhere.
    pub(super) fn resumed_in(&self, turn: u32) {
        self.lock().resumed_in.get_or_insert(turn);
    }

    /// Notes the call that an event tells, if it does; those that are not open any more are forgotten.
    pub(super) fn see(&self, envelope: &Envelope, open: impl Fn() -> Vec<ClientToolRequest>) {
        if let AgentEvent::ClientToolRequest(request) = &envelope.event {
            let (open, mut known) = (open(), self.lock());
            known.told.retain(|(id, _)| open.iter().any(|it| it.client_call_id == *id));
            known.told.push((request.client_call_id.clone(), envelope.turn));
        }
    }

    /// Returns the turn of an open call of the run itself; `None` for one of an agent below.
    pub(super) fn turn(&self, open: &ClientToolRequest) -> Option<u32> {
        let known = self.lock();
        let told = known.told.iter().rfind(|(id, _)| *id == open.client_call_id);
        told.map(|(_, turn)| *turn).or(known.resumed_in)
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
