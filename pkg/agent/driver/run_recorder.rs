//! The recorder of one run.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

use crate::{
    observe::{
        CallBegan, CallEnd, CallRecord, Emission, Observer, PartPlaces, PrefixChange,
        RequestPrefix, RequestSent, RunBegan, RunRecord, TurnRecord,
    },
    prompts::feedback,
    run::RunOutcome,
    setup::AgentSetup,
    state::{FailureKind, RunState},
    support::text,
    tools::ToolPlace,
};
use forgeline_llm::{Cost, Request, ToolSpec, private::remove_secrets};
use forgeline_types::{
    AgentEvent, CustomEvent, ErrorCode, FinishReason, Text, ToolApprovalEvent,
    ToolApprovalRejectedEvent, ToolCallEvent, ToolQuestionEndEvent, ToolResultEvent, UsageInfo,
};

/// A recorder that builds the records of a run from its events, and passes them to the observers.
#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
pub(crate) struct RunRecorder {
    observers: Arc<[Arc<dyn Observer>]>,
    wants_requests: bool,
    run: RunRecord,
    began: Instant,
    /// The turn whose calls may not have ended.
    turn: Option<OpenTurn>,
    /// The reason for the failure that is reported next.
    failure: Option<FailureKind>,
    /// The ids of the calls at the client.
    at_client: Vec<Text>,
    is_ended: bool,
    /// The parts of the system prompt, and the number of bytes of the template's system prompt.
    places: PartPlaces,
    template_bytes: usize,
    /// `true` where found tools are described at the point where they were found.
    defers_tools: bool,
    /// The system prompt and the tools of the last request of the run.
    last: Option<(Arc<str>, Arc<[ToolSpec]>)>,
}

/// A turn that has not ended.
struct OpenTurn {
    record: TurnRecord,
    /// The time at which its first request was sent.
    began: Instant,
    /// The time at which a chunk was received whose events have not been sent.
    received: Option<Instant>,
    /// `true` while the answer is in progress.
    is_answering: bool,
    /// The ids of what people are asked, and the time since which at least one is open.
    asked: Vec<Text>,
    waits_since: Option<Instant>,
}

impl OpenTurn {
    /// Records that a person is asked.
    fn ask(&mut self, id: &Text) {
        if !self.asked.contains(id) {
            self.asked.push(id.clone());
        }
        self.waits_since.get_or_insert_with(Instant::now);
    }

    /// Records that a request to a person is over.
    fn answered(&mut self, id: &Text) {
        self.asked.retain(|asked| asked != id);
        if self.asked.is_empty() {
            self.end_wait();
        }
    }

    fn end_wait(&mut self) {
        if let Some(since) = self.waits_since.take() {
            self.record.waited += since.elapsed();
        }
    }
}

impl RunRecorder {
    /// Starts the records of a run, and notifies the observers of its start.
    pub(crate) fn begin(parts: &AgentSetup, state: &RunState, resumed: bool) -> Self {
        let info = parts.provider.info();
        let mut recorder = Self {
            observers: Arc::clone(&parts.observers),
            wants_requests: false,
            run: RunRecord {
                run_id: state.outcome().run_id.clone(),
                conversation: state.context().conversation().map(Text::from),
                provider: info.provider.clone(),
                model: info.model.clone(),
                duration: Duration::ZERO,
                error: None,
            },
            began: Instant::now(),
            turn: None,
            failure: None,
            at_client: Vec::new(),
            is_ended: false,
            places: None,
            template_bytes: parts.request.system.as_deref().map_or(0, str::len),
            defers_tools: info.deferred_tools,
            last: None,
        };
        let RunRecord { run_id, conversation, provider, model, .. } = recorder.run.clone();
        let (tools, max_turns) = (parts.specs.len(), parts.config.max_turns);
        let began = RunBegan { run_id, conversation, provider, model, tools, max_turns, resumed };
        let mut wants_requests = false;
        recorder.notify_observers(|observer| {
            observer.run_began(&began);
            wants_requests |= observer.wants_requests();
        });
        recorder.wants_requests = wants_requests;
        recorder
    }

    /// Calls the observers. A panic in one of them affects nothing else.
    fn notify_observers(&self, mut call: impl FnMut(&dyn Observer)) {
        for observer in self.observers.iter() {
            let called = catch_unwind(AssertUnwindSafe(|| call(&**observer)));
            if let Err(panic) = called {
                tracing::warn!(panic = text(&*panic), "an observer panicked; the run continues");
            }
        }
    }

    /// Records an event of the run.
    pub(crate) fn see(&mut self, turn: u32, event: &AgentEvent) {
        if let AgentEvent::ApiCallStart(_) = event {
            self.begin_request(turn);
        } else if let AgentEvent::ApiCallEnd(_) = event {
            self.end_answer();
        } else if let AgentEvent::ToolCall(ToolCallEvent { call_id: id, tool_name, .. }) = event {
            self.begin_call(turn, id, tool_name);
        } else if let AgentEvent::ClientToolRequest(request) = event {
            self.at_client.push(request.call_id.clone());
            self.begin_call(turn, &request.call_id, &request.tool_name);
        } else if let AgentEvent::ToolResult(ToolResultEvent {
            call_id: id,
            tool_name,
            content,
            duration_ms,
            ..
        }) = event
        {
            self.end_call(turn, id, tool_name, content, *duration_ms, CallEnd::Succeeded);
        } else if let AgentEvent::ToolResultError(ToolResultEvent {
            call_id: id,
            tool_name,
            content,
            duration_ms,
            ..
        }) = event
        {
            let end = self.failure.take().map_or(CallEnd::Failed, CallEnd::from);
            self.end_call(turn, id, tool_name, content, *duration_ms, end);
        } else if let AgentEvent::ToolApprovalRequest(request) = event {
            self.open(turn).ask(&request.approval_id);
        } else if let AgentEvent::ToolQuestion(question) = event {
            self.open(turn).ask(&question.question_id);
        } else if let AgentEvent::ToolApprovalGranted(ToolApprovalEvent {
            approval_id: id, ..
        })
        | AgentEvent::ToolApprovalRejected(ToolApprovalRejectedEvent {
            approval_id: id,
            ..
        })
        | AgentEvent::ToolApprovalTimeout(ToolApprovalEvent {
            approval_id: id, ..
        })
        | AgentEvent::ToolApprovalCancelled(ToolApprovalEvent {
            approval_id: id, ..
        })
        | AgentEvent::ToolQuestionEnd(ToolQuestionEndEvent {
            question_id: id, ..
        }) = event
        {
            self.open(turn).answered(id);
        } else if let AgentEvent::Custom(CustomEvent { name, data, .. }) = event {
            self.notify_observers(|observer| observer.progress(&self.run.run_id, name, data));
        }
    }

    /// Returns the open turn, starting its record if the answer arrived before the run was suspended.
    fn open(&mut self, turn: u32) -> &mut OpenTurn {
        if self.turn.as_ref().is_some_and(|open| open.record.turn != turn) {
            self.end_turn();
        }
        let run = &self.run;
        self.turn.get_or_insert_with(|| OpenTurn {
            record: TurnRecord {
                run_id: run.run_id.clone(),
                conversation: run.conversation.clone(),
                turn,
                provider: run.provider.clone(),
                model: run.model.clone(),
                messages: 0,
                prefix_change: None,
                requests: 0,
                time_to_first_token: None,
                answer_time: Duration::ZERO,
                duration: Duration::ZERO,
                waited: Duration::ZERO,
                emission: Emission::default(),
                calls: Vec::new(),
                stop_reason: None,
                usage: None,
                cost: None,
                error: None,
            },
            began: Instant::now(),
            received: None,
            is_answering: false,
            asked: Vec::new(),
            waits_since: None,
        })
    }

    fn begin_request(&mut self, turn: u32) {
        let open = self.open(turn);
        open.record.requests += 1;
        open.is_answering = true;
    }

    /// Records the parts of the system prompt.
    pub(crate) fn prepared(&mut self, places: PartPlaces) {
        self.places = places;
    }

    /// Passes a request that is about to be sent to the observers that want it; `before` holds the beginning of the last one.
    pub(crate) fn request(
        &mut self,
        turn: u32,
        request: &Request,
        before: &Mutex<Option<Box<RequestPrefix>>>,
    ) {
        let change = self.look_at_prefix(request, before);
        let record = &mut self.open(turn).record;
        record.messages = request.messages.len();
        record.prefix_change = record.prefix_change.or(change);
        if !self.wants_requests {
            return;
        }
        let mut body = serde_json::to_value(request).unwrap_or_default();
        remove_secrets(&mut body);
        let (run_id, model) = (self.run.run_id.clone(), self.run.model.clone());
        let sent = RequestSent { run_id, turn, model, messages: request.messages.len(), body };
        self.notify_observers(|observer| {
            if observer.wants_requests() {
                observer.request_sent(&sent);
            }
        });
    }

    /// Returns the change in the beginning of a request since the last one. Within a run the text is mostly the same.
    fn look_at_prefix(
        &mut self,
        request: &Request,
        before: &Mutex<Option<Box<RequestPrefix>>>,
    ) -> Option<PrefixChange> {
        let is_same = self.last.as_ref().is_some_and(|(system, tools)| {
            Arc::ptr_eq(tools, &request.tools)
                && request.system.as_ref().is_some_and(|it| Arc::ptr_eq(it, system))
        });
        if is_same {
            return None;
        }
        let prefix =
            Box::new(RequestPrefix::of_request(request, &self.places, self.template_bytes));
        self.last = request.system.clone().map(|system| (system, Arc::clone(&request.tools)));
        let mut before = before.lock().unwrap_or_else(PoisonError::into_inner);
        let change = before.as_ref().and_then(|before| before.change(&prefix, self.defers_tools));
        *before = Some(prefix);
        change
    }

    /// Records the arrival of a chunk.
    pub(crate) fn chunk_received(&mut self) {
        if let Some(open) = &mut self.turn {
            open.received = Some(Instant::now());
        }
    }

    /// Records that the events of the last chunk have been sent.
    pub(crate) fn chunk_emitted(&mut self) {
        if let Some(open) = &mut self.turn
            && let Some(received) = open.received.take()
        {
            open.record.emission.add(received.elapsed());
        }
    }

    /// Records the time from a request to the first text, reasoning or call of its answer.
    pub(crate) fn first_token(&mut self, time: Duration) {
        if let Some(open) = &mut self.turn {
            open.record.time_to_first_token = Some(time);
        }
    }

    fn end_answer(&mut self) {
        self.chunk_emitted();
        if let Some(OpenTurn { record, began, is_answering, .. }) = &mut self.turn
            && std::mem::take(is_answering)
        {
            record.answer_time = began.elapsed();
            record.duration = record.answer_time;
        }
    }

    /// Records the result of an answer.
    pub(crate) fn answered(
        &mut self,
        stop_reason: Option<&FinishReason>,
        usage: Option<UsageInfo>,
        cost: Option<Cost>,
        error: Option<ErrorCode>,
    ) {
        if let Some(OpenTurn { record, .. }) = &mut self.turn {
            record.stop_reason = stop_reason.cloned();
            (record.usage, record.cost, record.error) = (usage, cost, error);
        }
    }

    /// Records the reason for the failure of the call that is reported next.
    pub(crate) fn failed(&mut self, failure: FailureKind) {
        self.failure = Some(failure);
    }

    fn begin_call(&mut self, turn: u32, id: &Text, tool_name: &Text) {
        let (run_id, id, tool_name) = (self.run.run_id.clone(), id.clone(), tool_name.clone());
        let began = CallBegan { run_id, turn, id, tool_name };
        self.notify_observers(|observer| observer.call_began(&began));
    }

    fn end_call(
        &mut self,
        turn: u32,
        id: &Text,
        tool_name: &Text,
        content: &str,
        duration_ms: u64,
        end: CallEnd,
    ) {
        let sent = self.at_client.iter().position(|it| it == id);
        let place = sent.map_or(ToolPlace::Here, |at| {
            self.at_client.swap_remove(at);
            ToolPlace::Client
        });
        let call = CallRecord {
            run_id: self.run.run_id.clone(),
            turn,
            id: id.clone(),
            tool_name: tool_name.clone(),
            place,
            duration: Duration::from_millis(duration_ms),
            result_bytes: content.len(),
            end,
            is_elided: end == CallEnd::Succeeded && feedback::is_elided(content),
        };
        self.notify_observers(|observer| observer.call_ended(&call));
        let OpenTurn { record, began, .. } = self.open(turn);
        record.duration = began.elapsed();
        record.calls.push(call);
    }

    fn end_turn(&mut self) {
        self.end_answer();
        if let Some(mut open) = self.turn.take() {
            open.end_wait();
            let OpenTurn { record, .. } = open;
            self.notify_observers(|observer| observer.turn_ended(&record));
        }
    }

    /// Notifies the observers of the end of the run.
    pub(crate) fn end(&mut self, outcome: &RunOutcome) {
        self.run.error = outcome.reason.error().map(|error| error.code).or(self.run.error);
        self.close(Some(outcome));
    }

    fn close(&mut self, outcome: Option<&RunOutcome>) {
        if !std::mem::replace(&mut self.is_ended, true) {
            self.end_turn();
            self.run.duration = self.began.elapsed();
            self.notify_observers(|observer| observer.run_ended(&self.run, outcome));
        }
    }
}

impl Drop for RunRecorder {
    /// Notifies the observers of the end of a run that was dropped.
    fn drop(&mut self) {
        self.run.error = self.run.error.or(Some(ErrorCode::Cancelled));
        self.close(None);
    }
}
