//! The memory of an agent, for its run and for those who ask what was said.

use std::{
    fmt,
    sync::{Mutex, MutexGuard, PoisonError},
};

use super::Memory;

/// A memory that is held for the moment of a look or a change, never for a run.
pub(crate) struct SharedMemory(Mutex<Box<dyn Memory>>);

impl SharedMemory {
    pub(crate) fn new(memory: Box<dyn Memory>) -> Self {
        Self(Mutex::new(memory))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Box<dyn Memory>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for SharedMemory {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("SharedMemory").finish_non_exhaustive()
    }
}
