//! Calls that run at the client.

use std::mem;

use super::{
    CallFailure, CallId, FailureKind, ReturnedCall, RunEffect, RunState, ToolEnd,
    answer_calls::{AnswerCalls, CallState, RunCall},
    approvals::request_id,
};
use crate::prompts::feedback;
use forgeline_types::{AgentEvent, ClientToolCancelledEvent, Text};

impl RunCall {
    /// Sends the call to the client.
    pub(super) fn send(&mut self, run_id: &str, call_id: CallId, out: &mut Vec<RunEffect>) {
        self.state = CallState::AtClient(request_id("client\0", run_id, call_id, &self.made));
        out.push(RunEffect::Send(call_id));
    }

    /// Informs the client that the call need not run any more.
    fn announce_withdrawn(&self, client_call_id: Text, out: &mut Vec<RunEffect>) {
        let (id, tool_name) = (self.made.id.clone(), self.made.name.clone());
        out.push(RunEffect::Withdraw(client_call_id.clone()));
        let event = AgentEvent::ClientToolCancelled(ClientToolCancelledEvent::new(
            client_call_id,
            id,
            tool_name,
        ));
        out.push(RunEffect::emit(event));
    }
}

impl AnswerCalls {
    /// Returns the places of the calls at the client.
    pub(super) fn at_client(&self) -> impl Iterator<Item = usize> {
        let is_there = |call: &RunCall| matches!(call.state, CallState::AtClient(_));
        self.iter().enumerate().filter(move |(_, call)| is_there(call)).map(|(place, _)| place)
    }

    /// Returns the id under which the client was asked for a call.
    pub(super) fn client_call(&self, place: usize) -> Option<&Text> {
        let CallState::AtClient(id) = &self.iter().nth(place)?.state else { return None };
        Some(id)
    }

    /// Ends the calls at the client, whatever their outcome there.
    pub(super) fn recall(&mut self, out: &mut Vec<RunEffect>) {
        for place in self.at_client().collect::<Vec<_>>() {
            let Some(call) = self.get_mut(place) else { continue };
            if let CallState::AtClient(id) = mem::replace(&mut call.state, CallState::Held) {
                call.announce_withdrawn(id, out);
            }
            let why = CallFailure(FailureKind::NotRun, feedback::RECALLED.to_owned());
            call.end(ToolEnd::refused(why), out);
        }
    }

    /// Takes the outcome of a call at the client.
    pub(super) fn returned(
        &mut self,
        place: usize,
        returned: ReturnedCall,
        out: &mut Vec<RunEffect>,
    ) {
        let Some(call) = self.get_mut(place) else { return };
        if returned.is_withdrawn {
            call.announce_withdrawn(returned.client_call_id, out);
        }
        call.end(returned.end, out);
    }
}

impl RunState {
    /// Returns the id under which the client was asked to run a call of the current answer.
    pub(crate) fn client_call(&self, id: CallId) -> Option<&Text> {
        self.calls.client_call(id.place).filter(|_| id.answer == self.answer)
    }
}
