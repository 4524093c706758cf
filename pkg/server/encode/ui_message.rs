//! The UI message stream, version 1, of the AI SDK.

use super::{
    EncodeMessages, RunEnd, RunStatus,
    answer_calls::{AnswerCalls, SentProgress},
    key::{CallKey, SectionKey},
    message_writer::MessageWriter,
    notice::ResponseNotice,
    sub_agent_requests::SubAgentRequests,
    ui_part::{DataPart, MessageMetadata, UiPart},
};
use forgeline_agent::notice::{ANSWER_RESTARTED, SUB_AGENT};
use forgeline_types::{
    AgentEvent, CallOutcome, Citation, CustomEvent, Ending, Envelope, FinishReason, ItemKind, Json,
    MessageContentEvent, Text, ThinkingContentEvent, ToolApprovalRejectedEvent,
    ToolCallContentEvent, ToolCallEndEvent, ToolCallEvent, ToolCallStartEvent, ToolResultEvent,
    private::clipped,
};

/// Maximum length of an error shown after calls, in characters.
const MAX_ERROR_CHARS: usize = 220;

/// An encoder for the UI message stream of the AI SDK, version 1, which `useChat` reads unchanged.
///
/// Thinking, text, calls with their arguments as they arrive, results, approval requests and sources have parts of their own. Every other event is a
/// transient part `data-<kind>` with the event, and a custom one `data-<name>` with its data. The response has the headers `content-type:
/// text/event-stream` and [`HEADER`](Self::HEADER).
///
/// An answer that is requested again after a restart of the process begins another step, or takes the first attempt back: see
/// [`with_reset_step`](Self::with_reset_step).
///
/// A sub-agent's call that asks for approval, or is at the client, is a part, too, in a step of its own after the answer that called the agent. All other
/// events of a sub-agent are only in transient parts.
///
/// Call ids are unique only within their answer: `toolCallId` is the turn, a dot, and the id, preceded by the run for sub-agents.
///
/// # Examples
///
/// ```
/// use forgeline::{
///     server::encode::{Encode, RunEnd, RunStatus, UiMessageStream},
///     types::{AgentEvent, Envelope},
/// };
///
/// let (mut encoder, mut frames) = (UiMessageStream::new(), Vec::new());
/// encoder.event(&Envelope::new("run".into(), 1, 0, 0, AgentEvent::MessageStart), &mut frames);
/// encoder.end(&RunEnd::new("run", 1, RunStatus::Completed), &mut frames);
/// let frames = String::from_utf8(frames)?;
/// assert!(frames.contains(r#"data: {"type":"text-start","id":"run.0"}"#));
/// assert!(frames.ends_with("data: [DONE]\n\n"));
/// # Ok::<(), std::string::FromUtf8Error>(())
/// ```
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
pub struct UiMessageStream {
    calls: AnswerCalls,
    /// The sub-agent calls that ask the reader for something.
    asked: SubAgentRequests,
    /// `true` during an answer of the model.
    is_answering: bool,
    /// The number of sections and sources so far.
    sections: u32,
    progress: MessageProgress,
    has_results: bool,
    /// `true` for a client that knows `reset-step`.
    resets: bool,
    /// The notice at the beginning of the response, if there is one.
    notice: Option<ResponseNotice>,
}

/// The part of the message that has begun.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum MessageProgress {
    #[default]
    Nothing,
    Message,
    Step,
    /// A step whose answer is requested again.
    EmptyStep,
    /// A step of sub-agent calls.
    Asked,
}

impl UiMessageStream {
    /// The header with the version of the protocol, and its value.
    pub const HEADER: (&'static str, &'static str) = ("x-vercel-ai-ui-message-stream", "v1");

    /// Returns the encoder.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes back the first attempt of an answer that is requested again after a restart, by `reset-step`. `useChat` knows that part since version 7 of
    /// the AI SDK, and breaks off at it before.
    #[must_use]
    pub fn with_reset_step(mut self, resets: bool) -> Self {
        self.resets = resets;
        self
    }

    /// Tells the client this at the beginning.
    pub(crate) fn noting(mut self, notice: Option<ResponseNotice>) -> Self {
        self.notice = notice;
        self
    }

    fn begin(&mut self, run_id: &str, out: &mut MessageWriter<'_>) {
        if self.progress == MessageProgress::Nothing {
            out.send(&UiPart::Start { message_id: run_id });
            self.progress = MessageProgress::Message;
            if let Some(notice) = self.notice.take() {
                data(notice.name(), &notice.data(), out);
            }
        }
    }

    fn end_step(&mut self, out: &mut MessageWriter<'_>) {
        if matches!(
            self.progress,
            MessageProgress::Step | MessageProgress::EmptyStep | MessageProgress::Asked
        ) {
            out.send(&UiPart::FinishStep);
            self.progress = MessageProgress::Message;
        }
    }

    /// Retracts the parts of the current answer, which is requested again.
    fn reset_step(&mut self, out: &mut MessageWriter<'_>) {
        if self.progress == MessageProgress::Step {
            if self.resets {
                out.send(&UiPart::ResetStep);
                self.progress = MessageProgress::EmptyStep;
            } else {
                // Parts cannot be taken back: those of the first attempt stay in a step of their own.
                self.end_step(out);
            }
            self.calls.clear();
            // Sections that were open are never ended.
            self.sections += 1;
        }
    }

    /// Begins a call once its name is known, or can no longer become known.
    fn call(&mut self, turn: u32, index: u32, name: Option<&Text>, out: &mut MessageWriter<'_>) {
        let Some(call) = self.calls.at(index).filter(|call| call.progress == SentProgress::Nothing)
        else {
            return;
        };
        call.progress = SentProgress::Begin;
        call.name = name.cloned().unwrap_or_else(|| "unknown".into());
        let tool_call_id = CallKey { run: None, turn, id: &call.id };
        out.send(&UiPart::ToolInputStart { tool_call_id, tool_name: &call.name });
    }

    /// Sends the arguments of a call, once.
    fn input(
        &mut self,
        turn: u32,
        (id, name): (&Text, &Text),
        input: &Json,
        out: &mut MessageWriter<'_>,
    ) {
        if let Some(call) = self.calls.with_id(id) {
            if call.progress == SentProgress::Whole {
                return;
            }
            call.progress = SentProgress::Whole;
        }
        let tool_call_id = CallKey { run: None, turn, id };
        out.send(&UiPart::ToolInputAvailable { tool_call_id, tool_name: name, input });
    }
}

impl UiMessageStream {
    /// Sends the requests of sub-agent calls, in a step of their own: `useChat` sends answers once all calls of the last step have one, and the call of
    /// the agent itself has none yet.
    fn ask(&mut self, out: &mut MessageWriter<'_>) {
        if !self.asked.has_unsent() {
            return;
        }
        if self.progress != MessageProgress::Asked {
            self.end_step(out);
            out.send(&UiPart::StartStep);
            self.progress = MessageProgress::Asked;
        }
        self.asked.send_unsent(out);
    }

    /// Records the end of a call.
    fn end_call(&mut self, id: &Text, out: &mut MessageWriter<'_>) {
        self.has_results = true;
        self.asked.end(id, out);
        if let Some(call) = self.calls.with_id(id) {
            call.progress = SentProgress::Whole;
        }
    }

    #[expect(clippy::too_many_lines, reason = "one arm for each kind")]
    fn send_event(&mut self, envelope: &Envelope, out: &mut MessageWriter<'_>) {
        let Envelope { run_id, turn, event, .. } = envelope;
        self.begin(run_id, out);
        let key = |id| CallKey { run: None, turn: *turn, id };
        let section = |number| SectionKey { run: run_id, number };
        let id = section(self.sections);
        match event {
            AgentEvent::ApiCallStart(_) => {
                self.calls.clear();
                self.is_answering = true;
                // A step that was reset is still empty.
                if self.progress == MessageProgress::EmptyStep {
                    self.progress = MessageProgress::Step;
                    return;
                }
                self.end_step(out);
                out.send(&UiPart::StartStep);
                self.progress = MessageProgress::Step;
            }
            AgentEvent::ThinkingStart => out.send(&UiPart::ReasoningStart { id }),
            AgentEvent::ThinkingContent(ThinkingContentEvent { content, .. }) => {
                out.send(&UiPart::ReasoningDelta { id, delta: content });
            }
            AgentEvent::ThinkingEnd => {
                out.send(&UiPart::ReasoningEnd { id });
                self.sections += 1;
            }
            AgentEvent::MessageStart => out.send(&UiPart::TextStart { id }),
            AgentEvent::MessageContent(MessageContentEvent { content, .. }) => {
                out.send(&UiPart::TextDelta { id, delta: content });
            }
            AgentEvent::MessageEnd => {
                out.send(&UiPart::TextEnd { id });
                self.sections += 1;
            }
            AgentEvent::ToolCallStart(ToolCallStartEvent {
                index, call_id: id, tool_name, ..
            }) => {
                self.calls.begin(*index, id);
                if tool_name.is_some() {
                    self.call(*turn, *index, tool_name.as_ref(), out);
                }
            }
            AgentEvent::ToolCallContent(ToolCallContentEvent { index, arguments, .. }) => {
                let call =
                    self.calls.at(*index).filter(|call| call.progress == SentProgress::Begin);
                if let Some(call) = call.filter(|_| !arguments.is_empty()) {
                    let tool_call_id = key(&call.id);
                    out.send(&UiPart::ToolInputDelta { tool_call_id, input_text_delta: arguments });
                }
            }
            AgentEvent::ToolCallEnd(ToolCallEndEvent { index, tool_name, outcome, .. }) => {
                self.call(*turn, *index, tool_name.as_ref(), out);
                let error_text = match outcome {
                    CallOutcome::Complete => return,
                    CallOutcome::Incomplete => "the call is not whole",
                    CallOutcome::Malformed { reason, .. } => reason,
                    _ => "the call cannot be used",
                };
                if let Some(call) = self.calls.at(*index) {
                    call.progress = SentProgress::Whole;
                    let (tool_call_id, tool_name) = (key(&call.id), call.name.as_str());
                    let input = ();
                    out.send(&UiPart::ToolInputError {
                        tool_call_id,
                        tool_name,
                        input,
                        error_text,
                    });
                }
            }
            AgentEvent::ToolCall(ToolCallEvent { call_id: id, tool_name, arguments, .. }) => {
                self.input(*turn, (id, tool_name), arguments, out);
            }
            AgentEvent::ClientToolRequest(request) => {
                self.input(*turn, (&request.call_id, &request.tool_name), &request.arguments, out);
                data(event.kind(), event, out);
            }
            AgentEvent::ToolApprovalRequest(request) => {
                self.input(*turn, (&request.call_id, &request.tool_name), &request.arguments, out);
                let (approval_id, tool_call_id) =
                    (request.approval_id.as_str(), key(&request.call_id));
                out.send(&UiPart::ToolApprovalRequest { approval_id, tool_call_id });
                data(event.kind(), event, out);
            }
            AgentEvent::ToolApprovalRejected(ToolApprovalRejectedEvent { call_id: id, .. }) => {
                if let Some(call) = self.calls.with_id(id) {
                    call.is_denied = true;
                }
                data(event.kind(), event, out);
            }
            AgentEvent::ToolResult(ToolResultEvent { call_id: id, content, .. }) => {
                self.end_call(id, out);
                let tool_call_id = key(id);
                out.send(&UiPart::ToolOutputAvailable { tool_call_id, output: content });
            }
            AgentEvent::ToolResultError(ToolResultEvent { call_id: id, content, .. }) => {
                self.end_call(id, out);
                let tool_call_id = key(id);
                if self.calls.with_id(id).is_some_and(|call| call.is_denied) {
                    return out.send(&UiPart::ToolOutputDenied { tool_call_id });
                }
                out.send(&UiPart::ToolOutputError { tool_call_id, error_text: content });
            }
            AgentEvent::ProviderItem(item) => match &item.kind {
                ItemKind::Citation(Citation { url: Some(url), title, .. }) => {
                    let title = title.as_deref();
                    out.send(&UiPart::SourceUrl { source_id: id, url, title });
                    self.sections += 1;
                }
                ItemKind::Citation(_)
                | ItemKind::ServerToolCall { .. }
                | ItemKind::ServerToolResult { .. }
                | ItemKind::Reasoning
                | ItemKind::Media { .. }
                | ItemKind::Other { .. } => data(event.kind(), event, out),
                _ => data(event.kind(), event, out),
            },
            AgentEvent::Custom(CustomEvent { name, data: value, .. }) => {
                if name == ANSWER_RESTARTED {
                    self.reset_step(out);
                } else if name == SUB_AGENT {
                    self.asked.see(event, out);
                }
                data(name, value, out);
            }
            AgentEvent::ApiCallEnd(_) | AgentEvent::TurnEnd => {
                self.is_answering = false;
                data(event.kind(), event, out);
            }
            AgentEvent::Error(_)
            | AgentEvent::TokenUsage(_)
            | AgentEvent::ToolOutput(_)
            | AgentEvent::ToolApprovalGranted(_)
            | AgentEvent::ToolApprovalTimeout(_)
            | AgentEvent::ToolApprovalCancelled(_)
            | AgentEvent::ClientToolCancelled(_)
            | AgentEvent::ToolQuestion(_)
            | AgentEvent::ToolQuestionEnd(_)
            | AgentEvent::NoToolCall
            | AgentEvent::UpdateBusy(_)
            | AgentEvent::Retry(_)
            | AgentEvent::Failover(_)
            | AgentEvent::Unknown(_) => data(event.kind(), event, out),
            _ => data(event.kind(), event, out),
        }
    }
}

impl EncodeMessages for UiMessageStream {
    fn encode_event(&mut self, envelope: &Envelope, out: &mut MessageWriter<'_>) {
        self.send_event(envelope, out);
        // The unfinished parts of the previous step are sent first.
        if !self.is_answering && self.calls.are_whole() {
            self.ask(out);
        }
    }

    fn encode_end(&mut self, end: &RunEnd, out: &mut MessageWriter<'_>) {
        self.begin(&end.run_id, out);
        self.end_step(out);
        let finish_reason = match end.status {
            RunStatus::Completed => reason(end.finish_reason.as_ref()),
            RunStatus::Cancelled => {
                out.send(&UiPart::Abort);
                "other"
            }
            RunStatus::Failed | RunStatus::Interrupted => {
                let message =
                    end.error.as_ref().map_or("the run was interrupted", |error| &error.message);
                out.send(&UiPart::Error { error_text: &self.error_text(message) });
                match end.ending {
                    Some(Ending::Refused | Ending::Filtered) => "content-filter",
                    _ => "error",
                }
            }
        };
        let message_metadata =
            MessageMetadata { run_id: &end.run_id, next: None, usage: end.usage.as_ref() };
        out.send(&UiPart::Finish { finish_reason, message_metadata });
        out.send_done();
    }
}

impl UiMessageStream {
    /// Ends the response to a reader while the run waits for a person's approval or for the result of a call at the client. The metadata contain `next`,
    /// the number of the run's next event. The message continues in another response, with the events that follow.
    pub fn pause(&mut self, run_id: &str, next: u64, out: &mut Vec<u8>) {
        let out = &mut MessageWriter::frames(out);
        self.begin(run_id, out);
        self.ask(out);
        self.end_step(out);
        let message_metadata = MessageMetadata { run_id, next: Some(next), usage: None };
        out.send(&UiPart::Finish { finish_reason: "tool-calls", message_metadata });
        out.send_done();
        self.progress = MessageProgress::Nothing;
    }

    /// Returns the text of an error that ended the message.
    fn error_text(&self, message: &str) -> String {
        if !self.has_results {
            return message.to_owned();
        }
        let shown = clipped(message, MAX_ERROR_CHARS);
        format!("Generation failed after tool execution: {shown}")
    }
}

/// Appends an event as a part of a kind that the protocol leaves to the server.
fn data(kind: &str, value: &impl serde::Serialize, out: &mut MessageWriter<'_>) {
    out.send(&DataPart { kind, value, transient: true });
}

fn reason(reason: Option<&FinishReason>) -> &'static str {
    match reason {
        None | Some(FinishReason::Stop) => "stop",
        Some(FinishReason::Length | FinishReason::ContextExceeded) => "length",
        Some(FinishReason::ContentFilter | FinishReason::Refusal) => "content-filter",
        Some(FinishReason::ToolCalls) => "tool-calls",
        Some(_) => "other",
    }
}
