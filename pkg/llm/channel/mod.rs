//! Bounded channels with a reserved slot for the last items.
//!
//! Only the writer waits for a slow reader, and a writer that must stop can still close what it
//! opened: its last items go to a separate slot, which the reader reads after the queue.

mod bounded;
mod queue;
mod receiver;
mod sender;
#[cfg(test)]
mod tests;

pub use bounded::channel;
pub use receiver::Receiver;
pub use sender::{ChannelClosed, Place, Sender};
