//! The meaning of an ambiguous closer.

/// The meaning of an ambiguous closer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CloseVerdict {
    /// More text decides.
    Unknown,
    /// The closer is part of the string.
    Data,
    /// All that is held is part of the value, which ends with it.
    Value,
    /// The string is broken: the call ended at the closer.
    Closer,
    /// The value is broken, and contains all that is held.
    Broken,
}
