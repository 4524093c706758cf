//! Journals, which record a conversation as it proceeds.

mod answer_link;
mod entry;
mod error;
mod file;
mod journal_store;
mod line;
mod memory;
mod record;
mod restore;
mod step;
mod store;
mod writer;

pub(super) use self::{
    answer_link::InputRecord,
    line::Chain,
    record::{MessageList, Record, ToolMark, VERSION},
    restore::{OpenIs, OpenRun, Restored, restore},
    writer::Writer,
};
pub use self::{
    entry::{JournalEntry, JournalLine},
    file::FileJournal,
    journal_store::{FileJournals, JournalStore, MemoryJournals},
    memory::MemoryJournal,
    step::{JournalStep, JournaledInput},
    store::{Journal, JournalError, JournalFuture},
};
