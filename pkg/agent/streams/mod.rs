//! One run as a stream of events.

mod progress;
mod run_stream;
mod sync;

pub use self::run_stream::RunStream;
