//! Runs that an older version of the library has journaled.

use super::RunState;

impl RunState {
    /// Sets the version of the journal that the run is read from: it goes on as that version decided.
    pub(crate) fn set_version(&mut self, version: u32) {
        self.older = Some(version);
    }

    /// Returns `true` for a run from a journal before this version.
    pub(super) fn is_before(&self, version: u32) -> bool {
        self.older.is_some_and(|older| older < version)
    }
}
