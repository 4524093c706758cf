//! Sub-agent calls that ask the reader for something, in the UI message stream.

use serde_json::Value;

use super::{key::CallKey, message_writer::MessageWriter, nested, ui_part::UiPart};
use forgeline_types::{
    AgentEvent, CustomEvent, Envelope, Json, Text, ToolApprovalRejectedEvent, ToolResultEvent,
};

/// The kinds of sub-agent events that are read: requests to the reader, and their ends.
const KINDS: [&str; 5] = [
    "tool_approval_request",
    "client_tool_request",
    "tool_approval_rejected",
    "tool_result",
    "tool_result_error",
];

/// The error of a call whose agent ended without its result.
const ENDED: &str = "the agent that called it has ended";

/// The sub-agent calls that ask the reader for something and have no result yet.
#[derive(Debug, Default)]
pub(super) struct SubAgentRequests(Vec<SubAgentCall>);

/// A call of a sub-agent.
#[derive(Debug)]
struct SubAgentCall {
    above: ParentCall,
    /// The key of the call: its run, turn and id.
    run: Text,
    turn: u32,
    id: Text,
    name: Text,
    input: Json,
    approval_id: Option<Text>,
    progress: RequestProgress,
}

/// The part of a call sent to the reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RequestProgress {
    Nothing,
    /// The call and its request.
    Asked,
    /// The call, its request, and the rejection by a person.
    Denied,
}

/// The call of the run that is read, and the sub-agent that works for it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ParentCall {
    call: Text,
    agent: Text,
    background: bool,
}

impl ParentCall {
    fn parse(event: &AgentEvent) -> Option<Self> {
        let AgentEvent::Custom(CustomEvent { data, .. }) = event else { return None };
        let call = data.get("call_id")?.as_str()?.into();
        let agent = data.get("envelope")?.get("run_id")?.as_str()?.into();
        let background = data.get("background").and_then(Value::as_bool).unwrap_or_default();
        Some(Self { call, agent, background })
    }
}

impl SubAgentCall {
    fn key(&self) -> CallKey<'_> {
        CallKey { run: Some(&self.run), turn: self.turn, id: &self.id }
    }

    /// Sends the call and its request.
    fn send_request(&mut self, out: &mut MessageWriter<'_>) {
        self.progress = RequestProgress::Asked;
        let (tool_call_id, tool_name) = (self.key(), self.name.as_str());
        out.send(&UiPart::ToolInputStart { tool_call_id, tool_name });
        out.send(&UiPart::ToolInputAvailable { tool_call_id, tool_name, input: &self.input });
        if let Some(approval_id) = self.approval_id.as_deref() {
            out.send(&UiPart::ToolApprovalRequest { approval_id, tool_call_id });
        }
    }

    fn fail(&self, error_text: &str, out: &mut MessageWriter<'_>) {
        let tool_call_id = self.key();
        match self.progress {
            RequestProgress::Nothing => {}
            RequestProgress::Asked => {
                out.send(&UiPart::ToolOutputError { tool_call_id, error_text });
            }
            RequestProgress::Denied => out.send(&UiPart::ToolOutputDenied { tool_call_id }),
        }
    }
}

impl SubAgentRequests {
    /// Processes an event of a sub-agent, and sends the end of a call that was sent.
    pub(super) fn see(&mut self, event: &AgentEvent, out: &mut MessageWriter<'_>) {
        let Some(envelope) = nested::find_nested(event, &KINDS) else { return };
        let Envelope { run_id, turn, event: inner, .. } = &envelope;
        let of = |id: &Text| (run_id.clone(), *turn, id.clone());
        if let AgentEvent::ToolApprovalRequest(request) = inner {
            let approval_id = Some(request.approval_id.clone());
            let call = (&request.tool_name, &request.arguments, approval_id);
            self.ask(event, of(&request.call_id), call, out);
        } else if let AgentEvent::ClientToolRequest(request) = inner {
            let call = (&request.tool_name, &request.arguments, None);
            self.ask(event, of(&request.call_id), call, out);
        } else if let AgentEvent::ToolApprovalRejected(ToolApprovalRejectedEvent {
            call_id: id,
            ..
        }) = inner
        {
            let call = self.find(&of(id)).and_then(|at| self.0.get_mut(at));
            if let Some(call) = call.filter(|call| call.progress == RequestProgress::Asked) {
                call.progress = RequestProgress::Denied;
            }
        } else if let AgentEvent::ToolResult(ToolResultEvent { call_id: id, content, .. }) = inner {
            if let Some(call) =
                self.take(&of(id)).filter(|call| call.progress != RequestProgress::Nothing)
            {
                let tool_call_id = call.key();
                out.send(&UiPart::ToolOutputAvailable { tool_call_id, output: content });
            }
        } else if let AgentEvent::ToolResultError(ToolResultEvent { call_id: id, content, .. }) =
            inner
            && let Some(call) = self.take(&of(id))
        {
            call.fail(content, out);
        }
    }

    /// Ends the calls of the sub-agent that worked for this call, unless it continues in the background.
    pub(super) fn end(&mut self, call: &Text, out: &mut MessageWriter<'_>) {
        let is_its = |it: &mut SubAgentCall| it.above.call == *call && !it.above.background;
        self.0.extract_if(.., is_its).for_each(|call| call.fail(ENDED, out));
    }

    /// Returns `true` while there is a call that was not sent.
    pub(super) fn has_unsent(&self) -> bool {
        self.0.iter().any(|call| call.progress == RequestProgress::Nothing)
    }

    /// Sends the calls that were not sent.
    pub(super) fn send_unsent(&mut self, out: &mut MessageWriter<'_>) {
        let unsent = self.0.iter_mut().filter(|call| call.progress == RequestProgress::Nothing);
        unsent.for_each(|call| call.send_request(out));
    }

    fn ask(
        &mut self,
        event: &AgentEvent,
        (run, turn, id): (Text, u32, Text),
        (name, input, approval_id): (&Text, &Json, Option<Text>),
        out: &mut MessageWriter<'_>,
    ) {
        let Some(above) = ParentCall::parse(event) else { return };
        // An agent that starts anew after a restart replaces the previous one.
        let is_over =
            |it: &mut SubAgentCall| it.above.call == above.call && it.above.agent != above.agent;
        self.0.extract_if(.., is_over).for_each(|call| call.fail(ENDED, out));
        // A call that was approved may go to the client afterwards.
        if self.find(&(run.clone(), turn, id.clone())).is_none() {
            let (name, input) = (name.clone(), input.clone());
            let progress = RequestProgress::Nothing;
            let call = SubAgentCall { above, run, turn, id, name, input, approval_id, progress };
            self.0.push(call);
        }
    }

    fn find(&self, (run, turn, id): &(Text, u32, Text)) -> Option<usize> {
        self.0.iter().position(|call| call.run == *run && call.turn == *turn && call.id == *id)
    }

    fn take(&mut self, place: &(Text, u32, Text)) -> Option<SubAgentCall> {
        self.find(place).map(|at| self.0.remove(at))
    }
}
