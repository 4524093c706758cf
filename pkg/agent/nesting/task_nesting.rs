//! The agents whose tools or prompt parts are running in a task.

use std::{iter::successors, num::NonZeroUsize, sync::Arc};

use super::{budget_pool::BudgetDraw, parent_context::ParentContext, places::AgentFamily};
use forgeline_types::{AgentError, ErrorCode};

tokio::task_local! {
    static WITHIN: TaskNesting;
}

/// An agent that waits for this task, with the agents that wait for that agent.
#[derive(Clone)]
struct TaskNesting {
    /// `None` for the run of a sub-agent.
    agent: Option<NonZeroUsize>,
    outer: Option<Arc<TaskNesting>>,
    /// The sub-agent's run in which the task is.
    family: Option<Arc<AgentFamily>>,
    /// The part of the run that sub-agents inherit. Boxed: it is large, and prompts have none.
    above: Option<Box<ParentContext>>,
}

/// Awaits work that the agent waits for.
pub(crate) fn within<F: Future>(agent: usize, work: F) -> impl Future<Output = F::Output> {
    enter(NonZeroUsize::new(agent), family(), None, work)
}

/// Awaits a call of the agent, from which sub-agents inherit.
pub(crate) fn within_call<F: Future>(
    agent: usize,
    above: ParentContext,
    work: F,
) -> impl Future<Output = F::Output> {
    enter(NonZeroUsize::new(agent), family(), Some(Box::new(above)), work)
}

/// Awaits the run of a sub-agent.
pub(crate) fn as_child<F: Future>(
    family: Arc<AgentFamily>,
    work: F,
) -> impl Future<Output = F::Output> {
    enter(None, Some(family), None, work)
}

/// Returns work for a task of its own that keeps the agents of this task.
pub(crate) fn carried<F: Future>(work: F) -> impl Future<Output = F::Output> {
    let within = WITHIN.try_with(Clone::clone).ok();
    async move {
        match within {
            Some(within) => WITHIN.scope(within, work).await,
            None => work.await,
        }
    }
}

fn enter<F: Future>(
    agent: Option<NonZeroUsize>,
    family: Option<Arc<AgentFamily>>,
    above: Option<Box<ParentContext>>,
    work: F,
) -> impl Future<Output = F::Output> {
    let outer = WITHIN.try_with(|within| Arc::new(within.clone())).ok();
    WITHIN.scope(TaskNesting { agent, outer, family, above }, work)
}

/// Returns the sub-agent's run in which this task is.
pub(crate) fn family() -> Option<Arc<AgentFamily>> {
    WITHIN.try_with(|within| within.family.clone()).ok().flatten()
}

/// Returns the share of the run's budget from which what this task calls may spend.
pub fn current_draw() -> Option<BudgetDraw> {
    above().draw
}

/// Returns what a sub-agent inherits that is called by this task.
pub(crate) fn above() -> ParentContext {
    let above = WITHIN.try_with(|within| within.above.as_deref().cloned());
    above.ok().flatten().unwrap_or_default()
}

/// Returns the number of agents that wait for this task.
pub(crate) fn depth() -> usize {
    let depth = WITHIN.try_with(|within| {
        let all = successors(Some(within), |within| within.outer.as_deref());
        // A sub-agent's run is nested in the call that waits for it.
        all.filter(|within| within.agent.is_some()).count()
    });
    depth.unwrap_or_default()
}

/// Returns the sub-agent's run that this task drives.
pub(crate) fn own_family() -> Option<Arc<AgentFamily>> {
    let family = WITHIN.try_with(|within| {
        // Another agent that a tool runs is not that sub-agent.
        within.family.clone().filter(|_| within.agent.is_none())
    });
    family.ok().flatten()
}

/// Calls `tell` with the run's part of its parent's budget, if this task drives the run of a
/// sub-agent.
pub(crate) fn with_draw(tell: impl FnOnce(&BudgetDraw)) {
    if let Some(family) = own_family()
        && let Some(draw) = family.draw()
    {
        tell(draw);
    }
}

/// Returns an error instead of waiting for an agent that waits for this task.
pub(crate) fn check(agent: usize) -> Result<(), AgentError> {
    let waits = WITHIN.try_with(|within| {
        let mut at = Some(within);
        while let Some(within) = at.filter(|within| within.agent != NonZeroUsize::new(agent)) {
            at = within.outer.as_deref();
        }
        at.is_some()
    });
    if waits != Ok(true) {
        return Ok(());
    }
    let message = "a conversation was run from inside one of its own tools or prompt parts, for which it \
        waits; use another conversation (`Agent::conversation`)";
    Err(AgentError::new(ErrorCode::Deadlock, message))
}
