//! What callers send to a run that another node works on: a command in the store, which the node answers.

pub(super) mod act;
pub(super) mod outcome;
pub(super) mod send;
