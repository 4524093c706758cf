//! Inputs that a run has accepted, until its journal contains them.

use crate::{
    journal::{InputRecord, JournaledInput},
    state::UnixMillis,
};

/// An accepted input.
pub(super) struct AcceptedInput {
    pub(super) at: UnixMillis,
    pub(super) input: JournaledInput,
    pub(super) record: InputRecord,
    /// `true` when the input ended the run.
    pub(super) done: bool,
}
