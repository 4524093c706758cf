//! A single log in memory.

use std::collections::VecDeque;

use super::reader_wakers::ReaderWakers;
use crate::{LogKey, LogPage, LogRecord, StoreError, ids::now_ms, log::PAGE};

#[derive(Debug)]
pub(super) struct StoredLog {
    pub(super) records: Vec<LogRecord>,
    /// The number of the first record that is kept.
    first: u64,
    /// The size of all records that are kept, in bytes.
    pub(super) bytes: usize,
    pub(super) state: LogPhase,
    pub(super) used_ms: u64,
    pub(super) readers: ReaderWakers,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LogPhase {
    Open,
    Closed,
    Retired,
    /// Removed, including its name.
    Removed,
}

impl StoredLog {
    pub(super) fn new() -> Self {
        let (records, readers) = (Vec::new(), ReaderWakers::default());
        Self { records, first: 0, bytes: 0, state: LogPhase::Open, used_ms: now_ms(), readers }
    }

    pub(super) fn end(&self) -> u64 {
        self.first + self.records.len() as u64
    }

    /// Changes the state, wakes the readers, and returns the number of bytes dropped.
    pub(super) fn change(&mut self, state: LogPhase) -> usize {
        (self.state, self.used_ms) = (state, now_ms());
        self.readers.wake();
        match state {
            LogPhase::Open | LogPhase::Closed => 0,
            LogPhase::Retired | LogPhase::Removed => {
                self.records = Vec::new();
                std::mem::take(&mut self.bytes)
            }
        }
    }

    /// Drops the records before this number; returns their size in bytes.
    pub(super) fn trim(&mut self, key: &LogKey, before: u64) -> Result<usize, StoreError> {
        if before <= self.first {
            return self.check(key).map(|()| 0);
        }
        let count = self.records.len() - self.from(key, before)?.len();
        let bytes = self.records.drain(..count).map(|record| record.bytes()).sum();
        self.first = before;
        self.bytes -= bytes;
        Ok(bytes)
    }

    /// Checks that the records are available.
    pub(super) fn check(&self, key: &LogKey) -> Result<(), StoreError> {
        match self.state {
            LogPhase::Open | LogPhase::Closed => Ok(()),
            LogPhase::Retired => Err(StoreError::log_retired(key)),
            LogPhase::Removed => Err(StoreError::no_log(key)),
        }
    }

    /// Checks that the next record may have this number.
    pub(super) fn check_end(&self, key: &LogKey, at: u64) -> Result<(), StoreError> {
        self.check(key)?;
        if self.state == LogPhase::Closed {
            return Err(StoreError::log_closed(key));
        }
        let end = self.end();
        if at == end { Ok(()) } else { Err(StoreError::log_behind(key, at, end)) }
    }

    pub(super) fn read(&self, key: &LogKey, from: u64, most: usize) -> Result<LogPage, StoreError> {
        let records: Vec<_> = self.from(key, from)?.iter().take(most).cloned().collect();
        let next = from + records.len() as u64;
        Ok(LogPage::new(records, next, self.ends_at(next)))
    }

    /// Adds at most [`PAGE`] records to a buffer.
    pub(super) fn take(
        &self,
        key: &LogKey,
        from: u64,
        records: &mut VecDeque<LogRecord>,
    ) -> Result<(), StoreError> {
        records.extend(self.from(key, from)?.iter().take(PAGE).cloned());
        Ok(())
    }

    /// Returns the records from number `from` on.
    pub(super) fn from(&self, key: &LogKey, from: u64) -> Result<&[LogRecord], StoreError> {
        self.check(key)?;
        let start = from.checked_sub(self.first);
        let start = start.ok_or_else(|| StoreError::log_dropped(key, self.first))?;
        let records = usize::try_from(start).ok().and_then(|start| self.records.get(start..));
        records.ok_or_else(|| StoreError::log_behind(key, from, self.end()))
    }

    pub(super) fn ends_at(&self, next: u64) -> bool {
        self.state == LogPhase::Closed && next == self.end()
    }
}
