//! Saved encoders for readers that reconnect: an AG-UI message depends on all events before it.

use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
};

use crate::encode::AgUi;
use forgeline_store::LogKey;

/// Maximum number of saved encoders.
const MAX_KEPT: usize = 256;

/// The encoders of readers that left a run, each with its position: a reader that resumes there need not read the earlier events.
#[derive(Debug, Default)]
pub(crate) struct SavedEncoders(Mutex<VecDeque<(LogKey, u64, AgUi)>>);

impl SavedEncoders {
    /// Returns an encoder that has seen a run up to this position.
    pub(crate) fn get(&self, key: &LogKey, at: u64) -> Option<AgUi> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = kept.iter().rfind(|(of, place, _)| of == key && *place == at);
        found.map(|(_, _, encoder)| encoder.clone())
    }

    /// Saves an encoder, evicting the oldest if there are too many.
    pub(crate) fn keep(&self, key: &LogKey, at: u64, encoder: &AgUi) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.iter().any(|(of, place, _)| of == key && *place == at) {
            return;
        }
        if kept.len() >= MAX_KEPT {
            kept.pop_front();
        }
        kept.push_back((key.clone(), at, encoder.clone()));
    }

    /// Drops the encoders of a run.
    pub(crate) fn forget(&self, key: &LogKey) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|(of, _, _)| of != key);
    }
}
