//! The commands of callers to runs that another node works on: rows of the store, which that node answers.

pub(super) mod act;
pub(super) mod outcome;
pub(super) mod send;
