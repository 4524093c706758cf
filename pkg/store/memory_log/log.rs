//! One log in memory.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
};

use super::readers::Readers;
use crate::store::{LogError, LogKey, LogPage, LogRecord, log::PAGE};

#[derive(Debug)]
pub(super) struct Log {
    pub(super) records: Vec<LogRecord>,
    pub(super) state: State,
    pub(super) readers: Readers,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Open,
    Closed,
    Retired,
    /// Removed with its name.
    Removed,
}

pub(super) fn locked<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Log {
    pub(super) fn end(&self) -> u64 {
        self.records.len() as u64
    }

    /// Changes the state, wakes the readers, and returns the records that are dropped by that.
    pub(super) fn change(&mut self, state: State) -> Vec<LogRecord> {
        self.state = state;
        self.readers.wake();
        match state {
            State::Open | State::Closed => Vec::new(),
            State::Retired | State::Removed => std::mem::take(&mut self.records),
        }
    }

    /// Checks that the records are there.
    pub(super) fn check(&self, key: &LogKey) -> Result<(), LogError> {
        let name = || key.name.clone();
        match self.state {
            State::Open | State::Closed => Ok(()),
            State::Retired => Err(LogError::Retired { name: name() }),
            State::Removed => Err(LogError::NotFound { name: name() }),
        }
    }

    /// Checks that the next record may have this number.
    pub(super) fn check_end(&self, key: &LogKey, at: u64) -> Result<(), LogError> {
        self.check(key)?;
        let (name, end) = (|| key.name.clone(), self.end());
        if self.state == State::Closed {
            return Err(LogError::Closed { name: name() });
        }
        if at != end {
            return Err(LogError::Behind { name: name(), at, end });
        }
        Ok(())
    }

    pub(super) fn read(&self, key: &LogKey, from: u64, most: usize) -> Result<LogPage, LogError> {
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
    ) -> Result<(), LogError> {
        records.extend(self.from(key, from)?.iter().take(PAGE).cloned());
        Ok(())
    }

    /// Returns the records from the number `from` on.
    pub(super) fn from(&self, key: &LogKey, from: u64) -> Result<&[LogRecord], LogError> {
        self.check(key)?;
        let start = usize::try_from(from).ok();
        start.and_then(|start| self.records.get(start..)).ok_or_else(|| LogError::Behind {
            name: key.name.clone(),
            at: from,
            end: self.end(),
        })
    }

    pub(super) fn ends_at(&self, next: u64) -> bool {
        self.state == State::Closed && next == self.end()
    }
}
