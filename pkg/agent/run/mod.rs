//! The part of a run that is its own: who asks, from where, until when, and for how much.

mod below;
mod budget;
mod caller;
mod context;
mod input;
mod shared_state;
mod surface;

pub(in crate::agent) use self::input::fit;
pub(crate) use self::{below::SpentBelow, shared_state::SharedState};
pub use self::{
    budget::{Budget, Limit, Spent},
    caller::Caller,
    context::RunContext,
    input::RunInput,
    surface::Surface,
};
