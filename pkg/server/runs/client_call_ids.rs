//! The calls of a run at its client, with the ids that readers know.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::encode::nested;
use forgeline_types::{AgentEvent, ClientToolRequest, Envelope, Text};

/// The calls of a run at its client, with their places: call ids are unique only within their answer, and sub-agents have calls with the same ids.
#[derive(Debug, Default)]
pub(crate) struct ClientCallIds(Mutex<ReportedCalls>);

#[derive(Debug, Default)]
struct ReportedCalls {
    /// The calls that were reported, by the ids of their requests.
    reported: Vec<(Text, CallOrigin)>,
    /// The turn in which the run was resumed in this process: calls reported earlier are not known.
    resumed_in: Option<u32>,
}

/// The answer that a call belongs to: its turn, and its run for a sub-agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CallOrigin {
    run: Option<Text>,
    turn: u32,
}

impl CallOrigin {
    /// Returns the id of a call as encoders write it: the run of a sub-agent, the turn, and the id in the answer, separated by dots.
    pub(crate) fn key(&self, id: &str) -> String {
        let turn = self.turn;
        match &self.run {
            Some(run) => format!("{run}.{turn}.{id}"),
            None => format!("{turn}.{id}"),
        }
    }
}

impl ClientCallIds {
    /// Records that the run was resumed in this turn, with calls reported by another process.
    pub(crate) fn resumed_in(&self, turn: u32) {
        self.lock().resumed_in.get_or_insert(turn);
    }

    /// Adds the call that an event reports, if any, including those of sub-agents; forgets calls that are no longer open.
    pub(crate) fn see(&self, envelope: &Envelope, open: impl Fn() -> Vec<ClientToolRequest>) {
        if let AgentEvent::ClientToolRequest(request) = &envelope.event {
            let place = CallOrigin { run: None, turn: envelope.turn };
            self.add(request, place, &open());
        } else if let Some(below) = nested::find_nested(&envelope.event, &["client_tool_request"])
            && let AgentEvent::ClientToolRequest(request) = &below.event
        {
            let place = CallOrigin { run: Some(below.run_id), turn: below.turn };
            self.add(request, place, &open());
        }
    }

    fn add(&self, request: &ClientToolRequest, place: CallOrigin, open: &[ClientToolRequest]) {
        let mut known = self.lock();
        known.reported.retain(|(id, _)| open.iter().any(|it| it.client_call_id == *id));
        known.reported.push((request.client_call_id.clone(), place));
    }

    /// Returns the place of an open call; `None` until it is reported.
    pub(crate) fn place(&self, open: &ClientToolRequest) -> Option<CallOrigin> {
        let known = self.lock();
        let reported = known.reported.iter().rfind(|(id, _)| *id == open.client_call_id);
        let resumed = || Some(CallOrigin { run: None, turn: known.resumed_in? });
        reported.map(|(_, place)| place.clone()).or_else(resumed)
    }

    /// Returns the reported ones of these open calls, each with the id that readers know.
    pub(crate) fn keyed(&self, open: Vec<ClientToolRequest>) -> Vec<(String, ClientToolRequest)> {
        let key = |call: &ClientToolRequest| Some(self.place(call)?.key(&call.call_id));
        open.into_iter().filter_map(|call| Some((key(&call)?, call))).collect()
    }

    fn lock(&self) -> MutexGuard<'_, ReportedCalls> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
