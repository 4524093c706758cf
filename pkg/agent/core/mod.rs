//! From typed chunks to events.

mod machine;
mod options;
mod recovered;
mod stream;
mod text;

#[cfg(test)]
mod tests;

pub use machine::{IGNORED_CHOICES, StreamMachine};
pub use options::{StreamEnd, StreamOptions};
#[cfg(feature = "runtime")]
pub use stream::process_into;
pub use stream::{EventStream, process_stream};
