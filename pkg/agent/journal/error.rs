//! The error of a journal from which a conversation cannot be restored.

use forgeline_types::{AgentError, ErrorCode};

/// The error of a journal from which a conversation cannot be restored.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum RestoreError {
    #[error(
        "line {line} of the journal, or the one before it, was edited, damaged or lost; use \
         an untouched copy"
    )]
    Edited { line: u64 },
    #[error(
        "line {line} of the journal has version {found}, and this library reads {own}; use \
         the version of the library that wrote it"
    )]
    Version { line: u64, found: u32, own: u32 },
    #[error(
        "the open run was started by an agent with other tools: {difference}; continue with the agent \
         that started it"
    )]
    OtherAgent { difference: String },
    #[error(
        "line {line} of the journal is not a record that this library knows; use the version of \
         the library that wrote it, or another copy"
    )]
    Unknown { line: u64 },
    #[error("line {line} of the journal does not follow from those before it; use another copy")]
    Unfit { line: u64 },
}

impl From<RestoreError> for AgentError {
    fn from(error: RestoreError) -> Self {
        Self::new(ErrorCode::Journal, error.to_string())
    }
}
