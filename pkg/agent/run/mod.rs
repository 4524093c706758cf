//! The details of one run: its caller, its origin, its deadline and its budget.

mod below;
mod budget;
mod caller;
mod context;
mod input;
mod outcome;
mod outside_sources;
mod shared_state;
mod surface;

pub use self::{below::SpentBelow, shared_state::SharedState};
pub use self::{
    budget::{Budget, Limit, Spending},
    caller::Caller,
    context::RunContext,
    input::RunInput,
    outcome::{OutcomeKind, RunError, RunOutcome},
    surface::Surface,
};
pub(crate) use self::{
    input::{fit, no_store},
    outcome::NO_ANSWER,
    outside_sources::OutsideSources,
};
