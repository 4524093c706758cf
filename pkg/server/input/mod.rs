//! The input of an active run: messages and answers, kept until its journal contains them.

pub(super) mod client_tools;
pub(super) mod pending;
pub(super) mod said;
pub(super) mod steering;
