//! From typed chunks to events.

mod machine;
mod options;
mod stream;

pub use machine::StreamMachine;
pub use options::{StreamEnd, StreamOptions};
#[cfg(feature = "runtime")]
pub use stream::process_into;
pub use stream::{EventStream, process_stream};
