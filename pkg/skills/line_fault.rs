//! A problem in a line of a file.

/// A problem in a file, with its line counted from 1.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct LineFault {
    pub(super) line: usize,
    pub(super) problem: String,
}

/// Returns a fault.
pub(super) fn fault(line: usize, problem: impl Into<String>) -> LineFault {
    LineFault { line, problem: problem.into() }
}
