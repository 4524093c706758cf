//! The input of a run: the stored request with its messages and answers, and the tools that a request brings along.

pub(super) mod client_instructions;
pub(super) mod client_tools;
pub(super) mod front_request;
pub(super) mod pending;
pub(super) mod stored_input;
pub(super) mod ui_files;
pub(super) mod ui_message;
pub(super) mod user_message;
