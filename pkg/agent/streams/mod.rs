//! One run as a stream of events.

mod partial_answer;
mod progress;
mod run_stream;
mod sync;

pub use self::{partial_answer::PartialAnswer, run_stream::RunStream};
