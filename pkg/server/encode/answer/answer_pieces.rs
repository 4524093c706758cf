//! The events of a run that are a part of its answer.

use super::client_calls::{AnswerClientCalls, WaitingClientCall};
use crate::encode::{RunEnd, RunStatus};
use forgeline_agent::notice::ANSWER_RESTARTED;
use forgeline_types::{
    AgentError, AgentEvent, CallOutcome, CustomEvent, Ending, Envelope, ErrorCode, FinishReason,
    MessageContentEvent, Text, TokenUsageEvent, ToolCallContentEvent, ToolCallEndEvent,
    ToolCallStartEvent, UsageInfo,
};

/// The receiver of the pieces of an answer.
pub(super) trait ReceivePieces {
    /// Receives a piece of the answer.
    fn piece(&mut self, event: &AgentEvent);

    /// Begins the answer of a turn.
    fn begin_turn(&mut self);

    /// Takes back the pieces of the turn, whose answer is requested again; returns `false` if the client has some of them.
    fn take_back(&mut self) -> bool;
}

/// The end of an answer.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum FrontAnswerEnd {
    /// The reason for which an answer has ended.
    Finished(FinishReason),
    /// The error of a run without an answer.
    Failed(AgentError),
}

/// The events of a run as one answer: the texts and the reasoning of the run itself, and its calls at the client. Calls of other tools and the events of
/// sub-agents are left out.
#[derive(Debug, Clone)]
pub(super) struct AnswerPieces {
    calls: AnswerClientCalls,
    /// The text between those of two turns.
    between: &'static str,
    /// The turn of the last text.
    text_turn: Option<u32>,
    /// The same before the current turn.
    text_turn_before: Option<u32>,
    /// The token usage of the answer's requests.
    usage: Option<UsageInfo>,
    failed: Option<AgentError>,
}

impl AnswerPieces {
    /// Returns the pieces of an answer that begins after the results of these calls; at the beginning of the run, if there are none.
    pub(super) fn new(between: &'static str, sent: Vec<Text>) -> Self {
        let (calls, text_turn, text_turn_before) = (AnswerClientCalls::after(sent), None, None);
        Self { calls, between, text_turn, text_turn_before, usage: None, failed: None }
    }

    /// Returns the token usage so far.
    pub(super) fn usage(&self) -> Option<&UsageInfo> {
        self.usage.as_ref()
    }

    /// Passes on the pieces of an event; returns the error after which nothing follows.
    pub(super) fn see(
        &mut self,
        envelope: &Envelope,
        out: &mut impl ReceivePieces,
    ) -> Option<&AgentError> {
        let is_before = self.calls.awaited().is_some();
        self.calls.see(envelope);
        if is_before || self.failed.is_some() {
            return self.failed.as_ref();
        }
        if let Some(id) = self.calls.late() {
            let message = format!(
                "the result of the call `{id}` came after the run had stopped waiting for it; send a new message"
            );
            self.failed = Some(AgentError::new(ErrorCode::InvalidInput, message));
            return self.failed.as_ref();
        }
        let event = &envelope.event;
        match event {
            AgentEvent::MessageContent(_) => {
                let last = self.text_turn.replace(envelope.turn);
                if last.is_some_and(|last| last != envelope.turn) && !self.between.is_empty() {
                    let between = MessageContentEvent::new(self.between);
                    out.piece(&AgentEvent::MessageContent(between));
                }
                out.piece(event);
            }
            AgentEvent::ThinkingContent(_) | AgentEvent::ThinkingEnd | AgentEvent::MessageEnd => {
                out.piece(event);
            }
            AgentEvent::TokenUsage(TokenUsageEvent { usage, .. }) => {
                self.usage.get_or_insert_default().add(usage);
            }
            AgentEvent::ApiCallStart(_) => {
                self.text_turn_before = self.text_turn;
                out.begin_turn();
            }
            AgentEvent::Custom(CustomEvent { name, .. }) if name == ANSWER_RESTARTED => {
                self.text_turn = self.text_turn_before;
                if !out.take_back() {
                    let message = "the service began this answer again, and a part of it was sent already; read the run, or send the request again";
                    self.failed = Some(AgentError::new(ErrorCode::EndedEarly, message));
                }
            }
            AgentEvent::ThinkingStart
            | AgentEvent::MessageStart
            | AgentEvent::ApiCallEnd(_)
            | AgentEvent::ToolCallStart(_)
            | AgentEvent::ToolCallContent(_)
            | AgentEvent::ToolCallEnd(_)
            | AgentEvent::ToolCall(_)
            | AgentEvent::ToolOutput(_)
            | AgentEvent::ToolResult(_)
            | AgentEvent::ToolResultError(_)
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
            | AgentEvent::Failover(_)
            // An error of a request that is tried again ends nothing; that of a run is in its end.
            | AgentEvent::Error(_)
            | AgentEvent::Custom(_)
            | AgentEvent::Unknown(_) => {}
            _ => {}
        }
        self.failed.as_ref()
    }

    /// Passes on the calls that wait for the client, with which the answer ends.
    pub(super) fn pause(&mut self, out: &mut impl ReceivePieces) -> FrontAnswerEnd {
        if let Some(error) = self.unknown_call() {
            return FrontAnswerEnd::Failed(error);
        }
        let calls = self.calls.take_open();
        if calls.is_empty() {
            let message = "the run waits for its client, and not for a call of it; read the run";
            return FrontAnswerEnd::Failed(AgentError::new(ErrorCode::Internal, message));
        }
        for (index, call) in (0..).zip(calls) {
            send_call(index, &call, out);
        }
        FrontAnswerEnd::Finished(FinishReason::ToolCalls)
    }

    /// Returns the error for a result of a call that the run did not make.
    fn unknown_call(&self) -> Option<AgentError> {
        let id = self.calls.awaited()?;
        let message =
            format!("the run has no call `{id}`; send the id of a call as the answer had it");
        Some(AgentError::new(ErrorCode::InvalidInput, message))
    }

    /// Returns how the answer ends with the run.
    pub(super) fn end(&mut self, end: &RunEnd) -> FrontAnswerEnd {
        if let Some(error) = self.unknown_call() {
            return FrontAnswerEnd::Failed(error);
        }
        // Runs of older versions have no counts of each request.
        if self.usage.is_none() {
            self.usage = end.usage;
        }
        end_of(end)
    }
}

/// Passes on a call as a model would make it.
fn send_call(index: u32, call: &WaitingClientCall, out: &mut impl ReceivePieces) {
    let WaitingClientCall { id, name, arguments } = call;
    let start = ToolCallStartEvent::new(index, id.clone()).tool_name(name.clone());
    out.piece(&AgentEvent::ToolCallStart(start));
    let content = ToolCallContentEvent::new(index, "", arguments.as_str());
    out.piece(&AgentEvent::ToolCallContent(content));
    let end = ToolCallEndEvent::new(index, CallOutcome::Complete);
    out.piece(&AgentEvent::ToolCallEnd(end.tool_name(name.clone())));
}

/// Returns the end of an answer of a run that has ended. Only an answer that is complete ends with `stop`.
fn end_of(end: &RunEnd) -> FrontAnswerEnd {
    let reason = match end.ending {
        Some(Ending::Answered) => answered(end.finish_reason.as_ref()),
        None if end.status == RunStatus::Completed => answered(end.finish_reason.as_ref()),
        Some(Ending::Limit | Ending::Cut) => FinishReason::Length,
        Some(Ending::Filtered | Ending::Refused) => FinishReason::ContentFilter,
        Some(
            Ending::Malformed
            | Ending::Empty
            | Ending::Invalid
            | Ending::Cancelled
            | Ending::Failed
            | _,
        )
        | None => {
            let cancelled = end.status == RunStatus::Cancelled;
            let code = if cancelled { ErrorCode::Cancelled } else { ErrorCode::Internal };
            let message =
                if cancelled { "the run was cancelled" } else { "the run was interrupted" };
            let error = end.error.clone().unwrap_or_else(|| AgentError::new(code, message));
            return FrontAnswerEnd::Failed(error);
        }
    };
    FrontAnswerEnd::Finished(reason)
}

/// Returns the reason for the end of a complete answer. A tool that ends its run is not a call for the client.
fn answered(reason: Option<&FinishReason>) -> FinishReason {
    match reason {
        Some(FinishReason::Length | FinishReason::ContextExceeded) => FinishReason::Length,
        Some(FinishReason::ContentFilter | FinishReason::Refusal) => FinishReason::ContentFilter,
        Some(
            FinishReason::Stop
            | FinishReason::ToolCalls
            | FinishReason::Malformed
            | FinishReason::Pause
            | FinishReason::Repetition
            | FinishReason::Interrupted
            | FinishReason::Other(_),
        )
        | None => FinishReason::Stop,
        Some(_) => FinishReason::Stop,
    }
}
