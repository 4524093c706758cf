//! The part of a payload that is read.

/// The part of a payload that a reader is to find.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReadMode {
    /// Names and arguments, which are emitted.
    #[default]
    Everything,
    /// Only the end of the payload: text of arguments that cannot be passed on need not be kept.
    FindEnd,
}
