//! The assembly of one response from its deltas: its events and its `Completion`.

mod assembler;
mod call;
mod collect;
mod native_call;
mod repetition;

pub use assembler::{AnswerAssembler, TextSection};
pub use call::OpenCall;
#[cfg(feature = "runtime")]
pub(crate) use collect::ChunkCollector;
pub use collect::collect;
