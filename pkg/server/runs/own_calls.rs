//! The calls of a run at its client, under the ids that its readers know them by.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::nested;
use crate::types::{AgentEvent, ClientToolRequest, Envelope, Text};

/// The calls of a run at its client, with their places: the id of a call is unique in its answer only, and agents below have calls of the same ids.
#[derive(Debug, Default)]
pub(crate) struct OwnCalls(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    /// The calls that were told, by the ids of their requests.
    told: Vec<(Text, Place)>,
    /// The turn in which the run went on in this process: what was told before is not known.
    resumed_in: Option<u32>,
}

/// The answer that a call is of: its turn, and the run where that is one of an agent below.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    run: Option<Text>,
    turn: u32,
}

impl Place {
    /// Returns the id of a call as encoders write it: the run of an agent below, the turn, and its id in the answer, with dots between them.
    pub(crate) fn key(&self, id: &str) -> String {
        let turn = self.turn;
        match &self.run {
            Some(run) => format!("{run}.{turn}.{id}"),
            None => format!("{turn}.{id}"),
        }
    }
}

impl OwnCalls {
    /// Notes that the run goes on in this turn, with calls that were told elsewhere.
    pub(crate) fn resumed_in(&self, turn: u32) {
        self.lock().resumed_in.get_or_insert(turn);
    }

    /// Notes the call that an event tells, if it does, of an agent below too; those that are not open any more are forgotten.
    pub(crate) fn see(&self, envelope: &Envelope, open: impl Fn() -> Vec<ClientToolRequest>) {
        if let AgentEvent::ClientToolRequest(request) = &envelope.event {
            let place = Place { run: None, turn: envelope.turn };
            self.add(request, place, &open());
        } else if let Some(below) = nested::read(&envelope.event, &["client_tool_request"])
            && let AgentEvent::ClientToolRequest(request) = &below.event
        {
            let place = Place { run: Some(below.run_id), turn: below.turn };
            self.add(request, place, &open());
        }
    }

    fn add(&self, request: &ClientToolRequest, place: Place, open: &[ClientToolRequest]) {
        let mut known = self.lock();
        known.told.retain(|(id, _)| open.iter().any(|it| it.client_call_id == *id));
        known.told.push((request.client_call_id.clone(), place));
    }

    /// Returns the place of an open call; `None` while it was not told.
    pub(crate) fn place(&self, open: &ClientToolRequest) -> Option<Place> {
        let known = self.lock();
        let told = known.told.iter().rfind(|(id, _)| *id == open.client_call_id);
        let resumed = || Some(Place { run: None, turn: known.resumed_in? });
        told.map(|(_, place)| place.clone()).or_else(resumed)
    }

    /// Returns those of these open calls that were told, each with the id that readers know it by.
    pub(crate) fn keyed(&self, open: Vec<ClientToolRequest>) -> Vec<(String, ClientToolRequest)> {
        let key = |call: &ClientToolRequest| Some(self.place(call)?.key(&call.id));
        open.into_iter().filter_map(|call| Some((key(&call)?, call))).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
