//! The loop of a run as data: one value advanced step by step, without I/O, clock, randomness or hash order.

mod answers;
mod approvals;
mod at_client;
mod audit;
mod breaker;
mod calls;
mod circles;
mod delivery;
mod denial;
mod early;
mod effect;
mod fitting;
mod goal;
mod hosted;
mod inbox;
mod input;
mod kept;
mod limits;
mod marks;
mod outside;
mod refusals;
mod resumed;
mod rules;
mod run_state;
#[cfg(test)]
mod tests;
mod verdict;

pub(super) use self::{
    breaker::Failure,
    denial::Denial,
    effect::{AskKind, Effect},
    inbox::Said,
    input::{
        Answer, AnswerId, CallId, CancelReason, Prompt, Returned, Sealed, StepInput, Time, ToolEnd,
    },
    marks::{Fitted, Marks, Outgrown, Summary, Summed},
    rules::{Order, Rules, ToolFacts},
    run_state::{RunSpec, RunState, missing_results},
    verdict::{Decided, Gate, Grant, Verdict},
};
