//! The commands of a run in memory.

use std::collections::{BTreeMap, HashMap};

use crate::StoredCommand;
use forgeline_types::Text;

/// The commands of a run.
#[derive(Debug, Default)]
pub(super) struct RunCommands {
    pub(super) all: BTreeMap<u64, StoredCommand>,
    pub(super) keys: HashMap<Text, u64>,
    pub(super) next: u64,
}

impl RunCommands {
    /// Drops the commands without an answer.
    pub(super) fn end(&mut self) {
        self.all.retain(|_, it| it.answer.is_some());
        self.keys.retain(|_, number| self.all.contains_key(number));
    }

    /// Returns the commands without an answer, from a number on.
    pub(super) fn unanswered(&self, from: u64) -> impl Iterator<Item = &StoredCommand> {
        self.all.range(from..).map(|(_, it)| it).filter(|it| it.answer.is_none())
    }
}
