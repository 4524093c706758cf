//! From typed chunks to events.

mod machine;
mod options;
mod pipeline;
mod recovered;
mod stream;
mod text;
mod utf8;

#[cfg(test)]
mod tests;

pub use machine::{IGNORED_CHOICES, IgnoredChoicesNotice, StreamMachine};
pub use options::{StreamEnd, StreamOptions};
pub use pipeline::TextPipeline;
#[cfg(feature = "runtime")]
pub use stream::process_into;
pub use stream::{EventStream, process_stream};
