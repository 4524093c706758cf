//! The assembly of one response from its deltas: its events and its `Completion`.

mod assembler;
mod call;
pub(crate) mod collect;
mod native_call;
mod quoted_arguments;
mod repetition;

pub use assembler::{AnswerAssembler, TextSection};
pub use call::OpenCall;
pub use collect::collect;
