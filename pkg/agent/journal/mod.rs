//! Journals, which record a conversation as it proceeds.

mod error;
mod file;
mod line;
mod memory;
mod record;
mod restore;
mod store;
mod writer;

pub use self::{
    file::FileJournal,
    memory::MemoryJournal,
    store::{Journal, JournalError, JournalFuture},
};
pub(super) use self::{
    line::Chain,
    record::{Record, ToolMark, VERSION},
    restore::{OpenIs, OpenRun, Restored, restore},
    writer::Writer,
};
