//! Running the calls of one response.

use std::{panic::AssertUnwindSafe, pin::pin, sync::Arc, time::Duration};

use futures_core::future::BoxFuture;
use futures_util::{FutureExt as _, StreamExt as _, stream::FuturesOrdered};
use tokio::{sync::mpsc, time::Instant};
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

use super::{
    breaker::{Breaker, Failure},
    default_agent::Parts,
    emitter::Emitter,
    healing,
    response::elapsed_ms,
    tools::{CallPlace, Tool, ToolContext, ToolError, ToolOutput, validate},
};
use crate::types::{AgentEvent, CallOutcome, Json, Text, ToolCall, ToolResult};

/// Events of tools that wait for the run to pass them on.
const TOOL_EVENTS: usize = 16;

/// What the calls of one response came to.
pub(super) struct CallsOutcome {
    /// One result a call, in their order.
    pub(super) results: Vec<ToolResult>,
    /// The loop-breaking call that ended the run: its place among the results.
    pub(super) ended_by: Option<usize>,
    /// The tool that failed too often.
    pub(super) broken: Option<Text>,
}

/// What is to be done with a call.
enum Step {
    /// It runs.
    Run { tool: Arc<dyn Tool>, name: Text, arguments: Json },
    /// The model is told why it does not.
    Refuse { failure: Failure, text: String },
}

/// A call that is over.
struct Finished {
    call: ToolCall,
    result: Result<String, (Failure, String)>,
    duration_ms: u64,
}

/// Runs the calls of one response.
pub(super) struct CallRunner<'a> {
    pub(super) parts: &'a Parts,
    pub(super) emitter: &'a mut Emitter,
    pub(super) breaker: &'a mut Breaker,
}

impl CallRunner<'_> {
    /// Runs `calls`; `body_bytes` tells how much of a call had arrived.
    pub(super) async fn run(
        mut self,
        calls: &[ToolCall],
        body_bytes: impl Fn(u32) -> usize,
    ) -> CallsOutcome {
        let mut outcome =
            CallsOutcome { results: Vec::with_capacity(calls.len()), ended_by: None, broken: None };
        let mut rest = calls;
        while let Some(first) = rest.first() {
            if outcome.broken.is_some() || self.emitter.cancel().is_cancelled() {
                break;
            }
            let length = match self.order_of(first) {
                Order::Free => {
                    rest.iter().take_while(|call| self.order_of(call) == Order::Free).count()
                }
                Order::Alone | Order::Last => 1,
            };
            let (batch, later) = rest.split_at(length);
            rest = later;
            let last = self.order_of(first) == Order::Last;
            self.batch(batch, &body_bytes, &mut outcome).await;
            if last && outcome.results.last().is_some_and(|result| !result.is_error) {
                outcome.ended_by = Some(outcome.results.len() - 1);
                break;
            }
        }
        let why = match outcome.ended_by.and_then(|at| outcome.results.get(at)) {
            Some(last) => healing::after_loop_break(&last.name),
            None => healing::NOT_RUN.to_owned(),
        };
        for call in rest {
            let result = Err((Failure::NotRun, why.clone()));
            self.close(Finished { call: call.clone(), result, duration_ms: 0 }, &mut outcome).await;
        }
        outcome
    }

    fn order_of(&self, call: &ToolCall) -> Order {
        match self.parts.tools.find(&call.name) {
            Some(entry) if entry.tool.is_loop_breaking() => Order::Last,
            Some(entry) if entry.tool.runs_alone() => Order::Alone,
            Some(_) | None => Order::Free,
        }
    }

    /// Runs calls at the same time, up to the bound; results are in their order.
    async fn batch(
        &mut self,
        calls: &[ToolCall],
        body_bytes: &impl Fn(u32) -> usize,
        outcome: &mut CallsOutcome,
    ) {
        let (events_in, mut events) = mpsc::channel(TOOL_EVENTS);
        let mut waiting = calls.iter();
        let mut running = FuturesOrdered::new();
        loop {
            while running.len() < self.parts.config.max_parallel_calls {
                let Some(call) = waiting.next() else { break };
                let step = self.plan(call, body_bytes(call.index));
                running.push_back(self.begin(call.clone(), step, &events_in).await);
            }
            tokio::select! {
                biased;
                Some(event) = events.recv() => self.emitter.emit_while_running(event).await,
                finished = running.next() => match finished {
                    Some(finished) => {
                        while let Ok(event) = events.try_recv() {
                            self.emitter.emit_while_running(event).await;
                        }
                        self.close(finished, outcome).await;
                    }
                    None => break,
                },
            }
        }
    }

    /// Looks at a call before it runs.
    fn plan(&self, call: &ToolCall, body_bytes: usize) -> Step {
        let refuse = |failure, text| Step::Refuse { failure, text };
        if self.emitter.cancel().is_cancelled() {
            return refuse(Failure::NotRun, healing::NOT_RUN.to_owned());
        }
        match &call.outcome {
            CallOutcome::Complete => {}
            CallOutcome::Incomplete => return refuse(Failure::Cut, healing::cut(body_bytes)),
            CallOutcome::Malformed { reason, offset } => {
                return refuse(Failure::Malformed, healing::malformed(reason, *offset));
            }
        }
        let Some(entry) = self.parts.tools.find(&call.name) else {
            let text = healing::unknown_tool(&call.name, &self.parts.tools);
            return refuse(Failure::UnknownTool, text);
        };
        let Some(arguments) = &call.arguments else {
            return refuse(Failure::Malformed, healing::malformed("it has no arguments", 0));
        };
        let name = &entry.spec.name;
        if self.breaker.would_fail(name, arguments) {
            return refuse(Failure::Repeated, healing::repeated(name));
        }
        match validate(&entry.spec.parameters, &arguments.to_value()) {
            Ok(()) => Step::Run {
                tool: Arc::clone(&entry.tool),
                name: name.clone(),
                arguments: arguments.clone(),
            },
            Err(error) => refuse(Failure::Arguments, healing::bad_arguments(&error.to_string())),
        }
    }

    /// Says that a call runs and gives the future in which it does.
    async fn begin(
        &mut self,
        mut call: ToolCall,
        step: Step,
        events: &mpsc::Sender<AgentEvent>,
    ) -> BoxFuture<'static, Finished> {
        let (tool, name, arguments) = match step {
            Step::Run { tool, name, arguments } => (tool, name, arguments),
            Step::Refuse { failure, text } => {
                let finished = Finished { call, result: Err((failure, text)), duration_ms: 0 };
                return Box::pin(std::future::ready(finished));
            }
        };
        let id = call.id.clone();
        call.name.clone_from(&name);
        let event =
            AgentEvent::ToolCall { id: id.clone(), tool_name: name, arguments: arguments.clone() };
        self.emitter.emit(event).await;
        let config = &self.parts.config;
        let limits = Limits {
            timeout: config.tool_timeout,
            grace: config.tool_grace,
            max_chars: config.max_result_chars,
        };
        let run_id = self.emitter.run_id().clone();
        let place = CallPlace { run_id, turn: self.emitter.turn(), call_id: id };
        let span = tracing::info_span!("tool", name = %call.name, call = %call.id);
        let cancel = self.emitter.cancel().clone();
        let own_cancel = cancel.child_token();
        let state = self.parts.state.clone();
        let context = ToolContext::new(place, own_cancel.clone(), events.clone(), state);
        let running = async move {
            let started = Instant::now();
            let work = async move { tool.execute(context, arguments).await };
            let result = limits.guard(work, &cancel, &own_cancel).await;
            let result = limits.result(&call.name, result);
            Finished { call, result, duration_ms: elapsed_ms(started) }
        };
        Box::pin(running.instrument(span))
    }

    /// Tells everybody what a call came to.
    async fn close(&mut self, finished: Finished, outcome: &mut CallsOutcome) {
        let Finished { call, result, duration_ms } = finished;
        let (content, is_error) = match result {
            Ok(content) => {
                self.breaker.succeeded();
                (content, false)
            }
            Err((failure, content)) => {
                if self.breaker.failed(&call.name, call.arguments.as_ref(), failure) {
                    outcome.broken = Some(call.name.clone());
                }
                (content, true)
            }
        };
        let result = ToolResult::new(call.id.clone(), call.name.clone(), content.clone());
        outcome.results.push(result.error(is_error));
        let (id, tool_name) = (call.id, call.name);
        let event = if is_error {
            AgentEvent::ToolResultError { id, tool_name, content, duration_ms }
        } else {
            AgentEvent::ToolResult { id, tool_name, content, duration_ms }
        };
        self.emitter.emit(event).await;
    }
}

/// How a call goes with the others of its response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    /// Beside others.
    Free,
    /// Not beside others.
    Alone,
    /// Not beside others, and nothing after it when it went well.
    Last,
}

/// Bounds on one call.
#[derive(Debug, Clone, Copy)]
struct Limits {
    timeout: Duration,
    grace: Duration,
    max_chars: usize,
}

impl Limits {
    /// Awaits a tool within its time. A panic becomes an error; a tool that is told to stop and
    /// does not is dropped.
    async fn guard(
        self,
        work: impl Future<Output = Result<ToolOutput, ToolError>>,
        cancel: &CancellationToken,
        stop: &CancellationToken,
    ) -> Result<ToolOutput, ToolError> {
        let mut work = pin!(AssertUnwindSafe(work).catch_unwind());
        let timed_out = tokio::select! {
            biased;
            done = &mut work => return done.unwrap_or_else(|panic| Err(panicked(&*panic))),
            () = cancel.cancelled() => false,
            () = tokio::time::sleep(self.timeout) => true,
        };
        stop.cancel();
        let stopped = tokio::time::timeout(self.grace, &mut work).await;
        match stopped {
            _ if timed_out => Err(ToolError::TimedOut { after: self.timeout }),
            Ok(Ok(Ok(output))) => Ok(output),
            Ok(Ok(Err(_)) | Err(_)) => Err(ToolError::Cancelled { abandoned: false }),
            Err(_) => Err(ToolError::Cancelled { abandoned: true }),
        }
    }

    /// What the model is told.
    fn result(
        self,
        name: &str,
        result: Result<ToolOutput, ToolError>,
    ) -> Result<String, (Failure, String)> {
        match result {
            Ok(output) => Ok(self.within(output.content)),
            Err(error) => {
                let problem = self.within(error.to_string());
                Err(match error {
                    ToolError::InvalidArguments { .. } => {
                        (Failure::Arguments, healing::bad_arguments(&problem))
                    }
                    ToolError::Failed { .. } => {
                        (Failure::Failed, healing::tool_failed(name, &problem))
                    }
                    ToolError::Transient { .. } => {
                        (Failure::Transient, healing::tool_failed(name, &problem))
                    }
                    ToolError::TimedOut { .. } => {
                        (Failure::TimedOut, healing::tool_failed(name, &problem))
                    }
                    ToolError::Panicked { .. } => {
                        (Failure::Panicked, healing::tool_failed(name, &problem))
                    }
                    ToolError::Cancelled { .. } => {
                        (Failure::NotRun, healing::tool_failed(name, &problem))
                    }
                })
            }
        }
    }

    /// The text, or the note that stands for one that is too long.
    fn within(self, text: String) -> String {
        // Characters are counted only where the bytes do not settle it.
        if text.len() <= self.max_chars {
            return text;
        }
        let chars = text.chars().count();
        if chars > self.max_chars { healing::withheld(chars, self.max_chars) } else { text }
    }
}

fn panicked(panic: &(dyn std::any::Any + Send)) -> ToolError {
    let message = match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
        (Some(message), _) => (*message).to_owned(),
        (None, Some(message)) => message.clone(),
        (None, None) => "it panicked".to_owned(),
    };
    ToolError::Panicked { message }
}
