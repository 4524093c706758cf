//! The names of calls that count.

/// The names with which a call counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Offered {
    /// All.
    #[default]
    Any,
    /// Those of offered tools, where it is known what is offered.
    IfKnown,
    /// Those of offered tools.
    Always,
}
