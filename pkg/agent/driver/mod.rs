//! The driver of a run, which performs the effects of its state and supplies its inputs.

mod answer;
mod at_client;
mod audited;
mod bound;
mod brackets;
mod calls;
mod caught;
mod conversation;
mod fitting;
mod grants;
mod guard;
mod inputs;
mod live;
mod offer;
mod proposals;
mod reading;
mod result;
mod rules;
mod search;
mod setting;
mod shared;
mod spans;
mod start;
mod written;

pub(super) use self::{
    grants::Grants, inputs::Inputs, live::run, setting::Setting, shared::Shared, start::Start,
    written::Written,
};
