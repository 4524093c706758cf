//! The calls at the client that an answer ends with.

use crate::encode::{key::CallKey, nested::find_nested};
use forgeline_types::{
    AgentEvent, ClientToolCancelledEvent, ClientToolRequest, Envelope, Json, Text, ToolResultEvent,
};

/// The kinds of events about calls at the client.
const KINDS: [&str; 4] =
    ["client_tool_request", "client_tool_cancelled", "tool_result", "tool_result_error"];

/// A call at the client.
#[derive(Debug, Clone)]
pub(super) struct WaitingClientCall {
    /// The id that the client knows: the run, a dot, and the id of the call in the run.
    pub(super) id: Text,
    pub(super) name: Text,
    pub(super) arguments: Json,
}

/// The calls of a run at its client.
#[derive(Debug, Clone, Default)]
pub(super) struct AnswerClientCalls {
    /// The calls that wait for their results, in order.
    open: Vec<WaitingClientCall>,
    /// The calls whose results the client sent with its request.
    sent: Vec<Text>,
    /// Those of them whose requests have not been passed yet.
    awaited: Vec<Text>,
    /// The first call whose result came too late.
    late: Option<Text>,
}

impl AnswerClientCalls {
    /// Returns the calls of an answer that goes on after the results of these calls.
    pub(super) fn after(sent: Vec<Text>) -> Self {
        Self { awaited: sent.clone(), sent, ..Self::default() }
    }

    /// Returns a call whose request was not passed: until then, the events are those of earlier answers.
    pub(super) fn awaited(&self) -> Option<&Text> {
        self.awaited.first()
    }

    /// Returns the first call that was over before the client sent its result.
    pub(super) fn late(&self) -> Option<&Text> {
        self.late.as_ref()
    }

    /// Returns the calls that wait for the client.
    pub(super) fn take_open(&mut self) -> Vec<WaitingClientCall> {
        std::mem::take(&mut self.open)
    }

    /// Takes note of an event about a call at the client, including those of sub-agents.
    pub(super) fn see(&mut self, envelope: &Envelope) {
        let root = envelope.run_id.as_str();
        if let Some(below) = find_nested(&envelope.event, &KINDS) {
            self.see_event(&below.event, |id| {
                let key = CallKey { run: Some(below.run_id.as_str()), turn: below.turn, id };
                format!("{root}.{key}").into()
            });
        } else {
            self.see_event(&envelope.event, |id| {
                format!("{root}.{}", CallKey { run: None, turn: envelope.turn, id }).into()
            });
        }
    }

    fn see_event(&mut self, event: &AgentEvent, key: impl Fn(&str) -> Text) {
        if let AgentEvent::ClientToolRequest(request) = event {
            let ClientToolRequest { call_id, tool_name: name, arguments, .. } = &**request;
            let id = key(call_id);
            self.awaited.retain(|awaited| *awaited != id);
            self.open.retain(|open| open.id != id);
            if !self.sent.contains(&id) {
                let (name, arguments) = (name.clone(), arguments.clone());
                self.open.push(WaitingClientCall { id, name, arguments });
            }
        } else if let AgentEvent::ClientToolCancelled(ClientToolCancelledEvent {
            call_id, ..
        }) = event
        {
            let id = key(call_id);
            self.open.retain(|open| open.id != id);
            if self.late.is_none() && self.sent.contains(&id) {
                self.late = Some(id);
            }
        } else if let AgentEvent::ToolResult(ToolResultEvent { call_id, .. })
        | AgentEvent::ToolResultError(ToolResultEvent { call_id, .. }) = event
            && !self.open.is_empty()
        {
            let id = key(call_id);
            self.open.retain(|open| open.id != id);
        }
    }
}
