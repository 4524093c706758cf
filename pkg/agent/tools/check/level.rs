//! The bounds of a walk through a schema and a value together.

use std::cell::Cell;

/// The depth to which schema and value are followed together.
const MAX_DEPTH: usize = 64;

/// The number of steps that are allowed for any value, in addition to those for each of its parts.
const MIN_STEPS: usize = 1 << 12;

/// The number of steps that are allowed for each part of a value: a schema may refer to itself several times.
const STEPS_OF_PART: usize = 16;

/// The number of bytes that are read in one step.
const BYTES_OF_STEP: usize = 64;

/// The steps that a walk may still take.
pub(super) struct Steps(Cell<usize>);

impl Steps {
    /// Returns the steps for a value with this number of parts.
    pub(super) fn for_parts(parts: usize) -> Self {
        Self(Cell::new(MIN_STEPS.saturating_add(parts.saturating_mul(STEPS_OF_PART))))
    }

    /// Returns the level of the whole value.
    pub(super) fn top(&self) -> Level<'_> {
        Level { depth: 0, steps: &self.0 }
    }
}

/// A level of the walk.
#[derive(Clone, Copy)]
pub(super) struct Level<'a> {
    depth: usize,
    steps: &'a Cell<usize>,
}

impl Level<'_> {
    /// Returns the level below, one step later, or more steps where a text of this length is read; `None` where the walk ends.
    pub(super) fn below(self, read_bytes: usize) -> Option<Self> {
        let taken = 1 + read_bytes / BYTES_OF_STEP;
        let left = self.steps.get().checked_sub(taken).filter(|_| self.depth < MAX_DEPTH)?;
        self.steps.set(left);
        Some(Self { depth: self.depth + 1, ..self })
    }
}
