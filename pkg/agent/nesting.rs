//! The agents whose tools or prompt parts are at work in a task.

use std::{iter::successors, sync::Arc};

use crate::types::{AgentError, ErrorCode};

tokio::task_local! {
    static WITHIN: Within;
}

/// An agent that waits for this task, and those that wait for it in turn.
#[derive(Clone)]
struct Within {
    agent: usize,
    outer: Option<Arc<Within>>,
}

/// Awaits work that the agent waits for.
pub(super) fn within<F: Future>(agent: usize, work: F) -> impl Future<Output = F::Output> {
    let outer = WITHIN.try_with(|within| Arc::new(within.clone())).ok();
    WITHIN.scope(Within { agent, outer }, work)
}

/// Returns the number of agents that wait for this task.
pub(super) fn depth() -> usize {
    let depth = WITHIN.try_with(|within| {
        1 + successors(within.outer.as_deref(), |within| within.outer.as_deref()).count()
    });
    depth.unwrap_or_default()
}

/// Refuses to wait for an agent that waits for this task.
pub(super) fn check(agent: usize) -> Result<(), AgentError> {
    let waits = WITHIN.try_with(|within| {
        let mut at = Some(within);
        while let Some(within) = at.filter(|within| within.agent != agent) {
            at = within.outer.as_deref();
        }
        at.is_some()
    });
    if waits != Ok(true) {
        return Ok(());
    }
    let message = "an agent was asked from inside one of its own tools or prompt parts, for which it waits; \
        ask a fork of it (`DefaultAgent::fork`)";
    Err(AgentError::new(ErrorCode::Deadlock, message))
}
