//! A run's conversation: its requests, the answers to them, and the messages that are kept.

use std::sync::Arc;

use tracing::Instrument as _;

use super::{
    answer,
    answer_reader::{AnswerReader, OnRefusal, ProviderResponse, ReadOutcome, SealedCall},
    bound_answer,
    calls::{CallSite, RunningCalls},
    event_emitter::EventEmitter,
    panic_safe_stream,
    run_recorder::RunRecorder,
    shared_agent::SharedAgent,
    spans,
    withheld::withheld,
};
use crate::{
    config::CallStart,
    notice::{CallModeFallbackNotice, CallsInTextNotice, Notice},
    search::{LoadedTools, ToolIndex, unwrap_call},
    setup::{AgentSetup, RequestMode, RequestModes, is_refusal},
    state::{
        AnswerId, AskKind, CompleteCall, ModelAnswer, RunPrompt, RunState, StepInput,
        missing_results,
    },
};
use forgeline_core::StreamEnd;
use forgeline_llm::{AnswerSchema, ProviderError, Request, ToolChoice, ToolSpec};
use forgeline_types::{AgentEvent, ApiCallStartEvent, Completion, ErrorCode, FinishReason, Part};

/// The conversation of one run.
pub(super) struct RunConversation<'a> {
    pub(super) agent: &'a SharedAgent,
    pub(super) parts: &'a AgentSetup,
    pub(super) modes: &'a RequestModes,
    /// The current mode.
    pub(super) mode: &'a RequestMode,
    /// Boxed: the future of a run holds each place that it is moved through.
    pub(super) emitter: Box<EventEmitter>,
    /// The request from which all requests of the run are made. Boxed: it is as large as everything
    /// else that a waiting run holds.
    pub(super) template: Option<Box<Request>>,
    /// The tools that the conversation has found, where tools are searched for.
    pub(super) loaded: Option<Box<LoadedTools>>,
    /// The answer in progress.
    pub(super) open: Option<Box<OpenAnswer>>,
}

/// An answer in progress.
pub(super) struct OpenAnswer {
    id: AnswerId,
    kind: AskKind,
    /// The estimate for the answer's request, where one was made.
    estimated: u64,
    reading: AnswerReader,
}

impl<'a> RunConversation<'a> {
    /// Starts recording, if the agent has observers. Events that are emitted again were recorded before.
    pub(super) fn begin_records(&mut self, state: &RunState, is_resumed: bool) {
        if !self.parts.observers.is_empty() {
            let recorder = RunRecorder::begin(self.parts, state, is_resumed);
            self.emitter.record(Some(Box::new(recorder)));
        }
    }

    /// Returns the part of the run's setup that calls need.
    pub(super) fn site(&self) -> CallSite<'a> {
        let RequestMode { native, indirect, .. } = *self.mode;
        CallSite { parts: self.parts, agent: self.agent, native, indirect }
    }

    fn request(&self, state: &RunState) -> Request {
        let caches = self.parts.provider.info().capabilities.prompt_caching;
        let RunPrompt { text, withheld, .. } = state.prompt();
        // A resumed run may have fewer permissions than when it started.
        let now = self.parts.withheld(state.context());
        if withheld.is_empty() && now.is_empty() {
            return self.mode.request(&self.parts.request, text, caches, None);
        }
        let is_offered =
            |spec: &&ToolSpec| !withheld.contains(&spec.name) && !now.contains(&spec.name);
        let offered = self.parts.offered(self.mode.indirect);
        let offered = offered.iter().filter(is_offered).cloned().collect();
        self.mode.request(&self.parts.request, text, caches, Some(offered))
    }

    /// Returns a copy of the request from which all requests of the run are made.
    pub(super) fn next_request(&mut self, state: &RunState) -> Request {
        if self.template.is_none() {
            self.template = Some(Box::new(self.request(state)));
            self.loaded = None;
        }
        let is_loaded = self.mode.native && !self.mode.indirect;
        if let Some(index) = self.parts.index.as_deref().filter(|_| is_loaded) {
            self.load(index, state);
        }
        self.template.as_deref().cloned().unwrap_or_default()
    }

    /// Adds the tools that the conversation has found after those that were offered from the start.
    fn load(&mut self, index: &ToolIndex, state: &RunState) {
        let Self { agent, parts, template, loaded, .. } = self;
        let (loaded, Some(template)) = (loaded.get_or_insert_default(), template) else { return };
        if !loaded.read_messages(index, agent.memory.lock().transcript()) {
            return;
        }
        let may_use = |spec: &ToolSpec| parts.is_open(&spec.name, state);
        let first = template.tools.iter().filter(|spec| !spec.deferred).cloned().collect();
        template.tools = loaded.behind(&first, index, may_use);
    }

    /// Sends the request for an answer.
    ///
    /// A request that a provider refuses because of native tools is sent once more in text mode, where that may help.
    pub(super) async fn ask(&mut self, state: &RunState, id: AnswerId, kind: AskKind) {
        self.emitter.begin_turn(id.turn);
        let on_refusal = if kind == AskKind::Continue {
            OnRefusal::HandBack(is_too_long)
        } else if self.modes.may_fall_back(self.agent.memory.lock().transcript()) {
            OnRefusal::HandBack(is_refused)
        } else {
            OnRefusal::HandBack(is_content_refused)
        };
        self.send(state, id, kind, 0, on_refusal).await;
    }

    /// Sends the request for an answer, with the appended messages that the conversation does not
    /// keep. A request that is built where it is sent takes no space in the future.
    async fn send(
        &mut self,
        state: &RunState,
        id: AnswerId,
        kind: AskKind,
        attempts_made: u32,
        on_refusal: OnRefusal,
    ) {
        let is_last = matches!(kind, AskKind::LastAnswer(_));
        let goal = state.goal().filter(|_| kind == AskKind::Typed);
        let (provider, mode) = (&*self.parts.provider, self.mode);
        let info = provider.info();
        let (name, model) = (info.provider.clone(), info.model.clone());
        let span = spans::chat(self.parts, id.turn, state.context().conversation());
        let start = AgentEvent::ApiCallStart(ApiCallStartEvent::new(name, model));
        self.emitter.emit(start).await;
        let (cancel, mut estimated) = (self.emitter.begin_answer(), 0);
        let opening = span.in_scope(|| {
            let mut request = self.next_request(state).attempts_made(attempts_made);
            if (is_last || goal.is_some()) && !request.tools.is_empty() {
                request.tool_choice = Some(ToolChoice::None);
            }
            let SharedAgent { memory, written, .. } = self.agent;
            (request.messages, estimated) = if self.has_window(state) {
                let window = self.agent.window();
                (written.history(&window.sent(), mode), window.estimated())
            } else {
                (written.history(memory.lock().transcript(), mode), 0)
            };
            for message in state.aside(kind) {
                request.messages.push(message);
            }
            if let Some(recorder) = self.emitter.recorder() {
                recorder.request(id.turn, &request, &self.agent.prefix);
            }
            match goal {
                Some(goal) => panic_safe_stream::answer(provider, request, goal.clone()),
                None => panic_safe_stream::stream(provider, request),
            }
        });
        let is_bound = goal.is_some();
        let early = self.parts.config.call_start == CallStart::AsComplete && !is_last && !is_bound;
        let machine = mode.machine(is_bound);
        let reading = AnswerReader::new(opening, machine, on_refusal, early, cancel, span);
        let reading = reading.unwrapping(mode.indirect && !is_bound);
        self.open = Some(Box::new(OpenAnswer { id, kind, estimated, reading }));
    }

    /// Reads the answer in progress, and returns when a part of it needs a decision.
    pub(crate) async fn read_answer(
        &mut self,
        state: &RunState,
        mut calls: Option<&mut RunningCalls<'_>>,
    ) -> Option<StepInput> {
        loop {
            let OpenAnswer { id, reading, .. } = &mut **self.open.as_mut()?;
            let (id, span) = (*id, reading.span.clone());
            let heard = reading.next(&mut self.emitter, calls.as_deref_mut());
            let end = match heard.instrument(span).await {
                ReadOutcome::Sealed(sealed) => {
                    let SealedCall { mut call, body_bytes, mut parts, ends } = *sealed;
                    if self.mode.indirect {
                        unwrap_call(&mut call);
                        unwrap_all(&mut parts);
                    }
                    let message =
                        answer::message(parts, self.mode.native, false, &self.mode.thinking)
                            .map(Arc::new);
                    let sealed = CompleteCall { call, body_bytes, message, ends };
                    return Some(StepInput::Called(id, Box::new(sealed)));
                }
                ReadOutcome::News(news) => {
                    let Some(calls) = calls.as_deref_mut() else { continue };
                    match calls.pass_on(news, &mut self.emitter).await {
                        Some(input) => return Some(input),
                        None => continue,
                    }
                }
                ReadOutcome::Ended(end) => Ok(end),
                ReadOutcome::Refused(error) => Err(error),
            };
            let OpenAnswer { kind, estimated, reading, .. } = *self.open.take()?;
            match end {
                Ok(end) => {
                    let goal = state.goal().filter(|_| kind == AskKind::Typed);
                    let mut answer = self.close(reading, end, goal).await;
                    answer.estimated = estimated;
                    return Some(StepInput::Answered(id, answer));
                }
                // Boxed: this is rare, and sends another request.
                Err(error) => {
                    let again = self.after_refusal(state, id, kind, reading, error);
                    if let Some(input) = Box::pin(again).await {
                        return Some(input);
                    }
                }
            }
        }
    }

    /// Sends the request again in the other call mode; returns the refusal of a part of the conversation, or the end of an
    /// answer for which neither is possible.
    async fn after_refusal(
        &mut self,
        state: &RunState,
        id: AnswerId,
        kind: AskKind,
        reading: AnswerReader,
        error: ProviderError,
    ) -> Option<StepInput> {
        spans::failed(&reading.span, &error.to_agent_error());
        self.emitter.emit(reading.refused()).await;
        if kind == AskKind::Continue {
            let answer = ModelAnswer { error: Some(error.into()), ..ModelAnswer::default() };
            return Some(StepInput::Answered(id, Box::new(answer)));
        }
        let may_fall_back = self.modes.may_fall_back(self.agent.memory.lock().transcript());
        if !may_fall_back || !is_refusal(&error) {
            self.mode = self.modes.current();
            if let Some(mut refusal) = self.content_refusal(state, &error) {
                Box::pin(self.learn_window(state, &mut refusal)).await;
                return Some(StepInput::ContentRefused(id, Box::new(refusal)));
            }
            let answer = ModelAnswer { error: Some(error.into()), ..ModelAnswer::default() };
            return Some(StepInput::Answered(id, Box::new(answer)));
        }
        self.fall_back(&error).await;
        // The attempts count together, so that a failing server does not get twice as many requests.
        let made = error.attempts();
        self.template = None;
        if let Some(input) = self.fit(state, id) {
            return Some(input);
        }
        self.send(state, id, kind, made, OnRefusal::FailWith(error)).await;
        None
    }

    async fn fall_back(&mut self, error: &ProviderError) {
        let reason = error.to_agent_error().message;
        tracing::warn!(%reason, "the provider refuses native tools; retrying in text mode");
        self.mode = self.modes.text(self.parts);
        let (from, to) = ("native".into(), "text".into());
        let notice = Notice::CallModeFallback(CallModeFallbackNotice { from, to, reason });
        self.emitter.emit_while_running(notice.into()).await;
    }

    /// Ends the answer in progress, if any, and returns what has arrived of it: the run does not continue.
    pub(super) async fn give_up(&mut self) -> Option<Box<ModelAnswer>> {
        let OpenAnswer { mut reading, .. } = *self.open.take()?;
        reading.interrupt();
        Some(self.close(reading, StreamEnd::Done, None).await)
    }

    /// Closes the answer, emits its last events and returns it.
    fn close(
        &mut self,
        reading: AnswerReader,
        end: StreamEnd,
        goal: Option<&AnswerSchema>,
    ) -> impl Future<Output = Box<ModelAnswer>> {
        let (mut response, events) = reading.span.clone().in_scope(|| reading.end(end));
        let withheld = withheld(&response.completion, self.parts.provider.info());
        response.completion.error = response.completion.error.take().or(withheld);
        if goal.is_none() {
            let format = self.parts.request.response_format.as_ref();
            bound_answer::check_format(&mut response.completion, format);
        }
        if let Some(goal) = goal {
            bound_answer::parse_answer(&mut response.completion, goal);
        }
        let left = response.calls_in_text && self.modes.may_tell_of_text(self.mode);
        let answer = move |this: &mut Self| Box::new(this.answer(response));
        async move {
            for event in events {
                self.emitter.emit(event).await;
            }
            if left {
                let model = self.parts.provider.info().model.clone();
                let dialect = self.mode.options.tools.name().into();
                let notice = Notice::CallsInText(CallsInTextNotice { model, dialect });
                self.emitter.emit(notice.into()).await;
            }
            answer(self)
        }
    }

    fn answer(&mut self, response: ProviderResponse) -> ModelAnswer {
        let ProviderResponse { completion, body_bytes, answered, .. } = response;
        if answered {
            self.modes.answered(self.mode);
        } else {
            self.mode = self.modes.current();
        }
        let Completion { mut parts, text, refusal, tool_calls: mut calls, finish_reason, .. } =
            *completion;
        let is_paused = finish_reason == Some(FinishReason::Pause);
        if self.mode.indirect {
            calls.iter_mut().for_each(unwrap_call);
            unwrap_all(&mut parts);
        }
        let usage = completion.usage;
        let cost = usage.as_ref().and_then(|usage| self.parts.cost(usage));
        if let Some(recorder) = self.emitter.recorder() {
            let error = completion.error.as_ref().map(|error| error.code);
            recorder.answered(finish_reason.as_ref(), usage, cost, error);
        }
        ModelAnswer {
            message: answer::message(parts, self.mode.native, is_paused, &self.mode.thinking)
                .map(Arc::new),
            text: if text.is_empty() { refusal } else { text },
            calls,
            body_bytes,
            fenced_calls: completion.fenced_calls,
            usage,
            estimated: 0,
            cost,
            finish_reason,
            error: completion.error,
            told: self.emitter.has_failed(),
        }
    }

    /// Adds results for the calls that a dropped run left without any, since servers refuse such a history.
    pub(super) fn complete_history(&self) {
        let mut memory = self.agent.memory.lock();
        let last = memory.recent(1).first();
        if let Some(results) = last.and_then(|last| missing_results(last)) {
            memory.add(Arc::new(results));
        }
    }
}

/// Replaces the calls among these parts with calls of the tools that they name.
fn unwrap_all(parts: &mut [Part]) {
    for part in parts {
        if let Part::ToolCall(call) = part {
            unwrap_call(call);
        }
    }
}

/// Returns `true` when the request exceeds the context window.
fn is_too_long(error: &ProviderError) -> bool {
    error.code() == ErrorCode::ContextExceeded
}

/// Returns `true` for an error about a part of the conversation.
fn is_content_refused(error: &ProviderError) -> bool {
    error.refused_content().is_some()
}

/// Returns `true` for an error about tools or about a part of the conversation.
fn is_refused(error: &ProviderError) -> bool {
    is_refusal(error) || is_content_refused(error)
}
