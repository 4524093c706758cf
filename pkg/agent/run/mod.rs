//! The details of one run: its caller, its origin, its deadline and its budget.

pub(crate) mod below;
mod budget;
pub(crate) mod caller;
mod context;
pub(crate) mod input;
pub(crate) mod outcome;
mod outside_sources;
pub(crate) mod shared_state;
mod surface;

pub(crate) use self::{
    below::SpentBelow,
    caller::Caller,
    input::{RunInput, fit, no_store},
    outcome::{NO_ANSWER, OutcomeKind, RunError, RunOutcome},
    outside_sources::OutsideSources,
    shared_state::SharedState,
};
pub use self::{
    budget::{Budget, Limit, Spending},
    context::RunContext,
    surface::Surface,
};
