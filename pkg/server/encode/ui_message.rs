//! The UI message stream, version 1, of the AI SDK.

use super::{
    Encode, RunEnd, RunStatus,
    calls::{Calls, Told},
    frame,
    key::{CallKey, SectionKey},
    ui_asked::Asked,
    ui_part::{Data, Metadata, Part},
};
use crate::{
    agent::{ANSWER_RESTARTED, SUB_AGENT},
    types::{
        AgentEvent, CallOutcome, Citation, Envelope, FinishReason, ItemKind, Json, Text, clipped,
    },
};

/// Maximum length of an error shown after calls, in characters.
const MAX_ERROR_CHARS: usize = 220;

/// An encoder for the UI message stream of the AI SDK, version 1, which `useChat` reads unchanged.
///
/// Thinking, text, calls with their arguments as they arrive, results, approval requests and sources have parts of their own. Every other event is a
/// transient part `data-<kind>` with the event, and a custom one `data-<name>` with its data. The response has the headers `content-type:
/// text/event-stream` and [`HEADER`](Self::HEADER).
///
/// An answer that is requested again after a restart of the process is reported by `reset-step`, so that its text appears once.
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
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct UiMessageStream {
    calls: Calls,
    /// The sub-agent calls that ask the reader for something.
    asked: Asked,
    /// `true` during an answer of the model.
    is_answering: bool,
    /// The number of sections and sources so far.
    sections: u32,
    progress: Progress,
    has_results: bool,
}

/// The part of the message that has begun.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Progress {
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

    fn begin(&mut self, run_id: &str, out: &mut Vec<u8>) {
        if self.progress == Progress::Nothing {
            frame::data(&Part::Start { message_id: run_id }, out);
            self.progress = Progress::Message;
        }
    }

    fn end_step(&mut self, out: &mut Vec<u8>) {
        if matches!(self.progress, Progress::Step | Progress::EmptyStep | Progress::Asked) {
            frame::data(&Part::FinishStep, out);
            self.progress = Progress::Message;
        }
    }

    /// Retracts the parts of the current answer, which is requested again.
    fn reset_step(&mut self, out: &mut Vec<u8>) {
        if self.progress == Progress::Step {
            frame::data(&Part::ResetStep, out);
            self.progress = Progress::EmptyStep;
            self.calls.clear();
            // Sections that were open are never ended.
            self.sections += 1;
        }
    }

    /// Begins a call once its name is known, or can no longer become known.
    fn call(&mut self, turn: u32, index: u32, name: Option<&Text>, out: &mut Vec<u8>) {
        let Some(call) = self.calls.at(index).filter(|call| call.told == Told::Nothing) else {
            return;
        };
        call.told = Told::Begin;
        call.name = name.cloned().unwrap_or_else(|| "unknown".into());
        let tool_call_id = CallKey { run: None, turn, id: &call.id };
        frame::data(&Part::ToolInputStart { tool_call_id, tool_name: &call.name }, out);
    }

    /// Sends the arguments of a call, once.
    fn input(&mut self, turn: u32, (id, name): (&Text, &Text), input: &Json, out: &mut Vec<u8>) {
        if let Some(call) = self.calls.with_id(id) {
            if call.told == Told::Whole {
                return;
            }
            call.told = Told::Whole;
        }
        let tool_call_id = CallKey { run: None, turn, id };
        frame::data(&Part::ToolInputAvailable { tool_call_id, tool_name: name, input }, out);
    }
}

impl UiMessageStream {
    /// Sends the requests of sub-agent calls, in a step of their own: `useChat` sends answers once all calls of the last step have one, and the call of
    /// the agent itself has none yet.
    fn ask(&mut self, out: &mut Vec<u8>) {
        if !self.asked.has_untold() {
            return;
        }
        if self.progress != Progress::Asked {
            self.end_step(out);
            frame::data(&Part::StartStep, out);
            self.progress = Progress::Asked;
        }
        self.asked.tell(out);
    }

    /// Records the end of a call.
    fn end_call(&mut self, id: &Text, out: &mut Vec<u8>) {
        self.has_results = true;
        self.asked.end(id, out);
        if let Some(call) = self.calls.with_id(id) {
            call.told = Told::Whole;
        }
    }

    #[expect(clippy::too_many_lines, reason = "one arm for each kind")]
    fn tell(&mut self, envelope: &Envelope, out: &mut Vec<u8>) {
        let Envelope { run_id, turn, event, .. } = envelope;
        self.begin(run_id, out);
        let key = |id| CallKey { run: None, turn: *turn, id };
        let section = |number| SectionKey { run: run_id, number };
        let id = section(self.sections);
        match event {
            AgentEvent::ApiCallStart { .. } => {
                self.calls.clear();
                self.is_answering = true;
                // A step that was reset is still empty.
                if self.progress == Progress::EmptyStep {
                    self.progress = Progress::Step;
                    return;
                }
                self.end_step(out);
                frame::data(&Part::StartStep, out);
                self.progress = Progress::Step;
            }
            AgentEvent::ThinkingStart => frame::data(&Part::ReasoningStart { id }, out),
            AgentEvent::ThinkingContent { content } => {
                frame::data(&Part::ReasoningDelta { id, delta: content }, out);
            }
            AgentEvent::ThinkingEnd => {
                frame::data(&Part::ReasoningEnd { id }, out);
                self.sections += 1;
            }
            AgentEvent::MessageStart => frame::data(&Part::TextStart { id }, out),
            AgentEvent::MessageContent { content, .. } => {
                frame::data(&Part::TextDelta { id, delta: content }, out);
            }
            AgentEvent::MessageEnd => {
                frame::data(&Part::TextEnd { id }, out);
                self.sections += 1;
            }
            AgentEvent::ToolCallStart { index, id, tool_name } => {
                self.calls.begin(*index, id);
                if tool_name.is_some() {
                    self.call(*turn, *index, tool_name.as_ref(), out);
                }
            }
            AgentEvent::ToolCallContent { index, arguments, .. } => {
                let call = self.calls.at(*index).filter(|call| call.told == Told::Begin);
                if let Some(call) = call.filter(|_| !arguments.is_empty()) {
                    let tool_call_id = key(&call.id);
                    frame::data(
                        &Part::ToolInputDelta { tool_call_id, input_text_delta: arguments },
                        out,
                    );
                }
            }
            AgentEvent::ToolCallEnd { index, tool_name, outcome, .. } => {
                self.call(*turn, *index, tool_name.as_ref(), out);
                let error_text = match outcome {
                    CallOutcome::Complete => return,
                    CallOutcome::Incomplete => "the call is not whole",
                    CallOutcome::Malformed { reason, .. } => reason,
                };
                if let Some(call) = self.calls.at(*index) {
                    call.told = Told::Whole;
                    let (tool_call_id, tool_name) = (key(&call.id), call.name.as_str());
                    let input = ();
                    frame::data(
                        &Part::ToolInputError { tool_call_id, tool_name, input, error_text },
                        out,
                    );
                }
            }
            AgentEvent::ToolCall { id, tool_name, arguments } => {
                self.input(*turn, (id, tool_name), arguments, out);
            }
            AgentEvent::ClientToolRequest(request) => {
                self.input(*turn, (&request.id, &request.tool_name), &request.arguments, out);
                data(event.kind(), event, out);
            }
            AgentEvent::ToolApprovalRequest(request) => {
                self.input(*turn, (&request.id, &request.tool_name), &request.arguments, out);
                let (approval_id, tool_call_id) = (request.approval_id.as_str(), key(&request.id));
                frame::data(&Part::ToolApprovalRequest { approval_id, tool_call_id }, out);
                data(event.kind(), event, out);
            }
            AgentEvent::ToolApprovalRejected { id, .. } => {
                if let Some(call) = self.calls.with_id(id) {
                    call.is_denied = true;
                }
                data(event.kind(), event, out);
            }
            AgentEvent::ToolResult { id, content, .. } => {
                self.end_call(id, out);
                let tool_call_id = key(id);
                frame::data(&Part::ToolOutputAvailable { tool_call_id, output: content }, out);
            }
            AgentEvent::ToolResultError { id, content, .. } => {
                self.end_call(id, out);
                let tool_call_id = key(id);
                if self.calls.with_id(id).is_some_and(|call| call.is_denied) {
                    return frame::data(&Part::ToolOutputDenied { tool_call_id }, out);
                }
                frame::data(&Part::ToolOutputError { tool_call_id, error_text: content }, out);
            }
            AgentEvent::ProviderItem(item) => match &item.kind {
                ItemKind::Citation(Citation { url: Some(url), title, .. }) => {
                    let title = title.as_deref();
                    frame::data(&Part::SourceUrl { source_id: id, url, title }, out);
                    self.sections += 1;
                }
                ItemKind::Citation(_)
                | ItemKind::ServerToolCall { .. }
                | ItemKind::ServerToolResult { .. }
                | ItemKind::Reasoning
                | ItemKind::Media { .. }
                | ItemKind::Other { .. } => data(event.kind(), event, out),
            },
            AgentEvent::Custom { name, data: value } => {
                if name == ANSWER_RESTARTED {
                    self.reset_step(out);
                } else if name == SUB_AGENT {
                    self.asked.see(event, out);
                }
                data(name, value, out);
            }
            AgentEvent::ApiCallEnd { .. } | AgentEvent::TurnEnd => {
                self.is_answering = false;
                data(event.kind(), event, out);
            }
            AgentEvent::Error { .. }
            | AgentEvent::TokenUsage { .. }
            | AgentEvent::ToolOutput { .. }
            | AgentEvent::ToolApprovalGranted { .. }
            | AgentEvent::ToolApprovalTimeout { .. }
            | AgentEvent::ToolApprovalCancelled { .. }
            | AgentEvent::ClientToolCancelled { .. }
            | AgentEvent::ToolQuestion(_)
            | AgentEvent::ToolQuestionEnd { .. }
            | AgentEvent::NoToolCall
            | AgentEvent::UpdateBusy { .. }
            | AgentEvent::Retry { .. }
            | AgentEvent::Failover { .. }
            | AgentEvent::Unknown(_) => data(event.kind(), event, out),
        }
    }
}

impl Encode for UiMessageStream {
    fn event(&mut self, envelope: &Envelope, out: &mut Vec<u8>) {
        self.tell(envelope, out);
        // The unfinished parts of the previous step are sent first.
        if !self.is_answering && self.calls.are_whole() {
            self.ask(out);
        }
    }

    fn end(&mut self, end: &RunEnd, out: &mut Vec<u8>) {
        self.begin(&end.run_id, out);
        self.end_step(out);
        let finish_reason = match end.status {
            RunStatus::Completed => reason(end.finish_reason.as_ref()),
            RunStatus::Cancelled => {
                frame::data(&Part::Abort, out);
                "other"
            }
            RunStatus::Failed | RunStatus::Interrupted => {
                let message =
                    end.error.as_ref().map_or("the run was interrupted", |error| &error.message);
                frame::data(&Part::Error { error_text: &self.error_text(message) }, out);
                "error"
            }
        };
        let message_metadata =
            Metadata { run_id: &end.run_id, next: None, usage: end.usage.as_ref() };
        frame::data(&Part::Finish { finish_reason, message_metadata }, out);
        out.extend_from_slice(b"data: [DONE]\n\n");
    }
}

impl UiMessageStream {
    /// Ends the response to a reader while the run waits for a person's approval or for the result of a call at the client. The metadata contain `next`,
    /// the number of the run's next event. The message continues in another response, with the events that follow.
    pub fn pause(&mut self, run_id: &str, next: u64, out: &mut Vec<u8>) {
        self.begin(run_id, out);
        self.ask(out);
        self.end_step(out);
        let message_metadata = Metadata { run_id, next: Some(next), usage: None };
        frame::data(&Part::Finish { finish_reason: "tool-calls", message_metadata }, out);
        out.extend_from_slice(b"data: [DONE]\n\n");
        self.progress = Progress::Nothing;
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
fn data(kind: &str, value: &impl serde::Serialize, out: &mut Vec<u8>) {
    frame::data(&Data { kind, value, transient: true }, out);
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
