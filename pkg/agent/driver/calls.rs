//! The calls of an answer, while they run: each is a task of its own.

use std::{sync::Arc, time::Duration};

use futures_core::future::BoxFuture;
use futures_util::{StreamExt as _, stream::FuturesUnordered};
use tokio::{
    sync::mpsc,
    time::{Instant, sleep},
};
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};
use tracing::Instrument as _;

use super::{
    guard::{guard, or_cancelled, result_text},
    shared::Shared,
};
use crate::{
    agent::{
        RunContext,
        clock::elapsed_ms,
        emitter::Emitter,
        feedback,
        nesting::within,
        state::{CallId, Failure, StepInput, ToolEnd},
        tools::{CallPlace, ToolContext},
    },
    types::{AgentEvent, ToolCall},
};

/// Most events of tools that wait for the run to pass them on.
const TOOL_EVENTS: usize = 16;

/// An event of a call that runs, or its end.
pub(super) enum News {
    /// An event that a tool sent.
    Event(Box<AgentEvent>),
    /// The end of a call.
    Ended(CallId, ToolEnd),
}

/// The calls of one answer that run.
pub(super) struct RunningCalls<'a> {
    /// Tells them to stop.
    halt: CancellationToken,
    running: FuturesUnordered<BoxFuture<'a, (CallId, ToolEnd)>>,
    events_in: mpsc::Sender<Box<AgentEvent>>,
    events: mpsc::Receiver<Box<AgentEvent>>,
}

impl<'a> RunningCalls<'a> {
    /// Returns calls that end when `halt` is cancelled.
    pub(super) fn new(halt: CancellationToken) -> Self {
        let (events_in, events) = mpsc::channel(TOOL_EVENTS);
        Self { halt, running: FuturesUnordered::new(), events_in, events }
    }

    /// Tells the calls that run to stop.
    pub(super) fn stop(&self) {
        self.halt.cancel();
    }

    /// Begins a call after a pause, as a task that ends with the run.
    pub(super) fn begin(
        &mut self,
        id: CallId,
        call: &ToolCall,
        pause: Duration,
        agent: &'a Shared,
        run: &RunContext,
        emitter: &Emitter,
    ) {
        let parts = &*agent.parts;
        let entry = parts.tools.find(&call.name).zip(call.arguments.as_ref());
        let Some((entry, arguments)) = entry.filter(|_| !emitter.cancel().is_cancelled()) else {
            return self.running.push(Box::pin(std::future::ready((id, not_run()))));
        };
        let (tool, name) = (Arc::clone(entry.tool), call.name.clone());
        let (call_id, arguments) = (call.id.clone(), arguments.clone());
        let span = tracing::info_span!("tool", name = %name, call = %call_id);
        let place = CallPlace { run_id: emitter.run_id().clone(), turn: emitter.turn(), call_id };
        let cancel = self.halt.clone();
        let stop = cancel.child_token();
        let state = parts.state.clone();
        let context =
            ToolContext::new(place, stop.clone(), self.events_in.clone(), state, run.clone());
        let (config, key) = (&parts.config, agent.key());
        let work = within(key, async move { tool.execute(context, arguments).await });
        let start = move || {
            let task = tokio::spawn(work.instrument(span));
            (Instant::now(), AbortOnDropHandle::new(task))
        };
        let begun = if pause.is_zero() { Ok(start()) } else { Err(start) };
        let running = async move {
            let (started, task) = match begun {
                Ok(begun) => begun,
                Err(start) => {
                    if or_cancelled(&cancel, sleep(pause)).await.is_none() {
                        return (id, not_run());
                    }
                    start()
                }
            };
            let result = guard(config, task, &cancel, &stop).await;
            let result = result_text(config, &name, result);
            (id, ToolEnd { result, duration_ms: elapsed_ms(started) })
        };
        self.running.push(Box::pin(running));
    }

    /// Waits for the end of a call and passes on the events of all; `None` when none runs.
    pub(super) async fn next(&mut self, emitter: &mut Emitter) -> Option<StepInput> {
        loop {
            let news = self.heard().await?;
            if let Some(input) = self.pass_on(news, emitter).await {
                return Some(input);
            }
        }
    }

    /// Waits for what is heard of the calls; `None` when none runs. Cancel safe.
    pub(super) async fn heard(&mut self) -> Option<News> {
        tokio::select! {
            biased;
            Some(event) = self.events.recv() => Some(News::Event(event)),
            ended = self.running.next() => ended.map(|(id, end)| News::Ended(id, end)),
        }
    }

    /// Passes on an event of a tool; returns the end of a call, behind all events.
    pub(super) async fn pass_on(&mut self, news: News, emitter: &mut Emitter) -> Option<StepInput> {
        let (id, end) = match news {
            News::Event(event) => {
                emitter.emit_while_running(*event).await;
                return None;
            }
            News::Ended(id, end) => (id, end),
        };
        while let Ok(event) = self.events.try_recv() {
            emitter.emit_while_running(*event).await;
        }
        Some(StepInput::Ran(id, end))
    }
}

/// Reports that a call is about to run.
pub(super) async fn tell(call: &ToolCall, emitter: &mut Emitter) {
    let ToolCall { id, name, arguments: Some(arguments), .. } = call else { return };
    let (id, tool_name) = (id.clone(), name.clone());
    let event = AgentEvent::ToolCall { id, tool_name, arguments: arguments.clone() };
    emitter.emit_while_running(event).await;
}

/// Returns the end of a call that did not run, because the run ends.
fn not_run() -> ToolEnd {
    let result = Err((Failure::NotRun, feedback::NOT_RUN.to_owned()));
    ToolEnd { result, duration_ms: 0 }
}
