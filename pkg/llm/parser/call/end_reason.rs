//! The reasons why calls end.

/// The reason why a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallEndReason {
    Closer,
    /// The grammar itself ended the call.
    Grammar,
    /// The closer of a block around the call.
    Block,
    /// The next opener, or the end of a stream from which the closer may be missing.
    Implicit,
    /// The stream was truncated.
    Cut,
}
