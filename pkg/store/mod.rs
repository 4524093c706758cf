//! Places for what outlives a run.

mod follow;
mod log;
mod memory_log;

pub use self::{
    follow::follow,
    log::{EventLog, LogError, LogKey, LogPage, LogRecord},
    memory_log::MemoryLog,
};
