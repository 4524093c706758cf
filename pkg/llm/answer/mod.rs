//! The assembly of one response from its deltas: its events and its `Completion`.

mod assembler;
mod call;
mod native_call;
mod repetition;

pub(crate) use assembler::{Assembler, Section};
pub(crate) use call::OpenCall;
