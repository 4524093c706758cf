//! The calls of one response.

use std::sync::Arc;

use futures_core::future::BoxFuture;
use futures_util::{StreamExt as _, stream::FuturesOrdered};
use tokio::{sync::mpsc, time::Instant};
use tracing::Instrument as _;

use super::{
    breaker::{Breaker, Failure},
    clock::elapsed_ms,
    emitter::Emitter,
    feedback,
    guard::{guard, result_text},
    parts::Parts,
    tools::{CallPlace, Tool, ToolContext, validate},
};
use crate::types::{AgentEvent, CallOutcome, Json, Text, ToolCall, ToolResult};

/// Most events of tools that wait for the run to pass them on.
const TOOL_EVENTS: usize = 16;

/// The results of the calls of one response.
#[derive(Default)]
pub(super) struct CallsOutcome {
    /// One result for each call, in their order.
    pub(super) results: Vec<ToolResult>,
    /// The index among the results of the loop-breaking call that ended the run.
    pub(super) ended_by: Option<usize>,
    /// The tool that failed too often.
    pub(super) broken: Option<Text>,
}

/// A call that passed all checks, or the reason that the model reads.
type Checked = Result<(Arc<dyn Tool>, Text, Json), (Failure, String)>;

/// A call that is over.
struct Finished {
    call: ToolCall,
    result: Result<String, (Failure, String)>,
    duration_ms: u64,
}

/// The order of a call among the calls of its response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    /// Runs beside others.
    Free,
    /// Runs beside no other.
    Alone,
    /// Runs beside no other, and is the last when it succeeds.
    Last,
}

/// Runs the calls of one response.
pub(super) struct CallRunner<'a> {
    pub(super) parts: &'a Parts,
    pub(super) emitter: &'a mut Emitter,
    pub(super) breaker: &'a mut Breaker,
}

impl<'a> CallRunner<'a> {
    /// Runs `calls`; `body_bytes` has the bytes of each that arrived, by its index.
    pub(super) async fn run(mut self, calls: &[ToolCall], body_bytes: &[usize]) -> CallsOutcome {
        let mut outcome = CallsOutcome::default();
        let mut rest = calls;
        while let Some(first) = rest.first().filter(|_| outcome.broken.is_none()) {
            let order = self.order_of(first);
            let is_free = |call: &&ToolCall| self.order_of(call) == Order::Free;
            let length = rest.iter().take_while(is_free).count().max(1);
            let (batch, later) = rest.split_at(length);
            rest = later;
            self.batch(batch, body_bytes, &mut outcome).await;
            let succeeded = outcome.results.last().is_some_and(|result| !result.is_error);
            if order == Order::Last && succeeded {
                outcome.ended_by = Some(outcome.results.len() - 1);
                break;
            }
        }
        let why = match outcome.ended_by.and_then(|at| outcome.results.get(at)) {
            Some(last) => feedback::after_loop_break(&last.name),
            None => feedback::NOT_RUN.to_owned(),
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
        body_bytes: &[usize],
        outcome: &mut CallsOutcome,
    ) {
        let (events_in, mut events) = mpsc::channel(TOOL_EVENTS);
        let mut waiting = calls.iter();
        let mut running = FuturesOrdered::new();
        loop {
            while running.len() < self.parts.config.max_parallel_calls {
                let Some(call) = waiting.next() else { break };
                let bytes = body_bytes.get(call.index as usize).copied().unwrap_or_default();
                let checked = self.check(call, bytes);
                running.push_back(self.begin(call.clone(), checked, &events_in).await);
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

    /// Checks a call before it runs.
    fn check(&self, call: &ToolCall, body_bytes: usize) -> Checked {
        if self.emitter.cancel().is_cancelled() {
            return Err((Failure::NotRun, feedback::NOT_RUN.to_owned()));
        }
        match &call.outcome {
            CallOutcome::Complete => {}
            CallOutcome::Incomplete => return Err((Failure::Cut, feedback::cut(body_bytes))),
            CallOutcome::Malformed { reason, offset } => {
                return Err((Failure::Malformed, feedback::malformed(reason, *offset)));
            }
        }
        let Some(entry) = self.parts.tools.find(&call.name) else {
            let text = feedback::unknown_tool(&call.name, &self.parts.tools);
            return Err((Failure::UnknownTool, text));
        };
        let Some(arguments) = &call.arguments else {
            return Err((Failure::Malformed, feedback::malformed("it has no arguments", 0)));
        };
        let name = &entry.spec.name;
        if self.breaker.would_fail(name, arguments) {
            return Err((Failure::Repeated, feedback::repeated(name)));
        }
        match validate(&entry.spec.parameters, &arguments.to_value()) {
            Ok(()) => Ok((Arc::clone(entry.tool), name.clone(), arguments.clone())),
            Err(error) => Err((Failure::Arguments, feedback::bad_arguments(&error.to_string()))),
        }
    }

    /// Reports that a call runs and returns the future in which it does.
    async fn begin(
        &mut self,
        mut call: ToolCall,
        checked: Checked,
        events: &mpsc::Sender<AgentEvent>,
    ) -> BoxFuture<'a, Finished> {
        let (tool, name, arguments) = match checked {
            Ok(checked) => checked,
            Err(refusal) => {
                let finished = Finished { call, result: Err(refusal), duration_ms: 0 };
                return Box::pin(std::future::ready(finished));
            }
        };
        call.name.clone_from(&name);
        let (id, args) = (call.id.clone(), arguments.clone());
        self.emitter.emit(AgentEvent::ToolCall { id, tool_name: name, arguments: args }).await;
        let run_id = self.emitter.run_id().clone();
        let place = CallPlace { run_id, turn: self.emitter.turn(), call_id: call.id.clone() };
        let span = tracing::info_span!("tool", name = %call.name, call = %call.id);
        let cancel = self.emitter.cancel().clone();
        let stop = cancel.child_token();
        let state = self.parts.state.clone();
        let context = ToolContext::new(place, stop.clone(), events.clone(), state);
        let config = &self.parts.config;
        let running = async move {
            let started = Instant::now();
            let work = async move { tool.execute(context, arguments).await };
            let result = guard(config, work, &cancel, &stop).await;
            let result = result_text(config, &call.name, result);
            Finished { call, result, duration_ms: elapsed_ms(started) }
        };
        Box::pin(running.instrument(span))
    }

    /// Reports the result of a call.
    async fn close(&mut self, finished: Finished, outcome: &mut CallsOutcome) {
        let Finished { call, result, duration_ms } = finished;
        match &result {
            Ok(_) => self.breaker.succeeded(),
            Err((failure, _)) => {
                if self.breaker.failed(&call.name, call.arguments.as_ref(), *failure) {
                    outcome.broken = Some(call.name.clone());
                }
            }
        }
        let is_error = result.is_err();
        let content = result.unwrap_or_else(|(_, text)| feedback::brief(text));
        let (id, tool_name) = (call.id, call.name);
        let result = ToolResult::new(id.clone(), tool_name.clone(), content.clone());
        outcome.results.push(result.error(is_error));
        self.emitter
            .emit(if is_error {
                AgentEvent::ToolResultError { id, tool_name, content, duration_ms }
            } else {
                AgentEvent::ToolResult { id, tool_name, content, duration_ms }
            })
            .await;
    }
}
