//! AG-UI, version 1.0.

use serde_json::Value;

use super::{
    EncodeMessages, RunEnd, RunStatus,
    ag_ui_event::{
        AgUiEvent, AgUiInterrupt, AgUiMessage, AgUiOutcome, AgUiUsage, CustomValue, StepName,
    },
    answer_calls::{AnswerCalls, SentProgress},
    key::{CallKey, ResultKey, SectionKey},
    message_writer::MessageWriter,
    notice::ResponseNotice,
};
use forgeline_agent::notice::{ANSWER_RESTARTED, SubAgentEvent};
use forgeline_types::{
    AgentEvent, CustomEvent, Envelope, ErrorEvent, Json, MessageContentEvent, Text,
    ThinkingContentEvent, ToolApprovalEvent, ToolApprovalRejectedEvent, ToolCallContentEvent,
    ToolCallEndEvent, ToolCallStartEvent, ToolQuestionEndEvent, ToolResultEvent, UpdateBusyEvent,
    UsageInfo,
};

/// The schema of the answer to an approval request.
const APPROVAL_SCHEMA: &str = r#"{"type":"object","properties":{"approved":{"type":"boolean"},"reason":{"type":"string"},"editedArgs":{"type":"object"}},"required":["approved"]}"#;

/// An encoder for AG-UI 1.0.
///
/// Thinking, text, calls, results, steps and sub-agents have events of their own. Every other event is `CUSTOM`, or `RAW` if its kind is unknown. A run
/// that fails ends with `RUN_ERROR`, any other with `RUN_FINISHED`. A response can be [paused](Self::pause) while its run waits for a person.
///
/// An answer that is requested again after a restart of the process is reported by `CUSTOM` `answer_restarted`, with the `messageIds` and `toolCallIds`
/// that no longer count: the protocol has no event that retracts a message and leaves the others.
///
/// Call ids are unique only within their answer: `toolCallId` is the turn, a dot, and the id, preceded by the run for sub-agents.
///
/// # Examples
///
/// ```
/// use forgeline::server::encode::{AgUi, Encode, RunEnd, RunStatus};
///
/// let (mut encoder, mut frames) = (AgUi::new("thread_1"), Vec::new());
/// encoder.end(&RunEnd::new("run", 0, RunStatus::Completed), &mut frames);
/// let frames = String::from_utf8(frames)?;
/// assert!(frames.starts_with(r#"data: {"type":"RUN_STARTED","threadId":"thread_1","runId":"run""#));
/// assert!(frames.contains(r#""type":"RUN_FINISHED""#));
/// # Ok::<(), std::string::FromUtf8Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct AgUi {
    thread_id: Text,
    has_begun: bool,
    root: RunScope,
    below: Vec<(Text, RunScope)>,
    /// The approval requests and questions that are open.
    open: Vec<AgUiInterrupt>,
    /// The ids of the calls whose results the client sent itself.
    sent_results: Vec<Text>,
    /// The notice at the beginning of the response, if there is one.
    notice: Option<ResponseNotice>,
}

/// A run whose events are encoded: the one that is read, or one of a sub-agent.
#[derive(Debug, Clone, Default)]
struct RunScope {
    calls: AnswerCalls,
    /// The turn of its last event.
    turn: u32,
    /// The number of sections so far, and before the current answer.
    sections: u32,
    first: u32,
    section: Option<OpenSection>,
    step: Option<StepName>,
    error: Option<Text>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OpenSection {
    Thinking,
    Message,
}

/// The context of an event: its run, its time, and the destination of its frames.
struct EventContext<'e, 'o, 'w> {
    run_id: &'e str,
    turn: u32,
    time: Option<u64>,
    /// The sub-agent run that the event belongs to, if any.
    below: Option<&'e str>,
    out: &'o mut MessageWriter<'w>,
}

impl<'e> EventContext<'e, '_, '_> {
    fn send(&mut self, event: AgUiEvent<'_>) {
        let (timestamp, subagent_run_id) = (self.time, self.below);
        self.out.send(&AgUiMessage { event, timestamp, subagent_run_id });
    }

    fn key<'k>(&self, id: &'k str) -> CallKey<'k>
    where
        'e: 'k,
    {
        CallKey { run: self.below, turn: self.turn, id }
    }
}

impl RunScope {
    fn section<'e>(&self, at: &EventContext<'e, '_, '_>) -> SectionKey<'e> {
        SectionKey { run: at.run_id, number: self.sections }
    }

    /// Ends the open section.
    fn end_section(&mut self, at: &mut EventContext<'_, '_, '_>) {
        let message_id = self.section(at);
        match self.section.take() {
            Some(OpenSection::Thinking) => {
                at.send(AgUiEvent::ReasoningMessageEnd { message_id });
                at.send(AgUiEvent::ReasoningEnd { message_id });
            }
            Some(OpenSection::Message) => at.send(AgUiEvent::TextMessageEnd { message_id }),
            None => return,
        }
        self.sections += 1;
    }

    /// Begins a call once its name is known, or can no longer become known.
    fn call(&mut self, index: u32, name: Option<&Text>, at: &mut EventContext<'_, '_, '_>) {
        let Some(call) = self.calls.at(index).filter(|call| call.progress == SentProgress::Nothing)
        else {
            return;
        };
        call.progress = SentProgress::Begin;
        let tool_call_name = name.map_or("unknown", Text::as_str);
        let tool_call_id = at.key(&call.id);
        at.send(AgUiEvent::ToolCallStart { tool_call_id, tool_call_name });
    }

    /// Ends everything that is open.
    fn end(&mut self, at: &mut EventContext<'_, '_, '_>) {
        at.turn = self.turn;
        self.end_section(at);
        for call in self.calls.open() {
            call.progress = SentProgress::Whole;
            let tool_call_id = at.key(&call.id);
            at.send(AgUiEvent::ToolCallEnd { tool_call_id });
        }
        if let Some(step_name) = self.step.take() {
            at.send(AgUiEvent::StepFinished { step_name });
        }
    }

    /// Reports the parts of the current answer that no longer count, as the answer is requested again.
    fn restart(&mut self, data: &Value, at: &mut EventContext<'_, '_, '_>) {
        self.end_section(at);
        for call in self.calls.open() {
            call.progress = SentProgress::Whole;
            let tool_call_id = at.key(&call.id);
            at.send(AgUiEvent::ToolCallEnd { tool_call_id });
        }
        let message = |number| SectionKey { run: at.run_id, number }.to_string();
        let messages: Vec<_> = (self.first..self.sections).map(message).collect();
        let calls: Vec<_> = self.calls.sent_ids().map(|id| at.key(id).to_string()).collect();
        let mut value = data.clone();
        if let Value::Object(members) = &mut value {
            members.insert("messageIds".to_owned(), messages.into());
            members.insert("toolCallIds".to_owned(), calls.into());
        }
        self.calls.clear();
        self.first = self.sections;
        at.send(AgUiEvent::Custom { name: ANSWER_RESTARTED, value: CustomValue::Value(&value) });
    }

    fn event(&mut self, event: &AgentEvent, at: &mut EventContext<'_, '_, '_>) {
        let message_id = self.section(at);
        if matches!(event, AgentEvent::ApiCallStart(_)) {
            let turn = at.turn;
            self.end(at);
            self.calls.clear();
            at.turn = turn;
        }
        self.turn = at.turn;
        match event {
            AgentEvent::ApiCallStart(_) => {
                self.first = self.sections;
                let step_name = StepName(at.turn);
                at.send(AgUiEvent::StepStarted { step_name });
                self.step = Some(step_name);
            }
            AgentEvent::ThinkingStart => {
                at.send(AgUiEvent::ReasoningStart { message_id });
                at.send(AgUiEvent::ReasoningMessageStart { message_id, role: "reasoning" });
                self.section = Some(OpenSection::Thinking);
            }
            AgentEvent::ThinkingContent(ThinkingContentEvent { content, .. }) => {
                at.send(AgUiEvent::ReasoningMessageContent { message_id, delta: content });
            }
            AgentEvent::MessageStart => {
                at.send(AgUiEvent::TextMessageStart { message_id, role: "assistant" });
                self.section = Some(OpenSection::Message);
            }
            AgentEvent::MessageContent(MessageContentEvent { content, .. }) => {
                at.send(AgUiEvent::TextMessageContent { message_id, delta: content });
            }
            AgentEvent::ThinkingEnd | AgentEvent::MessageEnd => self.end_section(at),
            AgentEvent::ToolCallStart(ToolCallStartEvent {
                index, call_id: id, tool_name, ..
            }) => {
                self.calls.begin(*index, id);
                if tool_name.is_some() {
                    self.call(*index, tool_name.as_ref(), at);
                }
            }
            AgentEvent::ToolCallContent(ToolCallContentEvent { index, arguments, .. }) => {
                let call =
                    self.calls.at(*index).filter(|call| call.progress == SentProgress::Begin);
                if let Some(call) = call.filter(|_| !arguments.is_empty()) {
                    let tool_call_id = at.key(&call.id);
                    at.send(AgUiEvent::ToolCallArgs { tool_call_id, delta: arguments });
                }
            }
            AgentEvent::ToolCallEnd(ToolCallEndEvent { index, tool_name, .. }) => {
                self.call(*index, tool_name.as_ref(), at);
                if let Some(call) = self.calls.at(*index) {
                    call.progress = SentProgress::Whole;
                    let tool_call_id = at.key(&call.id);
                    at.send(AgUiEvent::ToolCallEnd { tool_call_id });
                }
            }
            AgentEvent::ToolResult(ToolResultEvent { call_id: id, content, .. })
            | AgentEvent::ToolResultError(ToolResultEvent { call_id: id, content, .. }) => {
                let tool_call_id = at.key(id);
                let message_id = ResultKey(tool_call_id);
                let role = "tool";
                at.send(AgUiEvent::ToolCallResult { message_id, tool_call_id, content, role });
            }
            AgentEvent::Custom(CustomEvent { name, data, .. }) if name == ANSWER_RESTARTED => {
                self.restart(data, at);
            }
            AgentEvent::Custom(CustomEvent { name, data, .. }) => {
                at.send(AgUiEvent::Custom { name, value: CustomValue::Value(data) });
            }
            AgentEvent::Unknown(event) => at.send(AgUiEvent::Raw { event, source: "forgeline" }),
            AgentEvent::Error(_)
            | AgentEvent::ApiCallEnd(_)
            | AgentEvent::TokenUsage(_)
            | AgentEvent::ToolCall(_)
            | AgentEvent::ToolOutput(_)
            | AgentEvent::ToolApprovalRequest(_)
            | AgentEvent::ToolApprovalGranted(_)
            | AgentEvent::ToolApprovalRejected(_)
            | AgentEvent::ToolApprovalTimeout(_)
            | AgentEvent::ToolApprovalCancelled(_)
            | AgentEvent::ClientToolRequest(_)
            | AgentEvent::ClientToolCancelled(_)
            | AgentEvent::ToolQuestion(_)
            | AgentEvent::ToolQuestionEnd(_)
            | AgentEvent::NoToolCall
            | AgentEvent::UpdateBusy(_)
            | AgentEvent::TurnEnd
            | AgentEvent::ProviderItem(_)
            | AgentEvent::Retry(_)
            | AgentEvent::Failover(_) => {
                if let AgentEvent::Error(ErrorEvent { error, .. }) = event {
                    self.error = Some(error.message.clone());
                }
                at.send(AgUiEvent::Custom { name: event.kind(), value: CustomValue::Event(event) });
            }
            _ => {
                at.send(AgUiEvent::Custom { name: event.kind(), value: CustomValue::Event(event) });
            }
        }
    }
}

impl AgUi {
    /// Returns an encoder for a run of this conversation.
    #[must_use]
    pub fn new(thread_id: impl Into<Text>) -> Self {
        let (root, below, open) = (RunScope::default(), Vec::new(), Vec::new());
        let (thread_id, sent_results, notice) = (thread_id.into(), Vec::new(), None);
        Self { thread_id, has_begun: false, root, below, open, sent_results, notice }
    }

    /// Leaves out the results of these calls: the client has them in its messages, and would have them twice.
    pub(crate) fn without_results(mut self, calls: Vec<Text>) -> Self {
        self.sent_results = calls;
        self
    }

    /// Tells the client this at the beginning.
    pub(crate) fn noting(mut self, notice: Option<ResponseNotice>) -> Self {
        self.notice = notice;
        self
    }

    /// Returns `true` for the result of a call that the client sent itself.
    fn is_sent_result(&self, envelope: &Envelope) -> bool {
        let (AgentEvent::ToolResult(ToolResultEvent { call_id: id, .. })
        | AgentEvent::ToolResultError(ToolResultEvent { call_id: id, .. })) = &envelope.event
        else {
            return false;
        };
        let key = || CallKey { run: None, turn: envelope.turn, id }.to_string();
        !self.sent_results.is_empty() && self.sent_results.contains(&key().into())
    }

    fn begin(&mut self, run_id: &str, at: Option<u64>, out: &mut MessageWriter<'_>) {
        if !std::mem::replace(&mut self.has_begun, true) {
            let thread_id = &self.thread_id;
            let event = AgUiEvent::RunStarted { thread_id, run_id, protocol_version: "1.0" };
            out.send(&AgUiMessage { event, timestamp: at, subagent_run_id: None });
            if let Some(notice) = self.notice.take() {
                let data = notice.data();
                let value = CustomValue::Value(&data);
                let event = AgUiEvent::Custom { name: notice.name(), value };
                out.send(&AgUiMessage { event, timestamp: at, subagent_run_id: None });
            }
        }
    }

    /// Appends the events of a sub-agent.
    fn below(
        &mut self,
        event: &SubAgentEvent,
        above: &Envelope,
        parent: Option<&str>,
        out: &mut MessageWriter<'_>,
    ) {
        let Envelope { run_id, turn, at, event: inner, .. } = &event.envelope;
        let mut place = EventContext {
            run_id,
            turn: *turn,
            time: Some(*at),
            below: Some(run_id.as_str()),
            out,
        };
        let known = self.below.iter().position(|(known, _)| known == run_id);
        let at = known.unwrap_or_else(|| {
            let (name, id) = (event.tool_name.as_str(), event.call_id.as_str());
            let parent_tool_call_id = CallKey { run: parent, turn: above.turn, id };
            let parent_subagent_run_id = parent;
            place.send(AgUiEvent::SubagentStarted {
                name,
                parent_subagent_run_id,
                parent_tool_call_id,
            });
            self.below.push((run_id.clone(), RunScope::default()));
            self.below.len() - 1
        });
        self.requests(inner, &place);
        if let Some(deeper) = SubAgentEvent::read(inner) {
            return self.below(&deeper, &event.envelope, Some(run_id), out);
        }
        let Some((_, scope)) = self.below.get_mut(at) else { return };
        scope.event(inner, &mut place);
        if matches!(inner, AgentEvent::UpdateBusy(UpdateBusyEvent { busy: false, .. })) {
            let (_, scope) = self.below.remove(at);
            close(scope, None, &mut place);
        }
    }

    /// Keeps a request; one that is repeated after a restart replaces the first.
    fn ask(&mut self, request: AgUiInterrupt) {
        match self.open.iter_mut().find(|open| open.id == request.id) {
            Some(open) => *open = request,
            None => self.open.push(request),
        }
    }

    /// Keeps track of the open requests.
    fn requests(&mut self, event: &AgentEvent, at: &EventContext<'_, '_, '_>) {
        if let AgentEvent::ToolApprovalRequest(request) = event {
            self.ask(AgUiInterrupt {
                id: request.approval_id.to_string(),
                reason: "tool_approval",
                message: format!("May `{}` run?", request.tool_name),
                tool_call_id: at.key(&request.call_id).to_string(),
                response_schema: Json::parse(APPROVAL_SCHEMA).ok(),
            });
        } else if let AgentEvent::ToolQuestion(question) = event {
            self.ask(AgUiInterrupt {
                id: question.question_id.to_string(),
                reason: "input_required",
                message: question.message.clone(),
                tool_call_id: at.key(&question.call_id).to_string(),
                response_schema: question.schema.clone(),
            });
        } else if let AgentEvent::ToolQuestionEnd(ToolQuestionEndEvent { question_id, .. }) = event
        {
            self.open.retain(|request| request.id != question_id.as_str());
        } else if let AgentEvent::ToolApprovalGranted(ToolApprovalEvent { approval_id, .. })
        | AgentEvent::ToolApprovalRejected(ToolApprovalRejectedEvent {
            approval_id,
            ..
        })
        | AgentEvent::ToolApprovalTimeout(ToolApprovalEvent { approval_id, .. })
        | AgentEvent::ToolApprovalCancelled(ToolApprovalEvent { approval_id, .. }) = event
        {
            self.open.retain(|request| request.id != approval_id.as_str());
        }
    }

    /// Ends everything that is open.
    fn close(&mut self, run_id: &str, out: &mut MessageWriter<'_>) {
        for (run_id, scope) in self.below.drain(..).rev() {
            let below = Some(run_id.as_str());
            let mut at = EventContext { run_id: &run_id, turn: 0, time: None, below, out };
            close(scope, Some("the run above ended"), &mut at);
        }
        self.root.end(&mut EventContext { run_id, turn: 0, time: None, below: None, out });
    }

    fn finish(
        &self,
        run_id: &str,
        outcome: AgUiOutcome<'_>,
        usage: Option<AgUiUsage>,
        out: &mut MessageWriter<'_>,
    ) {
        let (thread_id, usage) = (&self.thread_id, usage.map(|usage| [usage]));
        let event = AgUiEvent::RunFinished { thread_id, run_id, outcome, usage };
        out.send(&AgUiMessage { event, timestamp: None, subagent_run_id: None });
    }

    /// Ends the response to a reader while the run waits: with outcome `interrupt` for a person's approval or answer, and `success` for the result of a
    /// call at the client. The run continues in another response, with the events that follow.
    pub fn pause(&mut self, run_id: &str, out: &mut Vec<u8>) {
        let out = &mut MessageWriter::frames(out);
        self.begin(run_id, None, out);
        self.close(run_id, out);
        let outcome = match self.open.as_slice() {
            [] => AgUiOutcome::Success,
            interrupts => AgUiOutcome::Interrupt { interrupts },
        };
        self.finish(run_id, outcome, None, out);
        self.has_begun = false;
    }
}

/// Ends a sub-agent, with this reason if it reported no end.
fn close(mut scope: RunScope, reason: Option<&str>, at: &mut EventContext<'_, '_, '_>) {
    scope.end(at);
    match scope.error.as_deref().or(reason) {
        Some(message) => at.send(AgUiEvent::SubagentError { message }),
        None => at.send(AgUiEvent::SubagentFinished {}),
    }
}

impl EncodeMessages for AgUi {
    fn encode_event(&mut self, envelope: &Envelope, out: &mut MessageWriter<'_>) {
        let Envelope { run_id, turn, at, event, .. } = envelope;
        self.begin(run_id, Some(*at), out);
        if self.is_sent_result(envelope) {
            return;
        }
        if let Some(below) = SubAgentEvent::read(event) {
            return self.below(&below, envelope, None, out);
        }
        let mut at = EventContext { run_id, turn: *turn, time: Some(*at), below: None, out };
        self.requests(event, &at);
        self.root.event(event, &mut at);
    }

    fn encode_end(&mut self, end: &RunEnd, out: &mut MessageWriter<'_>) {
        self.begin(&end.run_id, None, out);
        self.close(&end.run_id, out);
        let usage = end.usage.map(usage);
        match end.status {
            RunStatus::Completed => self.finish(&end.run_id, AgUiOutcome::Success, usage, out),
            RunStatus::Cancelled => self.finish(&end.run_id, AgUiOutcome::Cancelled, usage, out),
            RunStatus::Failed | RunStatus::Interrupted => {
                let error = end.error.as_ref();
                let message = error.map_or("the run was interrupted", |error| &error.message);
                let code = error.map(|error| error.code);
                let event = AgUiEvent::RunError { message, code };
                out.send(&AgUiMessage { event, timestamp: None, subagent_run_id: None });
            }
        }
    }
}

fn usage(usage: UsageInfo) -> AgUiUsage {
    AgUiUsage {
        input_tokens: usage.input_tokens,
        output_tokens: usage.output_tokens,
        reasoning_tokens: usage.reasoning_tokens,
        cached_input_tokens: usage.cache_read_tokens,
        cache_write_input_tokens: usage.cache_write_tokens,
    }
}
