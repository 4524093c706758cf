//! The memory of an agent, shared by its run and by readers of the conversation.

use std::{
    fmt,
    sync::{Mutex, MutexGuard, PoisonError},
};

use super::Memory;
use crate::tools::RunView;
use forgeline_types::Transcript;

/// A memory that is locked only for the duration of a read or a change, never for a whole run.
pub(crate) struct SharedMemory(Mutex<Box<dyn Memory>>);

impl SharedMemory {
    pub(crate) fn new(memory: Box<dyn Memory>) -> Self {
        Self(Mutex::new(memory))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Box<dyn Memory>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RunView for SharedMemory {
    fn transcript(&self) -> Transcript {
        self.lock().transcript().clone()
    }
}

impl fmt::Debug for SharedMemory {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("SharedMemory").finish_non_exhaustive()
    }
}
