//! The driver of a run: performs the effects of its state, and gives it what happens.

mod answer;
mod bound;
mod brackets;
mod calls;
mod caught;
mod conversation;
mod grants;
mod guard;
mod live;
mod proposals;
mod reading;
mod result;
mod rules;
mod shared;
mod written;

pub(super) use self::{
    grants::Grants,
    live::{Start, run},
    shared::Shared,
    written::Written,
};
