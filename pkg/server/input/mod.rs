//! The input of a run while it goes on: words and answers, kept until its journal has them.

pub(super) mod client_tools;
pub(super) mod pending;
pub(super) mod said;
pub(super) mod steering;
